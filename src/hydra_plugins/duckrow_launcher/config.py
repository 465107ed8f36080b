"""Registers the launchers with Hydra, by the names that users choose them by."""

from __future__ import annotations

from hydra.core.config_store import ConfigStore

from duckrow.hydra.keys import LAUNCHERS

for _name, _conf in LAUNCHERS.items():
    ConfigStore.instance().store(group="hydra/launcher", name=_name, node=_conf, provider="duckrow_launcher")
