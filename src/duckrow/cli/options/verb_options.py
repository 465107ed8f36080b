"""The typed options of `run`, `sweep` and `submit` as values: taken out of a verb's arguments once, at its start."""

from __future__ import annotations

from collections.abc import Mapping

from duckrow.core.devices.policy import KNOBS, Policy
from duckrow.core.jobs.commands import ONE_PER_LINE, ListForm
from duckrow.core.named_tuple import NamedTuple

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    from duckrow.api.machine.settings import Settings


def fill_devices(section: str, values: dict[str, Any], settings: Settings) -> None:
    """If no devices were given, take those from the settings of `run` or `daemon`."""
    if not values["devices"] and values["slots"] is None:
        values["devices"] = tuple(settings[f"{section}.devices"] or ())
        values["slots"] = settings[f"{section}.slots"]
    if values["jobs_per_gpu"] is None:
        values["jobs_per_gpu"] = settings[f"{section}.jobs_per_gpu"]
    for knob in KNOBS.values():
        if section in knob.settings and values[knob.option] is None and not values.get(knob.unless):
            values[knob.option] = settings[f"{section}.{knob.option}"]


def has_only_slots(section: str, typed: DeviceOptions) -> bool:
    """Whether CPU slots were chosen, and no GPU: by what was typed, else by the settings of `run` or `daemon`."""
    if typed.is_chosen:
        return not typed.devices
    from duckrow.api.machine.settings import Settings

    settings = Settings()
    return settings[f"{section}.slots"] is not None and not settings[f"{section}.devices"]


_NO_KNOBS: Mapping[str, Any] = dict.fromkeys([knob.option for knob in KNOBS.values()])


class DeviceOptions(NamedTuple):
    """Which devices may be used, and how."""

    devices: tuple[str, ...] = ()
    slots: int | None = None
    jobs_per_gpu: int | None = None
    knobs: Mapping[str, Any] = _NO_KNOBS  # those of the policy, by option; None: not typed

    @property
    def is_chosen(self) -> bool:
        return bool(self.devices) or self.slots is not None

    @property
    def policy(self) -> Policy:
        return Policy.of_options(dict(self.knobs))

    def with_settings(self, settings: Settings) -> DeviceOptions:
        """Fill in what was not typed from the settings of `run`."""
        values: dict[str, Any] = {"devices": self.devices, "slots": self.slots, "jobs_per_gpu": self.jobs_per_gpu}
        values |= self.knobs
        fill_devices("run", values, settings)
        return _take_devices(values)


class WatchOptions(NamedTuple):
    """How to watch the runs."""

    follow: bool | None = None
    max_failures: int | None = None
    table: bool | None = None
    passthrough: bool = False

    def with_settings(self, settings: Settings) -> WatchOptions:
        given = {name: settings[f"run.{name}"] for name in ("follow", "max_failures") if getattr(self, name) is None}
        if self.passthrough:
            given.pop("follow", None)  # what was typed wins
        return self._replace(**given)


class RunOptions(NamedTuple):
    """By default, as if none was typed."""

    devices: DeviceOptions = DeviceOptions()
    watch: WatchOptions = WatchOptions()
    gpu_count: int | None = None  # GPUs for each job; None: one device
    delimiter: str | None = None
    form: str | None = None  # commands, the default, or json
    resumed: str | None = None
    announce: str | None = None
    events: str | None = None
    once: bool = False
    blocks: bool = False
    as_written: bool = False
    fill: bool = False
    lifo: bool = False
    dry_run: bool = False

    @property
    def list_form(self) -> ListForm:
        return ListForm(self.form or ONE_PER_LINE.format, self.delimiter, self.blocks)

    def or_as(self, earlier: ListForm) -> RunOptions:
        """Read the list as an earlier run did, where nothing else was typed."""
        delimiter = earlier.delimiter if self.delimiter is None else self.delimiter
        return self._replace(
            form=self.form or earlier.format, delimiter=delimiter, blocks=self.blocks or earlier.blocks
        )


class SweepOptions(NamedTuple):
    devices: DeviceOptions
    watch: WatchOptions
    gpu_count: int | None
    pattern: str | None
    command_words: list[str] | None  # after --
    grids: list[dict[str, list[str]]]  # the words of each parameter
    file: str | None
    mode: str | None
    n_samples: int | None
    seed: int | None
    here: bool  # --run
    queue: bool  # --submit
    dry_run: bool  # neither of them
    resume: bool
    root: str | None
    snapshot: bool
    as_json: bool


def take_run_options(values: dict[str, Any], gpu_count: int | None) -> RunOptions:
    """From what is left after the options of all jobs and of clusters were taken out."""
    return RunOptions(devices=_take_devices(values), watch=_take_watch(values), gpu_count=gpu_count, **values)


def take_sweep_options(values: dict[str, Any], gpu_count: int | None, **behind: Any) -> SweepOptions:
    """`behind`: the words after `-p` and `--`."""
    del values["_param"], values["_or"]  # they are only for the help
    return SweepOptions(
        devices=_take_devices(values), watch=_take_watch(values), gpu_count=gpu_count, **behind, **values
    )


def _take_devices(values: dict[str, Any]) -> DeviceOptions:
    knobs = {knob.option: values.pop(knob.option) for knob in KNOBS.values()}
    return DeviceOptions(values.pop("devices"), values.pop("slots"), values.pop("jobs_per_gpu"), knobs)


def _take_watch(values: dict[str, Any]) -> WatchOptions:
    return WatchOptions(**{name: values.pop(name) for name in WatchOptions._fields if name in values})
