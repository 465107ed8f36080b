"""duckrow gets your GPU jobs in a row."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from duckrow.api.calls.functions import JobFailed, RemoteError
    from duckrow.api.python.executor import Executor
    from duckrow.api.python.handles import Job, job
    from duckrow.api.python.submission import submit
    from duckrow.api.python.sweeping import Sweep, sweep
    from duckrow.api.results.metrics import report
    from duckrow.api.results.results import Results, results
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
    "Executor": "duckrow.api.python.executor",
    "Job": "duckrow.api.python.handles",
    "JobFailed": "duckrow.api.calls.functions",
    "RemoteError": "duckrow.api.calls.functions",
    "Results": "duckrow.api.results.results",
    "Sweep": "duckrow.api.python.sweeping",
    "UsageError": "duckrow.core.errors",
    "job": "duckrow.api.python.handles",
    "report": "duckrow.api.results.metrics",
    "results": "duckrow.api.results.results",
    "submit": "duckrow.api.python.submission",
    "sweep": "duckrow.api.python.sweeping",
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
