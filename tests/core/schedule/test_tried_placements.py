"""What was tried in vain is not tried again, and that changes nothing."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duckrow.core.devices.device import Reservations
from duckrow.core.devices.inventory import Ledger, Seat, book
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.policy import Policy
from duckrow.core.schedule import tried_placements as trials
from duckrow.core.schedule.placement import place, refusal
from duckrow.core.schedule.tried_placements import Trials
from tests.core.memory_language import gpus, machine_of


def random_ask(random: Random) -> Ask:
    mb = random.randint(1, 30) * 1024
    packed = Ask(random.choice([None, 1, 2, 3]), mb, cpus=random.choice([0, 0, 4, 9]))
    others = [Ask(random.choice([None, 1, 2])), Ask(total_mb=mb), Ask(1, mb, alone=True), Ask(mb=mb, larger_than_mb=mb)]
    return random.choice([packed, packed, packed, *others])


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 1 << 32))
def test_what_is_remembered_changes_nothing(seed: int) -> None:
    random = Random(seed)
    stage = gpus(*random.choices(["8G", "16G", "24G"], k=random.randint(1, 4)))
    used = {gpu: f"{random.randint(1, 8)}G" for gpu in stage.total_mb if random.random() < 0.3}
    policy = Policy(
        min_free_gpus=random.choice([0, 0, 1]),
        max_gpus=random.choice([None, None, 1, 2]),
        prefer=tuple(random.sample(list(stage.total_mb), random.randint(0, 1))),
        jobs_per_gpu=random.choice([None, None, 1, 3]),
        only_idle=random.random() < 0.2,
    )
    machine, booked = machine_of(stage, used, policy, cpus=8), Ledger()
    tried = Trials(stage.seats, booked, machine)
    for ask in [random_ask(random) for _ in range(12)]:
        expected = place(ask, stage.seats, booked, machine)
        assert tried.place(ask) == expected, ask
        assert tried.is_possible(ask) == (refusal(ask, stage.seats, machine) is None), ask
        if expected is not None and random.random() < 0.7:
            book(expected, booked)


def test_one_that_asks_for_no_less_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(ask: Ask, seats: list[Seat], booked: Ledger, machine: Machine) -> Reservations | None:
        asked.append((ask.gpus, ask.mb))
        return place(ask, seats, booked, machine)

    monkeypatch.setattr(trials, "place", counted)
    stage = gpus("8G", "8G")
    tried = Trials(stage.seats, Ledger(), machine_of(stage))
    for count, mb in [(1, 9000), (1, 9000), (1, 9500), (2, 9000), (2, 8000), (2, 8500), (1, 8500), (3, 100), (3, 200)]:
        tried.place(Ask(count, mb))
    assert asked == [(1, 9000), (2, 8000), (2, 8500), (1, 8500), (3, 100)]
