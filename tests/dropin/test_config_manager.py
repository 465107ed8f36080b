"""The configuration of GPU Task Scheduler: its keys, their defaults, combinations and the names of folders."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest

from duckrow.dropin.gpu_task_scheduler.config_manager import ConfigManager

GPU = {"gpu": ["0", "1", "2"]}
# As it stands in the document.
CONFIG: dict[str, Any] = {
    "scheduler_config": {"gpu": ["0", "1", "2"]},
    "global_config": {"num_run": 5, "num_epoch": 200},
    "test_config": [
        {"method": ["GAN", "ALI"], "num_packing": [1], "num_zmode": [1]},
        {"method": ["WGAN"], "num_packing": [3], "num_zmode": [1, 2]},
    ],
}
LONG = "a-value-of-thirty-characters-and-"


def names_of(*grids: dict[str, Any], **settings: Any) -> list[str]:
    manager = ConfigManager({"scheduler_config": {**GPU, **settings}, "test_config": list(grids)})
    return [manager.get_next_config()["test_config_string"] for _ in range(manager.get_num_left_config())]


def of_gpus(*gpus: Any) -> ConfigManager:
    return ConfigManager({"scheduler_config": {"gpu": list(gpus)}})


# -- what it returns ------------------------------------------------------------------------------------------------


def test_every_setting_has_the_default_of_the_document() -> None:
    assert ConfigManager(CONFIG).get_all_scheduler_config() == {
        "gpu": ["0", "1", "2"],
        "result_root_folder": os.path.abspath("results"),
        "force_rerun": False,
        "test_config_string_indicator": "-",
        "test_config_string_separator": ",",
        "test_config_string_inst_separator": "+",
        "temp_folder": os.path.abspath("temp"),
        "log_file": "worker.log",
        "scheduler_log_file_path": "scheduler.log",
        "config_string_value_maxlen": 30,
    }


def test_combinations_are_products_one_dictionary_after_the_other() -> None:
    manager = ConfigManager(CONFIG)
    assert manager.get_all_global_config() == {"num_run": 5, "num_epoch": 200}
    assert manager.get_all_test_config() == [
        {"method": "GAN", "num_packing": 1, "num_zmode": 1},
        {"method": "ALI", "num_packing": 1, "num_zmode": 1},
        {"method": "WGAN", "num_packing": 3, "num_zmode": 1},
        {"method": "WGAN", "num_packing": 3, "num_zmode": 2},
    ]


def test_all_combinations_are_one_string() -> None:
    assert ConfigManager(CONFIG).get_all_test_config_in_string() == (
        "method-GAN,num_packing-1,num_zmode-1,+method-ALI,num_packing-1,num_zmode-1,"
        "+method-WGAN,num_packing-3,num_zmode-1,+method-WGAN,num_packing-3,num_zmode-2,"
    )


def test_the_next_combination_comes_with_its_name_and_folder_until_there_is_none() -> None:
    manager = ConfigManager(CONFIG)
    assert manager.get_num_left_config() == 4
    assert manager.get_next_config() == {
        "config": {"num_run": 5, "num_epoch": 200, "method": "GAN", "num_packing": 1, "num_zmode": 1},
        "test_config_string": "method-GAN,num_packing-1,num_zmode-1,",
        "work_dir": os.path.abspath("results/method-GAN,num_packing-1,num_zmode-1,"),
    }
    assert [manager.get_next_config()["config"]["method"] for _ in range(3)] == ["ALI", "WGAN", "WGAN"]
    assert manager.get_num_left_config() == 0
    assert [manager.get_next_config() for _ in range(2)] == [{"config": None}] * 2


def test_without_test_config_there_is_one_empty_combination_and_an_empty_list_has_none() -> None:
    manager = ConfigManager({"scheduler_config": GPU})
    assert manager.get_all_test_config() == [{}]
    assert manager.get_next_config() == {
        "config": {},
        "test_config_string": "",
        "work_dir": os.path.abspath("results") + "/",
    }
    assert ConfigManager({"scheduler_config": GPU, "test_config": []}).get_num_left_config() == 0
    assert names_of({"x": []}) == []


@pytest.mark.parametrize(
    ("gpus", "slots"),
    [
        (["0", "1"], ["0", "1"]),
        ([["0", "1"], ["2", "3"]], ["0,1", "2,3"]),
        ([["0", "1"], "2"], ["0,1", "2"]),
        (["0", "0"], ["0", "0"]),
        (["0,1", " 2"], ["0,1", "2"]),
        ([("0", "1")], ["0,1"]),
        ([""], [""]),
    ],
)
def test_each_gpu_or_list_of_gpus_is_a_slot(gpus: list[Any], slots: list[str]) -> None:
    manager = of_gpus(*gpus)
    assert manager.get_gpu_envs() == [{"name": f"gpu{slot}", "env": {"CUDA_VISIBLE_DEVICES": slot}} for slot in slots]
    assert manager.get_all_scheduler_config()["gpu"] == slots
    assert manager.get_num_gpu() == len(slots)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "no scheduler_config"),
        ({"scheduler_config": {}}, "has no gpu"),
        ({"scheduler_config": {"gpu": []}}, "at least one GPU"),
        ({"scheduler_config": {"gpu": "0"}}, "must be a list"),
        ({"scheduler_config": {"gpu": [0]}}, "gpu 0 is neither a string nor a list of strings"),
        ({"scheduler_config": {"gpu": [["0", 1]]}}, "neither a string nor a list of strings"),
        ({"scheduler_config": {"gpu": ["0", []]}}, "neither a string nor a list of strings"),
        ({"scheduler_config": GPU, "test_config": {"x": [1]}}, "a list of dictionaries"),
        ({"scheduler_config": GPU, "test_config": [{"x": "GAN"}]}, "x needs a list"),
        ({"scheduler_config": GPU, "test_config": [{"x": 1}]}, r"such as \[1\]"),
    ],
)
def test_a_wrong_configuration_is_a_value_error(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ConfigManager(config)


def test_values_that_cannot_be_copied_are_no_trouble_to_whoever_only_looks() -> None:
    lock = threading.Lock()
    manager = ConfigManager({"scheduler_config": GPU, "global_config": {"lock": lock}, "test_config": [{"x": [lock]}]})
    assert manager.get_next_config()["config"] == {"lock": lock, "x": lock}


def test_a_combination_that_is_changed_changes_no_other() -> None:
    layers = [1]
    manager = ConfigManager(
        {"scheduler_config": GPU, "global_config": {"run": 5, "sizes": [8]}, "test_config": [{"layers": [layers] * 2}]}
    )
    changed = manager.get_next_config()["config"]
    changed["run"] = 6
    changed["sizes"].append(9)
    changed["layers"].append(9)
    assert manager.get_next_config()["config"] == {"run": 5, "sizes": [8], "layers": [1]}
    assert layers == [1]


def test_a_folder_that_was_named_stays_as_it_was_named_and_is_made_when_asked_for(tmp_path: Path) -> None:
    config = {"scheduler_config": {**GPU, "result_root_folder": f"{tmp_path}/out"}, "test_config": [{"x": [1, 2]}]}
    manager = ConfigManager(config)
    assert manager.get_next_config() == {
        "config": {"x": 1},
        "test_config_string": "x-1,",
        "work_dir": f"{tmp_path}/out/x-1,",
    }
    assert not (tmp_path / "out").exists()
    assert os.path.isdir(manager.get_next_config(create_dir=True)["work_dir"])
    assert manager.get_next_config(create_dir=True) == {"config": None}
    assert (
        ConfigManager({"scheduler_config": {**GPU, "result_root_folder": "out"}}).get_next_config()["work_dir"]
        == "out/"
    )


# -- the names of folders -------------------------------------------------------------------------------------------


def test_a_name_has_the_keys_in_alphabetical_order_and_a_separator_at_its_end() -> None:
    assert names_of({"b": [1], "a": [True], "c": [None]}) == ["a-True,b-1,c-None,"]


def test_indicator_separator_and_longest_value_are_as_chosen() -> None:
    chosen = {
        "test_config_string_indicator": "=",
        "test_config_string_separator": "__",
        "config_string_value_maxlen": 4,
        "test_config_string_inst_separator": " | ",
    }
    assert names_of({"name": ["abcdef", "x"], "n": [1]}, **chosen) == ["n=1__name=abcd__", "n=1__name=x__"]
    manager = ConfigManager({"scheduler_config": {**GPU, **chosen}, "test_config": [{"n": [1, 2]}]})
    assert manager.get_all_test_config_in_string() == "n=1__ | n=2__"


def test_blanks_are_removed_and_long_values_cut() -> None:
    assert names_of({"x": [[1, 2], "a b"]}) == ["x-[1,2],", "x-ab,"]
    assert names_of({"x": ["y" * 31]}) == [f"x-{'y' * 30},"]


@pytest.mark.parametrize(
    "values",
    [
        [f"{LONG}1", f"{LONG}2", f"{LONG}3"],
        ["a b", "ab"],
        [1, "1"],
        ["a/b", "a_b"],
        ["/", "\0"],
        [numpy.zeros(10_000), numpy.zeros(10_000)],
        [object(), object()],
    ],
)
def test_different_values_never_share_a_name(values: list[Any]) -> None:
    assert len(set(names_of({"x": values}))) == len(values)


def test_the_first_of_those_that_look_alike_keeps_the_plain_name() -> None:
    first, second = names_of({"x": [f"{LONG}1", f"{LONG}2"]})
    assert first == f"x-{LONG[:30]},"
    assert second.startswith(first)
    assert names_of({"x": [f"{LONG}1", f"{LONG}2"]}) == [first, second]


def test_the_very_same_combination_has_the_same_name() -> None:
    assert names_of({"x": [1, 1]}, {"x": [1]}) == ["x-1,"] * 3


@pytest.mark.parametrize("value", ["a/b", "../../etc", "a\0b", "\ud800", "é" * 30])
def test_a_name_is_always_that_of_one_folder(value: str) -> None:
    grid = {f"{value.encode('utf-8', 'replace').decode()}{number}": [value] for number in range(5)}
    (name,) = names_of(grid)
    assert "/" not in name
    assert "\0" not in name
    assert len(name.encode()) <= 255


@pytest.mark.parametrize("length", [199, 200, 201, 216, 255])
def test_a_name_that_a_folder_can_have_is_the_originals_to_the_last_byte(length: int) -> None:
    key = "k" * (length - len("-vvv,"))
    assert names_of({key: ["vvv"]}) == [f"{key}-vvv,"]


def test_a_name_that_is_too_long_for_a_folder_ends_in_a_mark_and_so_do_those_that_look_like_it(tmp_path: Path) -> None:
    names = names_of(*({"k" * length: ["v" * 30 + end for end in "abc"]} for length in (222, 223, 240)))
    assert names[0] == "k" * 222 + "-" + "v" * 30 + ","
    assert len(set(names)) == 9
    for name in names:
        (tmp_path / name).mkdir()


def test_dots_alone_are_no_name() -> None:
    settings = {"test_config_string_indicator": "", "test_config_string_separator": ""}
    assert not {".", "..", ""} & set(names_of({"": [".", ".."]}, **settings))
