"""A quick dataclass behaves like one of dataclasses, which describes it only when somebody asks."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from duckrow.core.quick_dataclass import dataclass, field


@dataclass
class Quick:
    id: int
    name: str
    tags: tuple[str, ...] = ()
    most_s: float | None = None
    words: str = field(init=False)

    def __post_init__(self) -> None:
        self.words = f"{self.id} {self.name}"


@dataclasses.dataclass
class Usual:
    id: int
    name: str
    tags: tuple[str, ...] = ()
    most_s: float | None = None
    words: str = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.words = f"{self.id} {self.name}"


USES: list[Callable[[Any], Any]] = [
    lambda kind: vars(kind(1, "a")),
    lambda kind: vars(kind(name="a", id=1, most_s=2.0)),
    lambda kind: kind(1, "a") == kind(1, "a"),
    lambda kind: kind(1, "a") == kind(1, "b"),
    lambda kind: kind(1, "a") == (1, "a"),
    lambda kind: hash(kind(1, "a")),
    lambda kind: repr(kind(1, "a")).replace(kind.__name__, ""),
    lambda kind: [(each.name, each.default, each.init) for each in dataclasses.fields(kind)],
    lambda kind: dataclasses.asdict(kind(1, "a", ("x",))),
    lambda kind: vars(dataclasses.replace(kind(1, "a"), name="b")),
    lambda kind: dataclasses.is_dataclass(kind),
    lambda kind: pickle.loads(pickle.dumps(kind(1, "a"))) == kind(1, "a"),
    lambda kind: copy.deepcopy(kind(1, "a")) == kind(1, "a"),
    lambda kind: vars(dataclasses.make_dataclass("Longer", [("more", int, 3)], bases=(kind,))(1, "a")),
    lambda kind: kind(1),
    lambda kind: kind(1, "a", no_such=1),
    lambda kind: kind(1, "a", (), None, "words"),
]


def _outcome(use: Callable[[Any], Any], kind: Any) -> Any:
    try:
        return use(kind)
    except TypeError as error:
        return type(error)


@pytest.mark.parametrize("use", USES)
def test_it_answers_like_one_of_dataclasses(use: Callable[[Any], Any]) -> None:
    assert _outcome(use, Quick) == _outcome(use, Usual)


def test_who_asks_for_its_fields_may_do_so_before_the_first_value_and_after_it() -> None:
    @dataclass
    class Asked:
        number: int = 1
        later: int = field(init=False)

    assert [each.name for each in dataclasses.fields(Asked)] == ["number", "later"]
    assert Asked(2).number == 2
    assert dataclasses.replace(Asked(2), number=3).number == 3


def test_it_needs_neither_dataclasses_nor_inspect_to_hold_values() -> None:
    program = (
        "import sys\n"
        "from duckrow.core.jobs.job import JobSpec\n"
        "assert JobSpec('true', '/').name == 'true'\n"
        "print({'dataclasses', 'inspect'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
