"""What the older tools answered, recorded from them, and asked of the drop-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import duckrow.dropin.quackpack as qp
from duckrow.dropin.gpu_task_scheduler import ConfigManager
from duckrow.dropin.simple_gpu_scheduler import slots_of
from tests.conftest import Duckrow
from tests.dropin.shell import PYTHON_DOOR, shell

# -- simple_gpu_scheduler 0.1.4 -------------------------------------------------------------------------------------

TRANSCRIPT = [
    ("echo plain", "plain\n"),
    ("echo 'single  quoted' \"double  $((1 + 2))\"", "single  quoted double  3\n"),
    ("for i in 1 2; do echo $i; done", "1\n2\n"),
    ("printf '%s|' a b; echo", "a|b|\n"),
    ("echo error >&2", ""),
    ("cd / && pwd", "/\n"),
    ("echo über", "über\n"),
    ("(exit 3)", ""),
    ("true && echo and || echo or", "and\n"),
    ("echo a | tr a b", "b\n"),
    ("X=5; echo $X", "5\n"),
    ('echo "gpu $CUDA_VISIBLE_DEVICES"', "gpu 3\n"),
    ("exit 7", ""),
    ("echo no newline", "no newline\n"),
]


def test_simple_gpu_scheduler_prints_what_it_printed(duckrow: Duckrow) -> None:
    (duckrow.work / "list").write_text("\n".join(command for command, _ in TRANSCRIPT))
    done = shell(duckrow, f"{PYTHON_DOOR}simple_gpu_scheduler --gpus 3 < list", ok=False)
    told = (f"Processing command `{command}` on gpu 3\n{printed}" for command, printed in TRANSCRIPT)
    assert done.stdout == "".join(told)
    assert done.returncode == 1  # the original: 0, whatever failed


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        (["0,1,2"], ["2", "1", "0"]),
        (["0", "1"], ["1", "0"]),
        (["0,1", "2,3"], ["2,3", "0,1"]),
        (["0", "0", "1", "1"], ["1", "1", "0", "0"]),
        (["0,"], ["", "0"]),
    ],
)
def test_simple_gpu_scheduler_has_the_slots_that_it_had(words: list[str], slots: list[str]) -> None:
    """In the order in which four jobs that came at once were given them."""
    assert slots_of(words)[::-1] == slots


# -- GPU Task Scheduler 0688b0c -------------------------------------------------------------------------------------

DOCUMENT = {
    "scheduler_config": {"gpu": ["0", "1", "2"]},
    "global_config": {"num_run": 5, "num_epoch": 200},
    "test_config": [
        {"method": ["GAN", "ALI"], "num_packing": [1], "num_zmode": [1]},
        {"method": ["WGAN"], "num_packing": [3], "num_zmode": [1, 2]},
    ],
}
SETTINGS = {
    "scheduler_config": {
        "gpu": [["0", "1"], "2"],
        "result_root_folder": "out",
        "test_config_string_indicator": "=",
        "test_config_string_separator": "__",
        "config_string_value_maxlen": 4,
    },
    "test_config": [{"name": ["abcdef", "x y"], "n": [1.5, None, True]}],
}
LONG = {"scheduler_config": {"gpu": ["0"]}, "test_config": [{f"key_number_{i}": ["v" * 12] for i in range(9)}]}
ODD = {"scheduler_config": {"gpu": [""]}, "test_config": [{"b": [[1, 2], {"k": "v"}, (3,), "ü"], "a": [-1e-5]}]}
HERE = "{here}/results/"


@pytest.mark.parametrize(
    ("config", "gpus", "folders"),
    [
        (
            DOCUMENT,
            ["0", "1", "2"],
            [
                HERE + "method-GAN,num_packing-1,num_zmode-1,",
                HERE + "method-ALI,num_packing-1,num_zmode-1,",
                HERE + "method-WGAN,num_packing-3,num_zmode-1,",
                HERE + "method-WGAN,num_packing-3,num_zmode-2,",
            ],
        ),
        (
            SETTINGS,
            ["0,1", "2"],
            [f"out/n={n}__name={name}__" for name in ("abcd", "xy") for n in ("1.5", "None", "True")],
        ),
        (LONG, ["0"], [HERE + "".join(f"key_number_{i}-vvvvvvvvvvvv," for i in range(9))]),
        (ODD, [""], [HERE + f"a--1e-05,b-{b}," for b in ("[1,2]", "{{'k':'v'}}", "(3,)", "ü")]),
    ],
)
def test_gpu_task_scheduler_has_the_folders_and_slots_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Any, gpus: list[str], folders: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    manager = ConfigManager(config)
    assert manager.get_all_scheduler_config()["gpu"] == gpus
    assert manager.get_gpu_envs() == [{"name": f"gpu{gpu}", "env": {"CUDA_VISIBLE_DEVICES": gpu}} for gpu in gpus]
    assert manager.get_num_left_config() == len(folders)
    found = [manager.get_next_config() for _ in folders]
    assert [item["work_dir"] for item in found] == [folder.format(here=tmp_path) for folder in folders]
    assert all(item["work_dir"].endswith("/" + item["test_config_string"]) for item in found)
    assert manager.get_next_config() == {"config": None}


# -- quackpack 70e18fa ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word",
    [
        "[1,2]",
        "#tag",
        "$HOME",
        "*",
        '{"a":1}',
        "range(2)",
        "a>b",
        "a;b",
        "x&y",
        "a|b",
        "`ls`",
        "~",
        "!x",
        "a\\",
        'x="1"',
    ],
)
def test_quackpack_gives_a_program_the_words_that_it_gave_it(word: str) -> None:
    done = qp.launch_cmd(f"printf %s, {word} end")
    assert (done.args, done.returncode, done.stdout, done.stderr) == (
        ["printf", "%s,", word, "end"],
        0,
        f"{word},end,",
        "",
    )


def test_quackpack_tells_of_a_program_that_is_not_there_as_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert qp.launch_cmd("no-such-program x") is None
    said = "Command no-such-program x failed with: [Errno 2] No such file or directory: 'no-such-program'\n"
    assert capsys.readouterr().out == said
