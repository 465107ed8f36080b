"""The settings: which exist, what each may be, and which of several values applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from duckrow.core.devices.inventory import looks_like_devices
from duckrow.core.devices.policy import KNOBS, Form, Knob
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import (
    DEFAULT_BACKOFF_S,
    DEFAULT_GRACE_S,
    DEFAULT_NOTICE,
    DEFAULT_PRIORITY,
    DEFAULT_PROJECT,
    DEFAULT_SHELL,
    check_name,
)
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import NO_LIMIT, parse_duration_s, parse_size_bytes, parse_size_mb

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

PROJECTS = "projects"
DEFAULT = "default"
_MOST_DIGITS = 9  # digits of a number: enough for anybody, and the database can hold it


class Setting(NamedTuple):
    section: str
    key: str
    kind: str  # what it is, in words
    read: Callable[[Any], Any]  # parses what a file or a variable has; raises UsageError
    default: Any  # as written in a file; None: not set
    help: str

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"


class Layer(NamedTuple):
    """What one source sets."""

    source: str  # default, a file, or a variable
    is_variable: bool
    sections: Mapping[str, Mapping[str, Any]]  # section (`job`, `projects.thesis`) -> key -> value as written


class Value(NamedTuple):
    setting: Setting
    written: Any  # as the source has it
    value: Any  # as duckrow uses it
    source: str


def _text(written: Any) -> str:
    if not isinstance(written, str) or not written:
        raise UsageError("is not a string")
    return written


def _names(written: Any) -> str:
    """Names separated by commas; an empty text is a choice too."""
    if not isinstance(written, str):
        raise UsageError("is not a string of names with commas")
    return written


def _project(written: Any) -> str:
    check_name("project", _text(written))
    return str(written)


def _whole(least: int | None = None) -> Callable[[Any], int]:
    kind = "a whole number" if least is None else f"a whole number of {least} or more"

    def read(written: Any) -> int:
        text = str(written).removeprefix("-")
        if isinstance(written, bool | float) or not (text.isascii() and text.isdecimal()):
            raise UsageError(f"is not {kind}")
        if len(text) > _MOST_DIGITS:
            raise UsageError("is too large a number")
        if least is not None and int(written) < least:
            raise UsageError(f"is not {kind}")
        return int(written)

    return read


def _yes_or_no(written: Any) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(written).lower() not in words:
        raise UsageError("is neither true nor false")
    return words[str(written).lower()]


def _amount(parse: Callable[[str], Any], optional: bool) -> Callable[[Any], Any]:
    """A time or a size: text, or a plain number."""

    def read(written: Any) -> Any:
        if optional and written == NO_LIMIT:
            return None
        if isinstance(written, bool) or not isinstance(written, str | int | float):
            raise UsageError("is neither a string in quotes nor a number")
        return parse(str(written))

    return read


def _devices(written: Any) -> list[str]:
    """The words of `--devices`: "0,1", "0 0 1 1", "all"."""
    words = str(written).split() if isinstance(written, str | int) and not isinstance(written, bool) else []
    if not words or not all(looks_like_devices(word) for word in words):
        raise UsageError('does not name GPUs (write "0,1", "0+1 2+3" or "all")')
    return words


def _choice(*choices: str) -> Callable[[Any], str]:
    def read(written: Any) -> str:
        if written not in choices:
            raise UsageError(f"is not one of {', '.join(choices)}")
        return str(written)

    return read


_TIME = _amount(parse_duration_s, optional=False)
_LIMIT = _amount(parse_duration_s, optional=True)
_SIZE = _amount(parse_size_bytes, optional=True)
_DEVICES = ("devices", _devices, None)
_SLOTS = ("number", _whole(1), None)
_SHARES = ("number", _whole(1), 1)


def _of_policy(section: str) -> Iterable[Setting]:
    """The knobs of the device policy that this section may set."""
    for knob in KNOBS.values():
        if section in knob.settings:
            default = False if knob.form in (Form.FLAG, Form.SWITCH) else None
            yield Setting(section, knob.option, knob.form.value, _reader_of(knob), default, knob.settings[section])


def _reader_of(knob: Knob) -> Callable[[Any], Any]:
    readers = {
        Form.COUNT: _whole(knob.least),
        Form.NAMES: _names,
        Form.SIZE: _amount(parse_size_mb, optional=False),
        Form.CHOICE: _choice(*knob.words),
    }
    return readers.get(knob.form, _yes_or_no)


SETTINGS = (
    Setting("job", "project", "name", _project, DEFAULT_PROJECT, "The project that jobs belong to."),
    Setting("job", "priority", "number", _whole(), DEFAULT_PRIORITY, "Higher starts first."),
    Setting("job", "retries", "number", _whole(0), 0, "How often to try again after a failure."),
    Setting(
        "job", "requeue_lost", "true or false", _yes_or_no, False, "Requeue a lost job (the machine was restarted)."
    ),
    Setting("job", "backoff", "time", _TIME, f"{DEFAULT_BACKOFF_S:g}s", "Wait before the first retry, then double it."),
    Setting("job", "timeout", "time", _LIMIT, None, "Stop a job after this time; none for no limit."),
    Setting(
        "job", "signal", "signal@time", _text, DEFAULT_NOTICE, "Warn a job this long before its time limit; or none."
    ),
    Setting("job", "grace", "time", _TIME, f"{DEFAULT_GRACE_S:g}s", "Time between SIGTERM and SIGKILL."),
    Setting("job", "shell", "path", _text, DEFAULT_SHELL, "Shell that runs the command."),
    Setting("job", "max_log", "size", _SIZE, None, "Keep only the beginning and the end of a longer log; or none."),
    Setting("run", "devices", *_DEVICES, 'Devices of `duckrow run`: "0,1", "0-3", "0+1 2+3", "all".'),
    Setting("run", "slots", *_SLOTS, "CPU slots of `duckrow run`."),
    Setting("run", "jobs_per_gpu", *_SHARES, "How many jobs of `duckrow run` may share a GPU."),
    *_of_policy("run"),
    Setting("run", "follow", "true or false", _yes_or_no, False, "`duckrow run` prints all output as it comes."),
    Setting(
        "run", "max_failures", "number", _whole(1), None, "`duckrow run` starts nothing more after this many failures."
    ),
    Setting("daemon", "devices", *_DEVICES, "Devices of the daemon, unless you chose others with `duckrow up`."),
    Setting("daemon", "slots", *_SLOTS, "CPU slots of the daemon."),
    Setting("daemon", "jobs_per_gpu", *_SHARES, "How many jobs of the daemon may share a GPU."),
    *_of_policy("daemon"),
    Setting("daemon", "keep", "time", _LIMIT, None, "Forget finished jobs after this time, with their logs; or none."),
    Setting("ui", "color", "word", _choice("auto", "always", "never"), "auto", "Colours: auto, always, never."),
)
RENAMED = {("run", "gpus"): "devices", ("daemon", "gpus"): "devices"}
SECTIONS = tuple(dict.fromkeys(setting.section for setting in SETTINGS))


def settings_of(section: str) -> dict[str, Setting]:
    """The settings that a section may have; a project has those of [job], except the project itself."""
    if section.startswith(f"{PROJECTS}."):
        return {key: setting for key, setting in settings_of("job").items() if key != "project"}
    return {setting.key: setting for setting in SETTINGS if setting.section == section}


def merge(layers: Sequence[Layer], project: str | None = None) -> dict[str, Value]:
    """Setting -> the value that applies to jobs of this project, or of the one that the settings name.

    Later layers win. In files, what is set for a project wins over what is set for all jobs; variables win over files.
    """
    files = [layer for layer in layers if not layer.is_variable]
    variables = [layer for layer in layers if layer.is_variable]
    held = _values(SECTIONS, [*files, *variables])
    chosen = f"{PROJECTS}.{project or held['job.project'].value}"
    held.update(_values([chosen], files))
    held.update(_values(["job"], variables))
    held.update(_values([chosen], variables))
    if project is not None:
        held["job.project"] = Value(held["job.project"].setting, project, project, "--project")
    return held


def _values(sections: Iterable[str], layers: Iterable[Layer]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for layer in layers:
        for section in sections:
            for key, setting in settings_of(section).items():
                values = layer.sections.get(section, {})
                if key in values:
                    written = values[key]  # None: not set, by default
                    value = None if written is None else setting.read(written)
                    found[setting.name] = Value(setting, written, value, layer.source)
    return found


DEFAULTS = Layer(DEFAULT, False, {name: {s.key: s.default for s in settings_of(name).values()} for name in SECTIONS})
