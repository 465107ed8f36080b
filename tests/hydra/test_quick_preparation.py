"""Copying, writing and parsing quickly gives what OmegaConf and Hydra themselves give, to the letter."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import omegaconf.base
import pytest
from hydra import compose, initialize
from hydra._internal.callbacks import Callbacks
from hydra.conf import HydraConf
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import run_job
from hydra.errors import HydraException
from hydra.types import HydraContext
from hydra.version import VersionBase
from hypothesis import given, settings
from hypothesis import strategies as some
from omegaconf import MISSING, AnyNode, DictConfig, ListConfig, OmegaConf, grammar_parser
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import GrammarParseError, InterpolationKeyError

from duckrow.hydra.runs import quick_copies, quick_interpolations, quick_overrides, quick_yaml
from duckrow.hydra.runs.launch import _resolvers_of_hydra
from duckrow.hydra.runs.script import args_parser, parse_ahead
from tests.hydra.conftest import Application

LONG = "a rather long text that has to be broken into several lines by anybody who writes it as YAML " * 2


class Kind(Enum):
    SGD = 1
    ADAM = 2


@dataclass
class Optimizer:
    lr: float = 0.1
    kind: Kind = Kind.SGD
    betas: list[float] = field(default_factory=lambda: [0.9, 0.99])
    either: int | str = 3
    path: Path | None = Path("/tmp/x")
    missing: int = MISSING


def of_all_kinds() -> DictConfig:
    config = OmegaConf.create(
        {
            "optimizer": OmegaConf.structured(Optimizer),
            "plain": {"a": 1, "b": [1, {"c": None}, "${optimizer.lr}"], 3: True, 2.5: b"bytes", Kind.ADAM: "x"},
            "nothing": None,
            "missing": "???",
            "interpolation": "${plain.a}",
            "empty": {"mapping": {}, "list": []},
        }
    )
    OmegaConf.set_readonly(config.plain, True)
    OmegaConf.set_struct(config.optimizer, True)
    assert config.plain.b[2] == 0.1  # its flags are known now
    return config


def everything_in(node: Any) -> Any:
    """What a node consists of, except for what it only remembers, and its parent."""
    if not hasattr(node, "_metadata"):
        return node
    content = node.__dict__.get("_content", node.__dict__.get("_val"))
    if isinstance(content, dict):
        content = {key: everything_in(value) for key, value in content.items()}
    elif isinstance(content, list):
        content = list(map(everything_in, content))
    elif hasattr(content, "_metadata"):
        content = everything_in(content)  # of a union
    return type(node), vars(node._metadata), content


def parents_fit(node: Any) -> bool:
    children = node.__dict__.get("_content")
    children = children.values() if isinstance(children, dict) else children if isinstance(children, list) else []
    return all(child._get_parent() is node and parents_fit(child) for child in children)


def test_a_copy_has_everything_that_the_original_has() -> None:
    config = of_all_kinds()
    ours, usual = quick_copies.copied(config, {}), copy.deepcopy(config)
    assert everything_in(ours) == everything_in(usual) == everything_in(config)
    assert parents_fit(ours)
    assert OmegaConf.is_readonly(ours.plain)
    assert OmegaConf.is_struct(ours.optimizer)


def test_a_copy_shares_nothing_that_can_be_changed_with_its_original() -> None:
    config = of_all_kinds()
    before, ours = everything_in(copy.deepcopy(config)), quick_copies.copied(config, {})
    OmegaConf.set_readonly(ours.plain, False)
    ours.plain.b[1].c = 5
    ours.optimizer.betas.append(1.0)
    ours.optimizer.lr = 7
    ours.new = 1
    OmegaConf.set_struct(ours.empty, True)
    ours._metadata.resolver_cache["now"]["x"] = 1
    assert everything_in(config) == before


def test_a_part_keeps_its_parent_and_what_was_resolved_before() -> None:
    config = of_all_kinds()
    config._metadata.resolver_cache["now"]["x"] = ["then"]
    ours = quick_copies.copied(config, {})
    assert ours._metadata.resolver_cache == {"now": {"x": ["then"]}}
    assert ours._metadata.resolver_cache["now"]["x"] is not config._metadata.resolver_cache["now"]["x"]
    part = quick_copies.copied(config.plain, {})
    assert part._get_parent() is config
    assert part.b[2] == 0.1


@pytest.mark.parametrize(
    "keys", ["plain", ["optimizer", "plain"], ["plain", "missing"], [], "nothing", ["plain", "none"]]
)
def test_a_copy_of_some_parts_is_the_one_that_omegaconf_makes(keys: str | list[str]) -> None:
    config = of_all_kinds()
    ours, usual = quick_copies.masked_copy(config, keys), quick_copies._usual_masked_copy(config, keys)
    assert everything_in(ours) == everything_in(usual)
    assert parents_fit(ours)
    assert everything_in(config) == everything_in(of_all_kinds())
    if "plain" in keys:
        ours.plain._set_parent(config)  # as Hydra does
        assert OmegaConf.is_readonly(ours.plain)
        assert ours.plain.b[2] == 0.1


class Special(DictConfig):
    """A class of a user."""


@pytest.fixture(autouse=True)
def _no_version_of_hydra_is_left_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """`initialize` chooses one for the whole process, and Hydra's own suites expect the oldest."""
    monkeypatch.setattr(VersionBase.instance(), "version_base", VersionBase.instance().version_base)


def test_the_copies_of_a_whole_process_can_be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (DictConfig, ListConfig, *quick_copies._VALUES):
        monkeypatch.setattr(kind, "__deepcopy__", kind.__deepcopy__)  # put back afterwards
    monkeypatch.setattr(OmegaConf, "masked_copy", OmegaConf.masked_copy)
    config = of_all_kinds()
    usual, special = copy.deepcopy(config), copy.deepcopy(Special({"a": 1}))
    quick_copies.copy_quickly()
    quick_copies.copy_quickly()
    assert DictConfig.__deepcopy__.__module__ == quick_copies.__name__
    assert everything_in(copy.deepcopy(config)) == everything_in(usual)
    assert everything_in(copy.deepcopy(Special({"a": 1}))) == everything_in(special)
    twice = copy.deepcopy([config, config])
    assert twice[0] is twice[1]
    assert OmegaConf.masked_copy is quick_copies.masked_copy


def test_hydra_gives_a_function_the_same_config_when_copies_are_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> list[Any]:
        with initialize(version_base=None, config_path=None):
            folder = f"hydra.run.dir={tmp_path}/${{hydra:job.num}}"  # read while Hydra prepares the run
            words = ["+a.b=1", "+c=${a.b}", folder, "hydra.job.num=0", "hydra.job.id=x"]
            config = compose(overrides=words, return_hydra_config=True)
        copies: list[Any] = []
        context, function = HydraContext(None, Callbacks()), lambda config: copies.append(copy.deepcopy(config))  # type: ignore[arg-type]
        keys = {"job_dir_key": "hydra.run.dir", "job_subdir_key": None, "configure_logging": False}
        returned = run_job(function, config, hydra_context=context, **keys)  # type: ignore[arg-type]
        copies += [returned.cfg, returned.hydra_cfg, config, copy.deepcopy(config)]
        return list(map(everything_in, copies))

    now = Mock(now=Mock(return_value=datetime(2026, 1, 1)))
    monkeypatch.setattr("hydra.core.utils.datetime", now)  # which configs remember, to the second
    usual = run()
    for kind in quick_copies._CONTAINERS + quick_copies._VALUES:
        monkeypatch.setattr(kind, "__deepcopy__", kind.__deepcopy__)
    monkeypatch.setattr(OmegaConf, "masked_copy", OmegaConf.masked_copy)
    quick_copies.copy_quickly()
    emptied = Mock(side_effect=quick_copies._with_empty_hydra)
    monkeypatch.setattr(quick_copies, "_with_empty_hydra", emptied)
    same = Mock(side_effect=quick_copies._same)
    monkeypatch.setattr(quick_copies, "_same", same)
    assert run() == usual
    emptied.assert_called_once()
    same.assert_called_once()  # of the two copies of Hydra's part, the one that is dropped at once


def test_a_config_whose_folder_is_known_is_copied_for_hydra() -> None:
    with initialize(version_base=None, config_path=None):
        config = compose(overrides=["hydra.runtime.output_dir=/x"], return_hydra_config=True)
    assert not quick_copies._copies_again(config.__dict__["_content"], run_job.__code__)
    config.hydra.runtime.output_dir = "???"
    assert quick_copies._copies_again(config.__dict__["_content"], run_job.__code__)
    assert not quick_copies._copies_again(config.__dict__["_content"], compose.__code__)


def test_hydras_own_resolvers_are_found_without_registering_them() -> None:
    before = dict(BaseContainer._resolvers)
    found = _resolvers_of_hydra()
    assert {"hydra", "now"} <= found.keys()
    assert BaseContainer._resolvers == before


def test_an_interpolation_is_parsed_once_and_resolved_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(omegaconf.base, "parse", grammar_parser.parse)  # put back afterwards
    quick_interpolations.parse_interpolations_once()
    quick_interpolations.parse_interpolations_once()
    for number in range(3):
        config = OmegaConf.create({"a": number, "b": "${a}/${c.d}.log", "c": {"d": f"x{number}", "e": "${.d}"}})
        assert (config.b, config.c.e) == (f"{number}/x{number}.log", f"x{number}")
    parsed: Any = omegaconf.base.parse  # type: ignore[attr-defined]
    assert parsed.cache_info().misses == 2
    for _ in range(2):
        with pytest.raises(InterpolationKeyError, match="'nowhere'"):
            assert OmegaConf.create({"a": "${nowhere}"}).a
        with pytest.raises(GrammarParseError):
            assert DictConfig({"a": AnyNode("${")}).a


texts = (
    some.text(max_size=200)
    | some.sampled_from(
        [
            LONG,
            "on",
            "1e3",
            "null",
            "~",
            "- a",
            "a: b",
            "#",
            "'",
            "é\n",
            " x ",
            "0",
            "12",
            "007",
            "+1",
            "Infinity",
            "Y",
            "/a",
        ]
    )
    | some.from_regex(quick_yaml._WORD, fullmatch=True)
    | some.from_regex(quick_yaml._WHOLE, fullmatch=True)
)
leaves = some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | texts
values = some.recursive(
    leaves,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(texts | some.integers(), inner, max_size=4),
    max_leaves=12,
)
configs = some.dictionaries(texts | some.integers() | some.sampled_from(["hydra"]), values, max_size=4)


@pytest.mark.no_cover
@settings(max_examples=30)
@given(configs, some.dictionaries(some.sampled_from(["job", "runtime", "sweep", "overrides", "help"]), values))
def test_every_config_is_written_as_omegaconf_writes_it(content: dict[Any, Any], hydra: dict[str, Any]) -> None:
    for each in (content, {"hydra": hydra}, {**content, "hydra": hydra}):
        config = OmegaConf.create(without_interpolations(each))
        usual = quick_yaml._usual(config)
        assert quick_yaml.quick_yaml(config) == usual
        assert quick_yaml.quick_yaml(config) == usual  # now it is known


def without_interpolations(value: Any) -> Any:
    """`${` in a text would have to be a correct interpolation, and `???` says that a value is missing."""
    if isinstance(value, dict):
        return {without_interpolations(key): without_interpolations(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(without_interpolations, value))
    return value.replace("${", "$").replace("???", "??") if isinstance(value, str) else value


def test_hydras_own_settings_are_written_as_omegaconf_writes_them() -> None:
    config = OmegaConf.create({"hydra": OmegaConf.structured(HydraConf), "model": {"text": LONG}})
    for number in range(3):
        config.hydra.job.num = number
        config.hydra.runtime.output_dir = f"/runs/{number}/{LONG}"
        config.hydra.overrides.task = [f"+x={number}", f"text='{LONG}'"]
        assert quick_yaml.quick_yaml(config) == quick_yaml._usual(config)


PLAIN = ["adam", "+x=1", "++a.b=0.5", "/runs/3", "a,b", "x=a@b", "_", "a-b", "+a", "a" * 101, "3", "0", "12"]
NOT_PLAIN = [
    "yes",
    "No",
    "Y",
    "null",
    "NaN",
    "inf",
    "+inf",
    "+Infinity",
    "01",
    "+1",
    "a: b",
    "a b",
    "a#",
    "",
    "'a'",
    "-",
]
NOT_PLAIN += ["é", "1.5", "a" * 102, "a\n", "=", "@a", "~", "<<", "++", "1e3", "0x1", "12:30"]
OTHERS = [1, -1, 0, True, False, None, 0.5, -2.25, 1e-7, 1e30, float("inf"), 123456789.125, 10**30]


@pytest.mark.parametrize("value", [*PLAIN, *NOT_PLAIN, *OTHERS])
def test_a_value_is_written_as_omegaconf_writes_it(value: Any) -> None:
    for content in (
        {"key": value},
        {"list": [value, "x"]},
        {"hydra": {"job": {"name": value}, "list": [value]}},
        [value],
    ):
        config = OmegaConf.create(content)
        assert quick_yaml.quick_yaml(config) == quick_yaml._usual(config)
    if isinstance(value, str):
        config = OmegaConf.create({value: 1})
        assert quick_yaml.quick_yaml(config) == quick_yaml._usual(config)
        assert (quick_yaml._scalar(value) is not None) == (value in PLAIN)


@pytest.mark.parametrize(
    "write",
    [
        lambda to_yaml: to_yaml(of_all_kinds()),
        lambda to_yaml: to_yaml(OmegaConf.create({"b": 1, "a": "${b}"}), resolve=True, sort_keys=True),
        lambda to_yaml: to_yaml(OmegaConf.create({"b": 1, "a": "${b}"}), resolve=True),
        lambda to_yaml: to_yaml(OmegaConf.create({1: "a"})) + to_yaml(OmegaConf.create({True: "a"})),
        lambda to_yaml: to_yaml(OmegaConf.create([1, {"a": 2}])),
        lambda to_yaml: to_yaml(OmegaConf.create({})),
        lambda to_yaml: to_yaml(DictConfig(None)),
        lambda to_yaml: to_yaml(Optimizer),
    ],
)
def test_whatever_can_be_written_is_written_in_the_same_way(write: Callable[[Any], str]) -> None:
    assert write(quick_yaml.quick_yaml) == write(quick_yaml._usual)


def test_an_omegaconf_whose_insides_are_not_known_does_everything_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (quick_copies, quick_interpolations, quick_yaml):
        monkeypatch.setattr(module, "omegaconf_version", "2.4.0")
    monkeypatch.setattr(omegaconf.base, "parse", grammar_parser.parse)
    before = DictConfig.__deepcopy__, OmegaConf.masked_copy, OmegaConf.to_yaml
    quick_copies.copy_quickly()
    quick_interpolations.parse_interpolations_once()
    quick_yaml.write_yaml_quickly()
    assert (DictConfig.__deepcopy__, OmegaConf.masked_copy, OmegaConf.to_yaml) == before
    assert omegaconf.base.parse is grammar_parser.parse  # type: ignore[attr-defined]
    assert quick_copies.quick_copy(of_all_kinds()) == of_all_kinds()


SIMPLE = [
    "x=1",
    "+x=-0",
    "++a.b_1.c=+10",
    "x=0.1",
    "x=-12.50",
    "x=adam",
    "x=_a",
    "model.lr=0.001",
    "null=true_",
    "_=9",
    "x=1.0",
]
OTHER = [
    "x=01",
    "x=1_000",
    "x=1e-3",
    "x=.5",
    "x=1.",
    "x=True",
    "x=NULL",
    "x=inf",
    "x=nan",
    "x=a-b",
    "x=a b",
    "x=",
    "x='1'",
]
OTHER += [
    "x=[1]",
    "x={a: 1}",
    "~x",
    "~x=1",
    "x=${y}",
    "x=a,b",
    "m/n=o",
    "m@n=o",
    "x=1.5.2",
    "x= 1",
    "x=1 ",
    "=1",
    "a.0=1",
]


@pytest.mark.parametrize("override", [*SIMPLE, *OTHER])
def test_an_override_is_parsed_as_hydra_parses_it(override: str) -> None:
    [usual] = OverridesParser.create().parse_overrides([override])
    [ours] = quick_overrides.parse_overrides([override])
    assert repr(ours) == repr(usual)  # NaN is not equal to itself
    assert type(ours._value) is type(usual._value)
    assert (quick_overrides._simple(override) is not None) == (override in SIMPLE)


@pytest.mark.no_cover
@settings(max_examples=200)
@given(some.from_regex(quick_overrides._SIMPLE, fullmatch=True))
def test_every_simple_override_is_parsed_as_hydra_parses_it(override: str) -> None:
    assert quick_overrides.parse_overrides([override]) == OverridesParser.create().parse_overrides([override])


@pytest.mark.parametrize("wrong", ["x", "x=é", "x=[", "x=1)", "1x=", "+++x=1", "x\n=1"])
def test_an_override_that_hydra_refuses_is_refused_in_its_words(wrong: str) -> None:
    said = []
    for parse in (OverridesParser.create().parse_overrides, quick_overrides.parse_overrides):
        with pytest.raises(HydraException) as caught:
            parse(["a=1", wrong])
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_the_arguments_that_all_runs_have_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    args_parser.cache_clear()
    parser, typed = args_parser(), ["app.py", "--multirun", "x=1,2"]
    monkeypatch.setattr("sys.argv", ["another"])
    parse_ahead(("app.py", "", typed, b""))
    assert sys.argv == ["another"]
    assert parser.parse_args().overrides == []
    monkeypatch.setattr("sys.argv", typed)
    monkeypatch.setattr(parser._parser, "parse_args", None)  # it is not asked again
    assert (parser.parse_args().multirun, parser.parse_args().overrides) == (True, ["x=1,2"])


def test_arguments_that_are_not_hydras_are_left_to_the_script(capfd: pytest.CaptureFixture[str]) -> None:
    parse_ahead(("app.py", "", ["app.py", "--own-option", "3"], b""))
    assert args_parser().parse_args is not None


def test_a_script_may_take_its_own_arguments_before_hydra(app: Application) -> None:
    app.write("note(cfg.x)")
    script = app.folder / "app.py"
    script.write_text(script.read_text().replace("    main()\n", "    sys.argv.remove('--own')\n    main()\n"))
    app("--own", "x=1,2")
    assert sorted(app.said()) == ["1", "2"]


def test_what_runs_share_is_read_once_by_their_preloaded_parent(app: Application) -> None:
    """If the rehearsal fails, each run reads it for itself, and nobody notices."""
    app.write("note(len(sys.modules['duckrow.hydra.runs.launch']._shared))")
    app("x=1,2")
    assert app.said() == ["1", "1"]
