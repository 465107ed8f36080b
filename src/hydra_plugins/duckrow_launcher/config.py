"""Makes the launchers known to Hydra, by the names under which they are chosen."""

from __future__ import annotations

from hydra.core.config_store import ConfigStore

from hydra_plugins.duckrow_launcher import _keys

for _name, _conf in {
    "duckrow_local": _keys.LocalConf,
    "duckrow_slurm": _keys.SlurmConf,
    "clusterduck_local": _keys.ClusterduckLocalConf,
    "clusterduck_slurm": _keys.ClusterduckSlurmConf,
}.items():
    ConfigStore.instance().store(group="hydra/launcher", name=_name, node=_conf, provider="duckrow_launcher")
