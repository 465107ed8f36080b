"""Our NamedTuple behaves like that of typing; only its classes are made faster."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from duckrow.core.named_tuple import NamedTuple


class Ours(NamedTuple):
    """A job, say."""

    id: int
    name: str
    tags: tuple[str, ...] = ()
    most_s: float | None = None

    @property
    def title(self) -> str:
        return f"{self.id} {self.name}"

    def renamed(self, name: str) -> Ours:
        return self._replace(name=name)


class Typings(typing.NamedTuple):
    """A job, say."""

    id: int
    name: str
    tags: tuple[str, ...] = ()
    most_s: float | None = None

    @property
    def title(self) -> str:
        return f"{self.id} {self.name}"

    def renamed(self, name: str) -> Typings:
        return self._replace(name=name)


class Single(NamedTuple):
    only: int


class Empty(NamedTuple):
    pass


class Derived(Single):
    def doubled(self) -> int:
        return 2 * self.only


def _matched(value: Any) -> str:
    match value:
        case Ours(1, name) | Typings(1, name):
            return name
    return ""


USES: list[Callable[[Any], Any]] = [
    lambda kind: tuple(kind(1, "a")),
    lambda kind: kind(1, "a") == (1, "a", (), None),
    lambda kind: hash(kind(1, "a", ("x",))),
    lambda kind: tuple(kind(name="a", id=1, most_s=2.0)),
    lambda kind: tuple(kind._make([1, "a", (), 3])),
    lambda kind: kind._make([1]),
    lambda kind: tuple(kind(1, "a")._replace(name="b", most_s=1)),
    lambda kind: kind(1, "a")._asdict(),
    lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__),
    lambda kind: repr(kind(1, "a")).replace(kind.__name__, ""),
    lambda kind: (kind(1, "a").title, kind(1, "a").renamed("b").name),
    lambda kind: pickle.loads(pickle.dumps(kind(1, "a"))) == kind(1, "a"),
    lambda kind: type(copy.deepcopy(kind(1, "a"))) is kind,
    lambda kind: _matched(kind(1, "a")),
    lambda kind: typing.get_type_hints(kind),
    lambda kind: kind(1, "a").__dict__,
    lambda kind: setattr(kind(1, "a"), "id", 2),
    lambda kind: kind(1),
    lambda kind: kind(1, "a", (), None, 5),
    lambda kind: kind(1, "a", no_such=1),
]


def _outcome(use: Callable[[Any], Any], kind: Any) -> Any:
    try:
        return use(kind)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)


@pytest.mark.parametrize("use", USES)
def test_it_answers_like_that_of_typing(use: Callable[[Any], Any]) -> None:
    assert _outcome(use, Ours) == _outcome(use, Typings)


@pytest.mark.parametrize("values", [((1, "a"), {}), ((1,), {"name": "a", "most_s": 2.0}), ((), {"name": "a", "id": 1})])
def test_its_first_values_are_like_those_that_a_compiled_constructor_makes(values: Any) -> None:
    class Fresh(NamedTuple):
        id: int
        name: str
        tags: tuple[str, ...] = ()
        most_s: float | None = None

    given, named = values
    made = [Fresh(*given, **named) for _ in range(50)]
    assert {type(value) for value in made} == {Fresh}
    assert {tuple(value) for value in made} == {tuple(Typings(*given, **named))}


def test_one_that_is_made_wrongly_is_refused_whether_it_is_the_first_or_not() -> None:
    class Fresh(NamedTuple):
        id: int
        name: str = ""

    for _ in range(3):
        for given, named in (((), {}), ((1, "a", 2), {}), ((1,), {"id": 2}), ((1,), {"no_such": 2})):
            with pytest.raises(TypeError):
                Fresh(*given, **named)  # type: ignore[arg-type]
        assert Fresh(1) == (1, "")


def test_a_class_of_one_field_of_none_and_one_with_more_methods() -> None:
    assert (Single(3), Single(only=3).only, Empty()) == ((3,), 3, ())
    assert (Derived(3).doubled(), type(Derived(3)._replace(only=4)), Derived(4) == Single(4)) == (6, Derived, True)


def test_a_field_that_does_not_exist_cannot_be_replaced() -> None:
    with pytest.raises(ValueError, match="no_such"):  # typing's raises a TypeError since Python 3.13
        Ours(1, "a")._replace(no_such=1)  # type: ignore[call-arg]


def test_a_field_without_a_default_after_one_that_has_one_is_an_error() -> None:
    with pytest.raises(TypeError, match="first, second"):

        class Wrong(NamedTuple):
            first: int = 0
            second: int  # type: ignore[misc]
