"""Where settings come from: the user's file, pyproject.toml, variables. An error says where it is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property

from duckrow.api.adding.job_values import parse_notice
from duckrow.api.machine.settings_files import PREFIX, bytes_of, project_file, user_file
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import check_name
from duckrow.core.nearest_word import nearest_word
from duckrow.core.settings import DEFAULTS, PROJECTS, RENAMED, SECTIONS, SETTINGS, Layer, Value, merge, settings_of

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

ENGINES = "engines"
SLURM = "engines.slurm"


class Settings:
    """The current settings; read on first use."""

    @cached_property
    def layers(self) -> list[Layer]:
        return [DEFAULTS, *_file_layers(), *_variable_layers(os.environ)]

    def values(self, project: str | None = None) -> dict[str, Value]:
        """Setting (`job.retries`) -> its value, for jobs of this project."""
        return merge(self.layers, project)

    @cached_property
    def _values(self) -> dict[str, Value]:
        return self.values()

    def __getitem__(self, name: str) -> Any:
        return self._values[name].value

    def projects(self) -> list[str]:
        """The projects that have their own settings."""
        found = {section for layer in self.layers for section in layer.sections if section.startswith(f"{PROJECTS}.")}
        return sorted(section.removeprefix(f"{PROJECTS}.") for section in found)

    def slurm_profiles(self) -> dict[str, dict[str, Any]]:
        """Cluster -> its request; `slurm` is the request to all."""
        found: dict[str, dict[str, Any]] = {}
        for layer in self.layers:
            for section, values in layer.sections.items():
                if f"{section}.".startswith(f"{SLURM}."):
                    found.setdefault(section.removeprefix(f"{SLURM}.").replace(SLURM, "slurm"), {}).update(values)
        return found


# -- files ----------------------------------------------------------------------------------------------------------


def _file_layers() -> Iterator[Layer]:
    path = user_file()
    if os.environ.get("DUCKROW_CONFIG") and not os.path.exists(path):
        raise UsageError(f"DUCKROW_CONFIG names {path}, which does not exist. Create it, or unset the variable.")
    text = bytes_of(path)
    if text:
        yield Layer(path, False, _checked(parse_toml(text, path), path))
    shared = project_file()
    text = bytes_of(shared) if shared else b""
    if shared and (b"tool.duckrow" in text or b"[tool]" in text):  # otherwise parsing it would find nothing
        tool = parse_toml(text, shared).get("tool")
        table = tool.get("duckrow") if isinstance(tool, dict) else None
        if table is not None:
            yield Layer(shared, False, _checked(table, shared, "tool.duckrow."))


def parse_toml(text: bytes, path: str) -> dict[str, Any]:
    import importlib
    import sys

    tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        table: dict[str, Any] = tomllib.loads(text.decode())
        return table
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}. Fix that line.") from None


def _checked(table: Any, path: str, above: str = "") -> dict[str, dict[str, Any]]:
    """Section -> key -> value, all known and of the right type."""
    if not isinstance(table, dict):
        raise UsageError(f"In {path}, [{above.rstrip('.')}] is not a table of sections.")
    found: dict[str, dict[str, Any]] = {}
    for section, keys in table.items():
        if section == PROJECTS:
            if not isinstance(keys, dict):
                raise UsageError(
                    f"In {path}, '{PROJECTS}' is not a setting. Write [{above}{PROJECTS}.NAME] above some settings."
                )
            for project, values in keys.items():
                _check_project(project, f"In {path}, [{above}{PROJECTS}.{project}]")
                found[f"{PROJECTS}.{project}"] = _checked_section(f"{PROJECTS}.{project}", values, path, above)
        elif section == ENGINES:
            found.update(_checked_slurm(keys, path, above))
        elif section in SECTIONS:
            found[section] = _checked_section(section, keys, path, above)
        else:
            raise UsageError(f"In {path} {_no_section(section, above)}")
    return found


def _checked_slurm(engines: Any, path: str, above: str) -> dict[str, dict[str, Any]]:
    """`[engines.slurm]`, and `[engines.slurm.NAME]` for each cluster."""
    slurm = engines.get("slurm") if isinstance(engines, dict) and set(engines) == {"slurm"} else None
    if not isinstance(slurm, dict):
        raise UsageError(f"In {path}, [{above}{ENGINES}] has only clusters. Write [{above}{SLURM}.NAME] above them.")
    found: dict[str, dict[str, Any]] = {SLURM: {}}
    for key, value in slurm.items():
        if isinstance(value, dict):
            _check_project(key, f"In {path}, [{above}{SLURM}.{key}]")
            for name, of_profile in value.items():
                _check_slurm(name, of_profile, f"In {path}, {name} in [{above}{SLURM}.{key}]")
            found[f"{SLURM}.{key}"] = value
        else:
            _check_slurm(key, value, f"In {path}, {key} in [{above}{SLURM}]")
            found[SLURM][key] = value
    return found


def _check_slurm(key: str, value: Any, where: str) -> None:
    from duckrow.core.clusters.request import KEYS, read_value  # most people have no cluster in their settings

    try:
        read_value(key, value)
    except UsageError as error:
        near = nearest_word(key, KEYS) if key not in KEYS else None
        reason = f" is not a setting of a SLURM request. Did you mean '{near}'?" if near else f" {error}."
        raise UsageError(f"{where}{reason}") from None


def _checked_section(section: str, values: Any, path: str, above: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise UsageError(f"In {path}, '{section}' must be a section: write [{above}{section}] above its settings.")
    for key, value in values.items():
        if key not in settings_of(section):
            raise UsageError(f"In {path} {_no_key(section, key, above)}")
        _check_value(section, key, value, f"In {path}, {key} in [{above}{section}]")
    return values


def _check_project(name: str, where: str) -> None:
    try:
        check_name("project", name)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _check_value(section: str, key: str, value: Any, where: str) -> None:
    try:
        settings_of(section)[key].read(value)
        if key == "signal":
            parse_notice(value)  # the machine knows which signals exist, core does not
    except UsageError as error:
        # Reasons from the table continue the sentence; those from core's rules are sentences themselves.
        reason = str(error)
        told = f": {reason}" if reason[:1] == "'" else f": {_as_written(value)} {reason}."
        raise UsageError(f"{where}{told}") from None


def _as_written(value: Any) -> str:
    """A value as in TOML: true, 2026-11-16, [0, 1]."""
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)


# -- variables ------------------------------------------------------------------------------------------------------


def _variable_layers(environment: Mapping[str, str]) -> Iterator[Layer]:
    """DUCKROW__JOB__RETRIES, DUCKROW__PROJECTS__thesis__TIMEOUT; one layer each, so that each is named as a source."""
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        words = variable.removeprefix(PREFIX).split("__")
        section, middle, key = words[0].lower(), words[1:-1], words[-1].lower()
        if section == PROJECTS:
            if not middle:
                raise UsageError(f"The variable {variable} is not a setting: write {PREFIX}PROJECTS__NAME__KEY.")
            section = f"{PROJECTS}.{'__'.join(middle)}"
            _check_project("__".join(middle), f"The variable {variable}")
        elif section not in SECTIONS:
            raise UsageError(f"The variable {variable} is not a setting: {_no_section(section)}")
        elif middle or len(words) == 1:
            raise UsageError(f"The variable {variable} is not a setting: write {PREFIX}SECTION__KEY.")
        if key not in settings_of(section):
            raise UsageError(f"The variable {variable} is not a setting: {_no_key(section, key)}")
        _check_value(section, key, environment[variable], f"The variable {variable}")
        yield Layer(variable, True, {section: {key: environment[variable]}})


# -- suggestions ----------------------------------------------------------------------------------------------------


def _no_section(word: str, above: str = "") -> str:
    homes = [setting.section for setting in SETTINGS if setting.key == word]
    if homes:
        return f"'{word}' is outside its section. Put it under [{above}{homes[0]}]."
    near = nearest_word(word, (*SECTIONS, PROJECTS))
    hint = f"Did you mean [{above}{near}]?" if near else f"Choose from {', '.join((*SECTIONS, PROJECTS))}."
    return f"there is no section [{above}{word}]. {hint}"


def _no_key(section: str, key: str, above: str = "") -> str:
    if (section, key) in RENAMED:
        return f"'{key}' in [{above}{section}] is now called '{RENAMED[section, key]}'. Change that line."
    near = nearest_word(key, settings_of(section))
    homes = [f"[{above}{setting.section}]" for setting in SETTINGS if setting.key == key]
    if near:
        hint = f"Did you mean '{near}'?"
    elif homes:
        hint = f"It belongs to {' or '.join(homes)}."
    else:
        hint = f"Choose from {', '.join(settings_of(section))}."
    return f"there is no setting '{key}' in [{above}{section}]. {hint}"
