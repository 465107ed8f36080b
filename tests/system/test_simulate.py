"""`duckrow simulate` with what this machine has run, as docs/simulate.md shows it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Duckrow


def test_the_jobs_of_this_machine_are_simulated_on_other_gpus(duckrow: Duckrow, tmp_path: Path) -> None:
    duckrow("run", "--devices", "0,1", stdin="sleep 0.1\nsleep 0.2\nfalse\n", ok=False)
    trace, picture = tmp_path / "trace.json", tmp_path / "timeline.svg"
    trace.write_text(duckrow("ls", "--all", "--json").stdout)
    words = ("simulate", "--devices", "1xH100-80G", "--trace", str(trace), "--search", "0", "--picture", str(picture))
    told = json.loads(duckrow(*words, "--json").stdout)
    assert [each["jobs"] for each in told] == [2, 2, 2], "the one that failed is left out"
    assert 0.3 <= told[0]["lower_bound_s"] <= told[0]["makespan_s"]
    assert picture.read_text().count("<title>") == 2
