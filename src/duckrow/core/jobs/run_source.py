"""Where the jobs of a run come from, as it is kept, and what to type about those that it left behind."""

from __future__ import annotations

_NOT_RESUMED, _OF_SWEEP = "--", "sweep:"


def source_of_sweep(sweep_id: int) -> str:
    """What is kept as the source of a run that runs a sweep."""
    return f"{_OF_SWEEP}{sweep_id}"


def is_of_sweep(source: str) -> bool:
    return source.startswith(_OF_SWEEP)


def list_file_in(source: str) -> str:
    """The file whose commands are run; empty: standard input, or one command in a terminal."""
    return source.removeprefix(_NOT_RESUMED)


def never_resumed(source: str) -> str:
    """What is kept as the source of a run that nobody can resume: a list with --once, or one command in a terminal."""
    return f"{_NOT_RESUMED}{source}"


def continue_command(handle: str, source: str) -> str:
    """What continues a run that has ended; empty: nothing does. `handle`: what finds it, its name or its number."""
    if source.startswith(_NOT_RESUMED):
        return ""
    if is_of_sweep(source):
        return f"duckrow sweep --resume --name {source.removeprefix(_OF_SWEEP)}"
    return f"duckrow run --resume={handle}"


def drop_command(handle: str) -> str:
    """What drops the jobs that a run left behind."""
    return f"duckrow clean --run {handle}"


def what_to_type(handle: str, source: str) -> str:
    """About jobs that a run left behind, where there is room for one command."""
    return continue_command(handle, source) or f"{drop_command(handle)}, which drops it"
