"""Composes quickly: what the runs of a multirun have in common is composed once, then each run's values are put in.

Hydra composes the config of each run from all its files, which takes 50 to 100 ms. It does so twice, as the sweeper
checks every run before the launcher gets it. Most runs differ only in values (`lr=0.1`). Which files make up the config
depends only on the choices of groups (`model=convnet`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from hydra import __version__ as hydra_version
from hydra.core.config_loader import ConfigLoader
from hydra.plugins.sweeper import Sweeper
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.nodes import AnyNode, FloatNode, IntegerNode, StringNode

from duckrow.hydra.runs.quick_copies import quick_copy
from duckrow.hydra.runs.quick_overrides import parse_overrides, simple_value

try:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl, get_overrides_dirname
    from hydra._internal.defaults_list import Overrides
except ImportError:  # Hydra has changed inside: still correct, but not quick
    ConfigLoaderImpl = None  # type: ignore[assignment, misc]

_KNOWN = "1.3."  # the versions of Hydra whose internals we know; others compose the usual way
_ONLY_CHECKS = Sweeper.validate_batch_is_legal.__code__  # composes the config of each run, and drops it
_TAKES: dict[type, tuple[type, ...]] = {
    AnyNode: (int, float, str),
    IntegerNode: (int,),
    FloatNode: (int, float),
    StringNode: (int, float, str),
}
_INSIDE = ("_apply_overrides_to_config", "_parse_overrides_and_create_caching_repo", "validate_sweep_overrides_legal")


def quick_loader(loader: Any) -> Any:
    """The same loader, quicker where possible."""
    known = hydra_version.startswith(_KNOWN) and type(loader) is ConfigLoaderImpl
    return QuickLoader(loader) if known and all(hasattr(loader, name) for name in _INSIDE) else loader


class QuickLoader:
    """Does what Hydra's loader does. Only the configs of runs are composed in another way, with the same result."""

    def __init__(self, loader: ConfigLoaderImpl) -> None:
        self._loader = loader
        self._values: dict[tuple[str, ...], frozenset[int]] = {}  # by form of the overrides: which of them are values
        self._composed: dict[tuple[str, ...], DictConfig] = {}  # by the overrides that are not values
        self._can_be_composed: set[tuple[Any, ...]] = set()  # overrides by choices, keys and types: whatever the values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_loader":
            raise AttributeError(name)  # pickle asks before `_loader` is set
        return getattr(self._loader, name)

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """The config of one run."""
        if sys._getframe(1).f_code is _ONLY_CHECKS:
            return self._checked(master_config, sweep_overrides)
        return self._load(master_config, sweep_overrides, quick_copy)

    def _checked(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """Some config, if that of this run can be composed: nobody looks at it."""
        if self._shape_of(sweep_overrides) in self._can_be_composed:
            return master_config
        config = self._load(master_config, sweep_overrides, quick_copy)
        shape = self._shape_of(sweep_overrides)
        values = self._values.get(tuple(map(_form_of, sweep_overrides)), ())
        if shape is not None and all(_takes_any_such_value(config, sweep_overrides[place]) for place in values):
            self._can_be_composed.add(shape)
        return config

    def _shape_of(self, overrides: list[str]) -> tuple[Any, ...] | None:
        """The same for overrides that differ only in numbers and words that are values; None: not known."""
        forms = tuple(map(_form_of, overrides))
        values = self._values.get(forms)
        if values is None:
            return None
        found = [simple_value(each) if place in values else None for place, each in enumerate(overrides)]
        if any(found[place] is None for place in values):
            return None
        return forms, *(type(found[place]) if place in values else each for place, each in enumerate(overrides))

    def load_only_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """The same for a process that needs only one config: puts the values into the original, not into a copy."""
        try:
            return self._load(master_config, sweep_overrides, lambda composed: composed)
        finally:
            self._composed.clear()

    def _load(
        self, master_config: DictConfig, sweep_overrides: list[str], take: Callable[[DictConfig], DictConfig]
    ) -> DictConfig:
        forms = tuple(map(_form_of, sweep_overrides))
        if any(form.lstrip("+~").startswith("hydra") for form in forms):
            return self._loader.load_sweep_config(master_config, sweep_overrides)
        if forms not in self._values:
            self._values[forms] = self._which_are_values(master_config, sweep_overrides)
        values = self._values[forms]
        if not values:
            return self._loader.load_sweep_config(master_config, sweep_overrides)
        choices = [each for place, each in enumerate(sweep_overrides) if place not in values]
        config = take(self._with_choices(master_config, choices))
        self._put_in(config, sweep_overrides, values)
        OmegaConf.copy_cache(from_config=master_config, to_config=config)
        return config

    def _which_are_values(self, master: DictConfig, overrides: list[str]) -> frozenset[int]:
        """The positions of the overrides that change values, and not which files make up the config."""
        parsed, repository = self._loader._parse_overrides_and_create_caching_repo(
            master.hydra.job.config_name, unresolved(master.hydra.overrides.hydra) + overrides
        )
        lines = {override.input_line for override in Overrides(repository, parsed).config_overrides}
        return frozenset(place for place, override in enumerate(overrides) if override in lines)

    def _with_choices(self, master: DictConfig, choices: Sequence[str]) -> DictConfig:
        key = tuple(choices)
        if key not in self._composed:
            hydra_overrides = unresolved(master.hydra.overrides.hydra)
            self._composed[key] = self._loader.load_configuration(
                master.hydra.job.config_name, hydra_overrides + list(choices), RunMode.RUN
            )
        return self._composed[key]

    def _put_in(self, config: DictConfig, overrides: list[str], values: frozenset[int]) -> None:
        """Put in the values, and what Hydra records about all overrides."""
        parsed = parse_overrides(overrides)
        self._loader.validate_sweep_overrides_legal(overrides=parsed, run_mode=RunMode.RUN, from_shell=True)
        ConfigLoaderImpl._apply_overrides_to_config([parsed[place] for place in sorted(values)], config)
        config.hydra.overrides.task = list(overrides)
        form = config.hydra.job.config.override_dirname
        config.hydra.job.override_dirname = get_overrides_dirname(
            overrides=parsed, kv_sep=form.kv_sep, item_sep=form.item_sep, exclude_keys=form.exclude_keys
        )


def unresolved(overrides: Any) -> list[str]:
    """The overrides as typed: what they refer to may not exist yet."""
    return cast("list[str]", OmegaConf.to_container(overrides, resolve=False))


def _takes_any_such_value(config: DictConfig, override: str) -> bool:
    """Whether the type of the value decides whether it can be there, and not the value."""
    node: Any = config
    for name in override.partition("=")[0].lstrip("+").split("."):
        node = node._get_node(name) if isinstance(node, DictConfig) and isinstance(node._value(), dict) else None
    return type(simple_value(override)) in _TAKES.get(type(node), ())


def _form_of(override: str) -> str:
    """What decides whether it chooses a config: its key, and whether its value is a dict, which never chooses one."""
    key, _, value = override.partition("=")
    return f"{key}={{" if value.lstrip().startswith("{") else key


ConfigLoader.register(QuickLoader)
