"""What is known of memory, as pilots tell it to each other."""

from __future__ import annotations

from duckrow.clusters.peaks import SharedPeak, SharedPeaks, together
from tests.clusters.conftest import MakeBatch


def test_what_single_runs_took_is_put_together_by_what_they_were_called_with() -> None:
    one = SharedPeak("train.py", "A100", 4000, 2, called=[("small", 1000), ("large", 4000)])
    other = SharedPeak("train.py", "A100", 3000, 1, called=[("small", 1200), ("base", 3000)])
    (merged,) = together([one, other])
    assert (merged.peak_mb, merged.runs) == (4000, 3)
    assert dict(merged.called) == {"small": 1200, "base": 3000, "large": 4000}


def test_what_one_tells_another_hears(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    told = SharedPeak("train.py", "A100", 4000, 2, called=[("small", 1000)])
    SharedPeaks(batch, "one").tell([told])
    (heard,) = SharedPeaks(batch, "other").news()
    assert heard[:5] == told[:5]
    assert [tuple(call) for call in heard.called] == [("small", 1000)]
