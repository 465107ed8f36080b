"""duckrow gets your GPU jobs in a row."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from duckrow.api.executor import Executor
    from duckrow.api.functions import JobFailed, RemoteError
    from duckrow.api.handles import Job, job
    from duckrow.api.metrics import report
    from duckrow.api.results import Results, results
    from duckrow.api.submission import submit
    from duckrow.api.sweeping import Sweep, sweep
    from duckrow.core.errors import DuckrowError, UsageError

__all__ = [
    "DuckrowError",
    "Executor",
    "Job",
    "JobFailed",
    "RemoteError",
    "Results",
    "Sweep",
    "UsageError",
    "__version__",
    "job",
    "report",
    "results",
    "submit",
    "sweep",
]

# Where each name is; a module is loaded when the first of its names is used.
_HOMES = {
    "DuckrowError": "duckrow.core.errors",
    "Executor": "duckrow.api.executor",
    "Job": "duckrow.api.handles",
    "JobFailed": "duckrow.api.functions",
    "RemoteError": "duckrow.api.functions",
    "Results": "duckrow.api.results",
    "Sweep": "duckrow.api.sweeping",
    "UsageError": "duckrow.core.errors",
    "job": "duckrow.api.handles",
    "report": "duckrow.api.metrics",
    "results": "duckrow.api.results",
    "submit": "duckrow.api.submission",
    "sweep": "duckrow.api.sweeping",
}

if not TYPE_CHECKING:  # to a type checker it would say that any name is there

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'duckrow' has no attribute '{name}'")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
