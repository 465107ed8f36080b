"""The device policy: what a user leaves to others, and how each part is written as an option, a setting and JSON.

To add a knob, add one field to `Policy`: the commands, their help, the settings, what is remembered about the daemon's
devices and what other processes read about a host all follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

DISPLAYS = (
    *("Xorg", "Xwayland", "Xvfb", "gdm-x-session", "sddm-greeter", "gnome-shell", "mutter", "kwin_x11"),
    *("kwin_wayland", "plasmashell", "cinnamon", "xfwm4", "weston", "sway", "Hyprland"),
)
"""Programs that draw the desktop: they do not make a GPU busy."""


class Form(Enum):
    """How a knob is written."""

    COUNT = "number"
    NAMES = "names"  # separated by commas
    SIZE = "size"  # in MB
    CHOICE = "word"
    FLAG = "flag"  # given or not
    SWITCH = "true or false"  # --x and --no-x


class Knob(NamedTuple):
    option: str  # its name on the command line (with hyphens) and in the settings
    form: Form
    help: str
    least: int = 0  # of a COUNT
    words: tuple[str, ...] = ()  # of a CHOICE
    metavar: str | None = None
    settings: Mapping[str, str] = {}  # section -> the help of its setting; empty: it is not a setting
    unless: str = ""  # if this option was given, the setting does not apply

    @property
    def flag(self) -> str:
        return f"--{self.option.replace('_', '-')}"


KNOBS: dict[str, Knob] = {}
"""Field -> how it is written."""


def _knob(default: Any, option: str, form: Form, help: str, field: str = "", **more: Any) -> Any:
    """The default. `field`: its name, if the option has another one."""
    KNOBS[field or option] = Knob(option, form, help, **more)
    return default


class Policy(NamedTuple):
    """What the user wants to leave to others."""

    # This many GPUs stay unused.
    min_free_gpus: int = _knob(0, "min_free_gpus", Form.COUNT, "Leave N GPUs unused, for others.", metavar="N")
    # At most this many are used at a time.
    max_gpus: int | None = _knob(None, "max_gpus", Form.COUNT, "Use at most N GPUs at a time.", least=1, metavar="N")
    # Which are taken first.
    prefer: tuple[str, ...] = _knob((), "prefer", Form.NAMES, "Use these GPUs first: 0,1,2,3,7,6.", metavar="GPUS")
    # A GPU that anybody else uses gets no job at all.
    only_idle: bool = _knob(
        False,
        "only_idle_gpus",
        Form.FLAG,
        "Start nothing, not even packed jobs, on GPUs that anybody else uses.",
        "only_idle",
    )
    # A job that wants a whole GPU does not wait for the processes of other users.
    share: bool = _knob(
        False,
        "share_gpus",
        Form.SWITCH,
        "Start jobs beside other people's processes.  [default: wait until they are gone]",
        "share",
        settings={
            "run": "`duckrow run` starts jobs beside other people's processes.",
            "daemon": "The daemon starts jobs beside other people's processes.",
        },
        unless="only_idle_gpus",
    )
    # Programs of others that do not make a GPU busy; their memory still counts as used.
    ignore: tuple[str, ...] = _knob(
        DISPLAYS,
        "ignore_processes",
        Form.NAMES,
        "Programs on GPUs to ignore: Xorg,gnome-shell.  [default: desktop programs]",
        "ignore",
        metavar="NAMES",
        settings={
            "run": "Programs on GPUs to ignore.",
            "daemon": "Programs on GPUs to ignore (daemon).",
        },
    )
    # Memory of each GPU that is never given out; None: a hundredth.
    margin_mb: int | None = _knob(
        None, "mem_margin", Form.SIZE, "GPU memory that is kept free.  [default: 1 %, at least 128M]", "margin_mb"
    )
    # NVIDIA's MPS: off, auto (for jobs that are packed), on.
    mps: str = _knob(
        "auto",
        "mps",
        Form.CHOICE,
        "Run jobs that share a GPU under NVIDIA's MPS.  [default: auto, with packing]",
        words=("off", "auto", "on"),
    )
    # These have no knob of their own: --jobs-per-gpu makes seats too, --fill is for older tools.
    jobs_per_gpu: int | None = None  # at most this many jobs share a GPU, however much memory is left
    fill: bool = False  # of several free seats, take the first one listed, however busy its devices are
    # A job that uses far more than it reserved goes back to the queue if others would suffer.
    enforce: bool = _knob(
        False,
        "enforce_memory",
        Form.FLAG,
        "Requeue a job that uses far more GPU memory than it reserved, if others would run out.",
        "enforce",
    )

    def margin_of(self, total_mb: int) -> int:
        """What is never given out of a GPU of this size: contexts and fragmentation take more than anybody asks for."""
        return max(total_mb // 100, 128) if self.margin_mb is None else self.margin_mb

    def but(self, **changed: Any) -> Policy:
        return self._replace(**changed)

    @classmethod
    def of_options(cls, values: Mapping[str, Any]) -> Policy:
        """From the values of its options, as the command line or a setting has them; None: not given."""
        return cls().with_options(values)

    def with_options(self, values: Mapping[str, Any]) -> Policy:
        """The same, except for the options that are given."""
        if values.get("only_idle_gpus") and values.get("share_gpus"):
            raise UsageError(
                "Either --only-idle-gpus (no job beside others) or --share-gpus (beside anybody), not both."
            )
        given = {name: values.get(knob.option) for name, knob in KNOBS.items()}
        known = {name: _value(KNOBS[name], value) for name, value in given.items() if value is not None}
        if known.get("only_idle") or known.get("share"):
            known = {"only_idle": False, "share": False, **known}  # of these two, the later one counts
        return self.but(**known)

    def as_options(self) -> list[str]:
        """The same policy as words of a command line."""
        words: list[str] = []
        for name, value in self._changed().items():
            knob = KNOBS.get(name)
            if knob is not None:
                is_switch = knob.form in (Form.FLAG, Form.SWITCH)
                text = ",".join(value) if knob.form is Form.NAMES else str(value)
                words += [knob.flag] if is_switch else [knob.flag, text]
        return words

    def as_json(self) -> dict[str, Any]:
        """By name, and only what differs from the default, so older files lack later fields."""
        return self._changed()

    @classmethod
    def of_json(cls, known: Mapping[str, Any] | list[Any]) -> Policy:
        """A list was written by a host of an older version. An unknown name comes from a newer version."""
        named = dict(zip(_LISTED, known, strict=False)) if isinstance(known, list) else known
        return cls(**{name: _plain(value) for name, value in named.items() if name in cls._fields})

    def _changed(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}


def parse_names(text: str) -> tuple[str, ...]:
    """`Xorg, gnome-shell`: the names in a list with commas."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _value(knob: Knob, written: Any) -> Any:
    return parse_names(written) if knob.form is Form.NAMES else written


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_LISTED = (
    *(
        "min_free_gpus",
        "max_gpus",
        "prefer",
        "jobs_per_gpu",
        "only_idle",
        "margin_mb",
        "mps",
        "ignore",
        "share",
        "fill",
    ),
)
"""The order in which older versions listed them. Nothing is added here."""

assert KNOBS.keys() <= {*Policy._fields}, "a knob whose field has another name says so"
NO_POLICY = Policy()
