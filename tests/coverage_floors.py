"""How much of each package the tests run in their own process, and that it does not fall.

`make test` measures it, without the processes that tests start: what only those reach counts as not tested by a test of
a rule. Raise a floor when you have raised the coverage.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from coverage import Coverage

PACKAGES = Path(__file__).parent.parent / "src" / "duckrow"
FLOORS = {  # percent of its statements
    "api": 93,
    "cli": 79,
    "clusters": 90,
    "core": 98,
    "devices": 74,
    "dropin": 57,
    "engines": 66,
    "hydra": 72,
    "kernel": 85,
    "scheduler": 94,
    "store": 95,
    "web": 78,
}


def covered(measured: Coverage) -> dict[str, float]:
    """Package -> percent of its statements that were run."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in PACKAGES.rglob("*.py"):
        _, statements, _, missing, _ = measured.analysis2(str(path))
        package = path.relative_to(PACKAGES).parts[0]
        count = counts[package if (PACKAGES / package).is_dir() else "duckrow"]
        count[0] += len(statements) - len(missing)
        count[1] += len(statements)
    return {package: 100 * run / max(1, all_of_it) for package, (run, all_of_it) in sorted(counts.items())}


def main() -> int:
    measured = Coverage()
    measured.combine()
    fallen = []
    for package, percent in covered(measured).items():
        floor = FLOORS.get(package, 0)
        print(f"{package:10} {percent:5.1f} %  (at least {floor} %)")
        if percent < floor:
            fallen.append(package)
    if fallen:
        print(f"Less of {', '.join(fallen)} is tested than before. Add tests: tests/coverage_floors.py")
    return bool(fallen)


if __name__ == "__main__":
    sys.exit(main())
