"""Ratios to a floor that was measured in the same run: noted, recorded, and compared with the recorded ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

RECORD = Path(__file__).with_name("recorded.json")
WORSE = 1.2  # times the recorded ratio: a fifth worse

noted: dict[str, float] = {}
"""What this run has measured: question -> ratio. Less is better."""


class Compared(NamedTuple):
    question: str
    recorded: float
    measured: float | None  # None: not in this run

    @property
    def is_worse(self) -> bool:
        return self.measured is not None and self.measured > self.recorded * WORSE

    @property
    def sentence(self) -> str:
        """Only for one that is worse."""
        assert self.measured is not None
        more = (self.measured / self.recorded - 1) * 100
        return f"{self.question}: {self.measured:.2f} x, {more:.0f} % more than the recorded {self.recorded:.2f} x."


def note(question: str, ratio: float) -> None:
    noted[question] = ratio


def compare(recorded: Mapping[str, float], measured: Mapping[str, float]) -> list[Compared]:
    """Each recorded ratio beside that of this run."""
    return [Compared(question, ratio, measured.get(question)) for question, ratio in recorded.items()]


def record(measured: Mapping[str, float], date: str, machine: str, file: Path = RECORD) -> None:
    """Write down these ratios. Those of questions that were not asked this time stay."""
    ratios = {**read(file), **{question: round(ratio, 3) for question, ratio in measured.items()}}
    found: dict[str, Any] = {"recorded": date, "machine": machine, "ratios": dict(sorted(ratios.items()))}
    file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def read(file: Path = RECORD) -> dict[str, float]:
    ratios: dict[str, float] = json.loads(file.read_text())["ratios"] if file.exists() else {}
    return ratios


def report(compared: list[Compared], new: Mapping[str, float]) -> list[str]:
    """A table, then a sentence for each that is worse. `new`: measured, and not recorded yet."""
    lines = [f"{'against its floor':<72}{'recorded':>10}{'now':>10}"]
    for each in compared:
        now = "-" if each.measured is None else f"{each.measured:.2f} x"
        lines.append(f"{each.question:<72}{each.recorded:>8.2f} x{now:>10}{'  WORSE' if each.is_worse else ''}")
    lines += [f"{question:<72}{'new':>10}{ratio:>8.2f} x" for question, ratio in new.items()]
    worse = [each.sentence for each in compared if each.is_worse]
    return [*lines, "", *worse] if worse else [*lines, "", f"No ratio is more than {(WORSE - 1):.0%} worse."]
