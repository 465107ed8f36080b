"""Finds modules by the names that earlier versions wrote into calls."""

from __future__ import annotations

import pickle

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import Any

_LAUNCHER = "hydra_plugins.duckrow_launcher"
MOVED = {
    "duckrow.api.functions": "duckrow.api.calls.functions",
    f"{_LAUNCHER}._failures": "duckrow.hydra.runs.failures",
    f"{_LAUNCHER}._launch": "duckrow.hydra.runs.launch",
    f"{_LAUNCHER}._quick_loader": "duckrow.hydra.runs.quick_loader",
    f"{_LAUNCHER}._resources": "duckrow.hydra.resources",
    f"{_LAUNCHER}._run": "duckrow.hydra.runs.run",
}


class Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(MOVED.get(module, module), name)
