"""The launchers that Hydra finds: duckrow's own, on one machine and through SLURM, and clusterduck's names for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from duckrow.hydra.launching import DuckrowLauncher
from duckrow.hydra.local import ask_own_run, place_locally
from duckrow.hydra.resources import Resources
from duckrow.hydra.slurm import KEYS, from_submitit, place_on_slurm
from duckrow.hydra.wanted import LaunchOptions, from_clusterduck, wanted_of

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.sweeps.sweeps import SweepRow
    from duckrow.hydra.destinations import Destination


class DuckrowLocal(DuckrowLauncher):
    """Runs on this machine."""

    def wanted(self, values: Mapping[str, Any]) -> LaunchOptions:
        return wanted_of(values)

    def place(self, wanted: LaunchOptions, sweep: SweepRow, client: Client, runs: int) -> tuple[Destination, Resources]:
        return place_locally(wanted, sweep.folder, client)


class DuckrowSlurm(DuckrowLauncher):
    """Runs on a cluster."""

    def wanted(self, values: Mapping[str, Any]) -> LaunchOptions:
        return wanted_of(values, KEYS)

    def place(self, wanted: LaunchOptions, sweep: SweepRow, client: Client, runs: int) -> tuple[Destination, Resources]:
        return place_on_slurm(wanted, sweep.folder, sweep.name, runs)


class ClusterduckLocal(DuckrowLauncher):
    """DuckrowLocal with clusterduck's keys: slots that divide what resources_config says."""

    def wanted(self, values: Mapping[str, Any]) -> LaunchOptions:
        ours = from_clusterduck(values) | {"timeout": values["timeout_min"] * 60}
        return wanted_of({**ours, "gpus_per_node": values["gpus_per_node"]}, ["gpus_per_node"])

    def place(self, wanted: LaunchOptions, sweep: SweepRow, client: Client, runs: int) -> tuple[Destination, Resources]:
        return ask_own_run(wanted, sweep.folder, client)


class ClusterduckSlurm(DuckrowSlurm):
    """DuckrowSlurm with the keys of clusterduck and hydra-submitit-launcher."""

    def wanted(self, values: Mapping[str, Any]) -> LaunchOptions:
        return wanted_of({**from_submitit(values), **from_clusterduck(values)}, KEYS)
