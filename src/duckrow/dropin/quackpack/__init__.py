"""quackpack's functions on duckrow."""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from duckrow.dropin.quackpack.apply_functions import (
        find_free_ports,
        fresh_n_proc_per_node,
        fresh_port_mod_fn,
        insert_string,
    )
    from duckrow.dropin.quackpack.gpus import GpuInfo, get_memory_gpus
    from duckrow.dropin.quackpack.launching import launch_cmd
    from duckrow.dropin.quackpack.schedule import GpuJobInfo, schedule_cmd_gpus

__all__ = [
    "GpuInfo",
    "GpuJobInfo",
    "find_free_ports",
    "fresh_n_proc_per_node",
    "fresh_port_mod_fn",
    "get_memory_gpus",
    "insert_string",
    "launch_cmd",
    "schedule_cmd_gpus",
]

# Where each name is. An attempt needs the apply functions, and should not load the others.
_HOMES = {
    "GpuInfo": "gpus",
    "GpuJobInfo": "schedule",
    "find_free_ports": "apply_functions",
    "fresh_n_proc_per_node": "apply_functions",
    "fresh_port_mod_fn": "apply_functions",
    "get_memory_gpus": "gpus",
    "insert_string": "apply_functions",
    "launch_cmd": "launching",
    "schedule_cmd_gpus": "schedule",
}

if not TYPE_CHECKING:  # it would tell a type checker that every name exists

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"duckrow.dropin.quackpack.{_HOMES[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
