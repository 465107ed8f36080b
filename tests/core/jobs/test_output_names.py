"""Names of output files with sbatch's symbols in them."""

from __future__ import annotations

import pytest

from duckrow.core.jobs.output_names import OutputNames, WhoWrites, fill


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("out-%j.txt", "out-128.txt"),
        ("%x.%A_%a", "fit.120_8"),
        ("%u@%N-%n-%t.%s", "ann@gpu1-0-0.batch"),
        ("job%5j-%3a", "job00128-008"),
        ("%4x", "fit"),
        ("100%%-%j", "100%-128"),
        ("%q%", "%q%"),
        ("out-\\%j", "out-%j"),
        ("plain", "plain"),
    ],
)
def test_symbols_are_filled_in_as_sbatch_does_it(pattern: str, name: str) -> None:
    assert fill(pattern, WhoWrites(128, 120, 8, "fit", "ann", "gpu1")) == name


def test_a_job_outside_an_array_has_the_index_that_sbatch_gives_it() -> None:
    assert fill("%A_%a", WhoWrites(128, 128, None, "fit", "ann", "gpu1")) == "128_4294967294"


def test_errors_that_go_where_the_output_goes_are_no_file_of_their_own() -> None:
    assert OutputNames("o-%j", "o-%j", "ann", "gpu1").files(1, 1, None, "fit") == ("o-1", None)
    assert OutputNames(None, "e-%j", "ann", "gpu1").files(1, 1, None, "fit") == (None, "e-1")
