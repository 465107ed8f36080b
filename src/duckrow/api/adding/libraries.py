"""`--preload auto`: the large libraries that a script imports, itself or through the files beside it."""

from __future__ import annotations

import os
from functools import lru_cache

from duckrow.api.adding.job_values import script_here
from duckrow.core.jobs.job import JobSpec

AUTO = "auto"

LARGE = (
    *("torch", "torchvision", "torchaudio", "lightning", "pytorch_lightning", "transformers", "diffusers", "datasets"),
    *("accelerate", "jax", "flax", "optax", "tensorflow", "keras", "numpy", "scipy", "pandas", "sklearn", "matplotlib"),
)
"""Slow to import, and known to have no side effects when imported. Nobody knows that of other modules."""

_MOST_FILES = 50
_LARGEST_FILE = 1 << 20


def with_libraries(spec: JobSpec) -> JobSpec:
    """Choose what to preload, if the job leaves it to duckrow; nothing, if its command runs no script."""
    if spec.preload == AUTO:
        script = script_here(spec.cwd, spec.command)
        spec.preload = ",".join(libraries_of(script)) or None if script is not None else None
    return spec


@lru_cache(maxsize=64)
def libraries_of(script: str) -> tuple[str, ...]:
    """In the order of `LARGE`. A file that cannot be read imports nothing."""
    folder, found, left, seen = os.path.dirname(script), set[str](), [script], set[str]()
    while left and len(seen) < _MOST_FILES:
        path = left.pop(0)
        if path in seen:
            continue
        seen.add(path)
        names = _imported(path)
        found |= names
        left += [path for name in sorted(names) for path in _files_of(folder, name)]
    return tuple(name for name in LARGE if name in found)


def _files_of(folder: str, name: str) -> list[str]:
    """The files of a module beside the script."""
    candidates = (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py")
    return [path for path in candidates if os.path.isfile(path)]


def _imported(path: str) -> set[str]:
    """The top-level names of the modules that a file imports."""
    import ast

    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(_LARGEST_FILE))
    except (OSError, SyntaxError, ValueError):
        return set()
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names if name}
