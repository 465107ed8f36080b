"""Settings on the command line: what `duckrow config` shows, and that the options take them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.machine.settings import Settings
from duckrow.api.machine.settings_files import user_file
from duckrow.cli.console import chosen_colour, wants_colour
from duckrow.cli.main import run_cli
from duckrow.cli.options.verb_options import fill_devices
from duckrow.core.errors import UsageError
from duckrow.core.settings import SETTINGS
from tests.cli.test_options import spec_of


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    chosen_colour.cache_clear()


def write_user(text: str) -> None:
    path = Path(user_file())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_config_shows_each_value_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    write_user("[job]\nretries = 2\n[projects.thesis]\ntimeout = '8h'\n")
    assert run_cli(["config"]) == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["SETTING", "VALUE", "FROM"]
    assert ["job.retries", "2", user_file()] in lines
    assert ["job.timeout", "-", "default"] in lines
    assert err == "duckrow: thesis has its own settings (duckrow config --project NAME).\n"
    assert run_cli(["config", "-p", "thesis", "--json"]) == 0
    values = {row["setting"]: row for row in json.loads(capsys.readouterr().out)}
    assert values["job.timeout"]["value"] == "8h"
    assert values["job.timeout"]["source"] == user_file()
    assert set(values) == {setting.name for setting in SETTINGS}


def test_config_tells_where_the_file_would_be(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_cli(["config", "--path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/xdg-config/duckrow/config.toml\n"


def test_there_are_no_settings_of_a_project_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["config", "--project", "a b"]) == 2
    assert "'a b' cannot be a project" in capsys.readouterr().err


def test_a_misspelt_setting_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    write_user("[job]\nretrys = 2\n")
    assert run_cli(["config"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        f"duckrow: In {user_file()} there is no setting 'retrys' in [job]. Did you mean 'retries'?\n",
    )


def test_a_job_has_what_the_settings_say_and_flags_win() -> None:
    write_user(
        "[job]\nretries = 2\ntimeout = '1h'\nsignal = 'TERM@1m'\nmax_log = '1M'\nproject = 'thesis'\npriority = 7\n"
    )
    spec = spec_of()
    assert (spec.retries, spec.timeout_s, spec.notice_signal, spec.notice_s) == (2, 3600, 15, 60)
    assert (spec.max_log_bytes, spec.project, spec.priority) == (1 << 20, "thesis", 7)
    spec = spec_of("--retries", "0", "--timeout", "none", "--signal", "none", "--max-log", "none", "-p", "x")
    assert (spec.retries, spec.timeout_s, spec.notice_signal, spec.max_log_bytes, spec.project) == (
        0,
        None,
        None,
        None,
        "x",
    )


def test_a_project_that_is_chosen_brings_its_profile() -> None:
    write_user("[projects.thesis]\nretries = 5\n")
    assert spec_of().retries == 0
    assert spec_of("-p", "thesis").retries == 5
    assert spec_of("-p", "thesis", "--retries", "1").retries == 1


def test_a_signal_that_is_none_is_told_with_its_file() -> None:
    write_user("[job]\nsignal = 'WHAT@1m'\n")
    with pytest.raises(UsageError, match=rf"In {user_file()}, signal in \[job\]: 'WHAT' is not a signal"):
        spec_of()


@pytest.mark.parametrize(
    ("gpus", "slots", "shared", "filled"),
    [
        ((), None, None, (("0", "1"), 4, 2)),
        (("7",), None, None, (("7",), None, 2)),
        ((), 1, None, ((), 1, 2)),
        ((), None, 3, (("0", "1"), 4, 3)),
    ],
)
def test_devices_that_are_named_replace_those_of_the_settings(
    gpus: tuple[str, ...], slots: int | None, shared: int | None, filled: object
) -> None:
    write_user("[run]\ndevices = '0 1'\nslots = 4\njobs_per_gpu = 2\nignore_processes = 'Xorg'\nshare_gpus = true\n")
    rest: dict[str, Any] = {"ignore_processes": None, "only_idle_gpus": False, "share_gpus": None}
    values = {**rest, "devices": gpus, "slots": slots, "jobs_per_gpu": shared}
    fill_devices("run", values, Settings())
    assert (values["devices"], values["slots"], values["jobs_per_gpu"]) == filled
    assert (values["ignore_processes"], values["share_gpus"]) == ("Xorg", True)


def test_the_setting_of_colours_gives_way_to_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    write_user("[ui]\ncolor = 'always'\n")
    assert wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(io.StringIO())
    monkeypatch.delenv("NO_COLOR")
    write_user("[ui]\ncolor = 'never'\n")
    chosen_colour.cache_clear()
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_colour(io.StringIO())
    chosen_colour.cache_clear()
