"""Pickles of earlier versions, and where their modules stand today."""

from __future__ import annotations

import io
from importlib.util import find_spec

import pytest

from duckrow.api.calls.functions import JobFailed
from duckrow.api.calls.old_names import MOVED, Unpickler
from duckrow.hydra.runs.run import run_one


@pytest.mark.parametrize(
    ("pickled", "found"),
    [
        (b"chydra_plugins.duckrow_launcher._run\nrun_one\n.", run_one),
        (b"cduckrow.api.functions\nJobFailed\n.", JobFailed),
    ],
)
def test_a_call_of_an_earlier_version_finds_what_it_names(pickled: bytes, found: object) -> None:
    assert Unpickler(io.BytesIO(pickled)).load() is found


def test_every_module_that_has_moved_is_where_the_list_says() -> None:
    assert all(find_spec(new) is not None and find_spec(old) is None for old, new in MOVED.items())
