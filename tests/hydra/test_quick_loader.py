"""Composing quickly gives what Hydra itself composes, to the letter."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra.core.config_store import ConfigStore
from hydra.core.singleton import Singleton
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf

from duckrow.hydra.runs.quick_loader import QuickLoader, quick_loader
from tests.conftest import not_measured


class Kind(Enum):
    SGD = 1
    ADAM = 2


@dataclass
class Typed:
    whole: int = 1
    part: float = 0.5
    text: str = "a"
    kind: Kind = Kind.SGD
    inner: dict[str, int] = field(default_factory=lambda: {"a": 1})
    either: int | str = 1


CONFIG = """
defaults:
  - typed: typed
  - model: convnet
  - optional data@train_data: small
  - _self_
x: 1
lr: 0.1
name: ${model.name}-${lr}
nested: {a: {b: 1}, numbers: [1, 2]}
stamp: ${now:%f}
"""
FILES = {
    "config.yaml": CONFIG,
    "model/convnet.yaml": "name: convnet\nlayers: 3\n",
    "model/transformer.yaml": "defaults:\n  - block: wide\nname: transformer\nheads: 8\n",
    "model/block/wide.yaml": "width: 512\n",
    "model/block/slim.yaml": "width: 64\n",
    "data/small.yaml": "size: 10\n",
    "data/large.yaml": "size: 1000\n",
}


# If measured, Hydra takes twice as long. Other tests reach the same lines.
no_cover = pytest.mark.no_cover


class HydrasOwn:
    """Hydra's own loader, and the config of the whole multirun: made once, since nobody changes them."""

    def __init__(self, folder: Path) -> None:
        for name, text in FILES.items():
            path = folder / "conf" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        ConfigStore.instance().store(group="typed", name="typed", node=Typed)
        hydra = Hydra.create_main_hydra_file_or_module(str(folder / "app.py"), None, "conf", "app")
        self.loader = hydra.config_loader
        self.master = hydra.compose_config("config", ["x=1,2", "hydra.job.name=other"], RunMode.MULTIRUN)
        assert self.master.stamp  # from now on it is known, and the same for all runs
        self.composes = cache(self._composes)

    def _composes(self, *overrides: str) -> tuple[Any, str]:
        config = self.loader.load_sweep_config(self.master, list(overrides))
        return config, written(config)


def written(config: DictConfig) -> str:
    """All that it has, in order and with its types. Its YAML, which is made of just this, takes ten times as long."""
    return repr(OmegaConf.to_container(config, resolve=False))


class Loaders:
    """Hydra's own, and one of ours that knows nothing yet."""

    def __init__(self, hydras: HydrasOwn) -> None:
        self.own, self.master = hydras.loader, hydras.master
        self.quick = quick_loader(self.own)
        self._hydras = hydras
        self._resolved: set[tuple[str, ...]] = set()

    def compare(self, overrides: list[str]) -> None:
        self._compare(self.quick.load_sweep_config, overrides)

    def compare_only_one(self, overrides: list[str]) -> None:
        """As a run composes its own, in a process that has inherited what is known."""
        self._compare(pickle.loads(cloudpickle.dumps(self.quick)).load_only_config, overrides)

    def _compare(self, load: Callable[[DictConfig, list[str]], DictConfig], overrides: list[str]) -> None:
        ours = load(self.master, list(overrides))
        with not_measured():  # all that follows is Hydra's
            hydras, text = self._hydras.composes(*overrides)
            assert written(ours) == text
            assert ours.stamp == hydras.stamp == self.master.stamp
            if tuple(overrides) not in self._resolved:  # what has the same text and values has the same meaning
                self._resolved.add(tuple(overrides))
                assert ours == hydras


@pytest.fixture(scope="module")
def hydras_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HydrasOwn]:
    before = copy.deepcopy(Singleton.get_state())
    yield HydrasOwn(tmp_path_factory.mktemp("app"))
    Singleton.set_state(before)


@pytest.fixture
def loaders(hydras_own: HydrasOwn) -> Loaders:
    return Loaders(hydras_own)


@no_cover
@pytest.mark.parametrize(
    "runs",
    [
        [["x=1"], ["x=2"], ["x=3"]],
        [["x=1", "lr=0.2"], ["x=2", "lr=0.3"], ["lr=0.3", "x=2"]],
        [
            ["x=1", "model=convnet"],
            ["x=2", "model=transformer"],
            ["x=3", "model=transformer"],
            ["x=3", "model=convnet"],
        ],
        [["model=transformer", "model.heads=4"], ["model=transformer", "model.heads=16"]],
        [["model=transformer", "model/block=slim", "x=1"], ["model=transformer", "model/block=wide", "x=2"]],
        [["data@train_data=large", "x=5"], ["data@train_data=small", "x=6"], ["~train_data", "x=7"]],
        [["+new=1"], ["+new=2"], ["+new={a: 1}"], ["++new=3"], ["++x=3"]],
        [["~nested.a", "x=1"], ["~nested.a", "x=2"]],
        [["model={name: mine}"], ["model={name: yours}"], ["model=transformer"], ["model={name: ours}", "x=1"]],
        [["nested.numbers=[3]"], ["nested.a.b=null"], ["nested.a={b: 7}"], ["nested.a.b='${x}'"], ["x='a,b=c'"]],
        [["name=${model.name}"], ["name=plain"], ["name=''"]],
        [["hydra.job.name=third", "x=1"], ["hydra.job.name=fourth", "x=2"]],
        [[], ["x=1"], []],
    ],
)
def test_the_config_of_a_run_is_the_one_that_hydra_composes(loaders: Loaders, runs: list[list[str]]) -> None:
    for overrides in [*runs, *runs]:  # the second time everything is known
        loaders.compare(overrides)
    for overrides in runs:
        loaders.compare_only_one(overrides)


@no_cover
@pytest.mark.parametrize(
    "wrong",
    ["y=2", "+x=2", "model=none", "lr.deep=1", "~nothing", "x=1,2", "nested.a.c=1", "x=[", "data@elsewhere=large"],
)
def test_what_hydra_refuses_is_refused_in_the_same_words(loaders: Loaders, wrong: str) -> None:
    loaders.compare(["x=1", "lr=2"])
    said = []
    for loader in (loaders.own, loaders.quick, loaders.quick):
        with pytest.raises((HydraException, OSError)) as caught:
            loader.load_sweep_config(loaders.master, [wrong, "lr=1"])
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1] == said[2]


class Checks(Sweeper):
    """A sweeper that checks its runs before it launches them, as all of Hydra's do."""

    def __init__(self, loaders: Loaders) -> None:
        self.config = loaders.master
        self.hydra_context = HydraContext(config_loader=loaders.quick, callbacks=Callbacks())

    def setup(self, **_: Any) -> None: ...

    def sweep(self, arguments: list[str]) -> None: ...


@no_cover
@pytest.mark.parametrize(
    ("runs", "composed"),
    [
        ([["x=1"], ["x=2"], ["x=3"], ["x=0.5"], ["x=0.25"], ["x=word"]], 3),  # one for each type of value
        ([["lr=1", "model=convnet"], ["lr=2", "model=convnet"], ["lr=2", "model=transformer"]], 2),
        ([["+new=1"], ["+new=2"], ["++nested.a.c=1"], ["++nested.a.c=2"]], 2),
        ([["x=[1]"], ["x=[2]"], ["x=${lr}"], ["x=1e-3"]], 4),  # more than numbers and words
        ([["typed.whole=1"], ["typed.whole=2"], ["typed.inner.a=1"], ["typed.inner.a=2"]], 2),
        ([["typed.text=1"], ["typed.text=2"], ["typed.text=b"], ["typed.text=c"]], 2),
        ([["typed.kind=SGD"], ["typed.kind=ADAM"], ["typed.either=1"], ["typed.either=2"]], 4),  # the value decides
    ],
)
def test_runs_that_differ_only_in_simple_values_are_checked_once(
    loaders: Loaders, monkeypatch: pytest.MonkeyPatch, runs: list[list[str]], composed: int
) -> None:
    put_in: list[list[str]] = []
    usual = QuickLoader._put_in

    def note_and_put_in(loader: QuickLoader, config: DictConfig, overrides: list[str], values: frozenset[int]) -> None:
        put_in.append(overrides)
        usual(loader, config, overrides, values)

    monkeypatch.setattr(QuickLoader, "_put_in", note_and_put_in)
    Checks(loaders).validate_batch_is_legal(runs)
    assert len(put_in) == composed
    for overrides in runs:
        loaders.compare(overrides)  # the config itself is composed as always


@no_cover
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (["typed.whole=1"], ["typed.whole=word"]),
        (["typed.whole=1"], ["typed.whole=1.5"]),
        (["typed.part=1.5"], ["typed.part=word"]),
        (["typed.kind=SGD"], ["typed.kind=ADAMS"]),
        (["x=1"], ["x=1,2"]),
        (["+new=1"], ["new=1"]),
        (["+new=1"], ["+x=1"]),
        (["model=convnet", "lr=1"], ["model=none", "lr=1"]),
        (["lr=1"], ["lr.deep=1"]),
    ],
)
def test_a_run_that_hydra_refuses_is_refused_after_any_that_it_accepts(
    loaders: Loaders, right: list[str], wrong: list[str]
) -> None:
    checks, said = Checks(loaders), []
    checks.validate_batch_is_legal([right, right])
    for check in (
        lambda: loaders.own.load_sweep_config(loaders.master, wrong),
        partial(checks.validate_batch_is_legal, [wrong]),
    ):
        with pytest.raises(HydraException) as caught:
            check()
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]


def test_a_run_cannot_change_the_config_of_another(loaders: Loaders) -> None:
    loaders.compare(["x=1"])
    config = loaders.quick.load_sweep_config(loaders.master, ["x=2"])
    config.nested.a.b = 100
    config.hydra.job.name = "changed"
    loaders.compare(["x=2"])
    loaders.quick.load_only_config(loaders.master, ["x=3"]).nested.a.b = 100
    loaders.compare(["x=2"])


def test_what_is_known_goes_along_to_another_process(loaders: Loaders) -> None:
    loaders.compare(["x=1"])
    loaders.quick = pickle.loads(cloudpickle.dumps(loaders.quick))
    loaders.compare(["x=2"])


def test_the_rest_is_left_to_hydra(loaders: Loaders) -> None:
    assert isinstance(loaders.quick, QuickLoader)
    assert loaders.quick.get_group_options("model") == loaders.own.get_group_options("model")
    assert quick_loader(loaders.quick) is loaders.quick


def test_a_hydra_whose_insides_are_not_known_composes_for_itself(
    loaders: Loaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duckrow.hydra.runs.quick_loader.hydra_version", "1.4.0")
    assert quick_loader(loaders.own) is loaders.own
