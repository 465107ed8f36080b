"""Settings: which source wins, and how a mistake is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from duckrow.api.machine.colour import colour
from duckrow.api.machine.settings import Settings
from duckrow.api.machine.settings_files import project_file, user_file
from duckrow.core.errors import UsageError
from duckrow.core.settings import SETTINGS


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "pyproject.toml").write_text("")
    monkeypatch.chdir(work)
    return work


def write_user(text: str) -> Path:
    path = Path(user_file())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def complaint() -> str:
    with pytest.raises(UsageError) as caught:
        Settings().values()
    return str(caught.value)


def test_without_files_and_variables_all_is_as_by_default() -> None:
    values = Settings().values()
    assert set(values) == {setting.name for setting in SETTINGS}
    assert {value.source for value in values.values()} == {"default"}
    assert {name: value.written for name, value in values.items()} == {s.name: s.default for s in SETTINGS}


def test_every_default_is_a_value_that_a_file_might_have() -> None:
    for setting in SETTINGS:
        assert setting.default is None or setting.read(setting.default) is not None
        assert setting.help.endswith(".")


def test_later_sources_win(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    user = write_user("[job]\nretries = 1\nbackoff = '1m'\ngrace = 5\n")
    (folder / "pyproject.toml").write_text("[tool.duckrow.job]\nretries = 2\nbackoff = '2m'\n")
    monkeypatch.setenv("DUCKROW__JOB__RETRIES", "3")
    values = Settings().values()
    assert (values["job.retries"].value, values["job.retries"].source) == (3, "DUCKROW__JOB__RETRIES")
    assert (values["job.backoff"].value, values["job.backoff"].source) == (120.0, str(folder / "pyproject.toml"))
    assert (values["job.grace"].value, values["job.grace"].source) == (5.0, str(user))


def test_a_project_has_a_profile_of_its_own(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    write_user(
        "[projects.thesis]\nretries = 5\ntimeout = 'none'\n[projects.other]\nretries = 9\n[job]\ntimeout = '1h'\n"
    )
    (folder / "pyproject.toml").write_text("[tool.duckrow.job]\nproject = 'thesis'\nretries = 2\n")
    settings = Settings()
    assert settings.projects() == ["other", "thesis"]
    assert (settings["job.project"], settings["job.retries"], settings["job.timeout"]) == ("thesis", 5, None)
    assert settings.values("other")["job.retries"].value == 9
    assert settings.values("new")["job.retries"].value == 2
    assert settings.values("new")["job.timeout"].value == 3600
    assert settings.values("new")["job.project"].source == "--project"
    monkeypatch.setenv("DUCKROW__JOB__RETRIES", "1")
    assert Settings()["job.retries"] == 1
    monkeypatch.setenv("DUCKROW__PROJECTS__thesis__RETRIES", "7")
    assert Settings()["job.retries"] == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[job]\nretrys = 2", "there is no setting 'retrys' in [job]. Did you mean 'retries'?"),
        ("[job]\nmax-log = 2", "there is no setting 'max-log' in [job]. Did you mean 'max_log'?"),
        ("[jobs]\nretries = 2", "there is no section [jobs]. Did you mean [job]?"),
        ("[job]\nslots = 2", "there is no setting 'slots' in [job]. It belongs to [run] or [daemon]."),
        ("[ui]\nxyzzy = 2", "there is no setting 'xyzzy' in [ui]. Choose from color."),
        ("retries = 2", "'retries' is outside its section. Put it under [job]."),
        ("[xyzzy]", "there is no section [xyzzy]. Choose from job, run, daemon, ui, projects."),
        ("[projects.x]\nproject = 'y'", "there is no setting 'project' in [projects.x]."),
        ("[projects.x]\nretry = 2", "there is no setting 'retry' in [projects.x]. Did you mean 'retries'?"),
        ("[projects]\nx = 2", "'projects.x' must be a section: write [projects.x] above its settings."),
        ("projects = 2", "'projects' is not a setting. Write [projects.NAME] above some settings."),
        ("[projects.'a b']", "[projects.a b]: 'a b' cannot be a project."),
        ("job = 2", "'job' must be a section: write [job] above its settings."),
    ],
)
def test_a_misspelt_key_is_named_with_its_file_and_the_nearest_right_one(text: str, said: str) -> None:
    path = write_user(text)
    assert complaint().startswith(f"In {path}")
    assert said in complaint()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[job]\nretries = -1", "retries in [job]: -1 is not a whole number of 0 or more."),
        ("[job]\nretries = true", "retries in [job]: true is not a whole number"),
        ("[job]\nretries = 99999999999999999999", "retries in [job]: 99999999999999999999 is too large a number."),
        (
            "[job]\npriority = '-99999999999999999999'",
            "priority in [job]: '-99999999999999999999' is too large a number.",
        ),
        ("[job]\nretries = 1.5", "retries in [job]: 1.5 is not a whole number"),
        ("[job]\ntimeout = 'soon'", "timeout in [job]: 'soon' is not a time. Write 90s"),
        ("[job]\ntimeout = [1]", "timeout in [job]: [1] is neither a string in quotes nor a number."),
        ("[job]\ntimeout = 02:30:00", "timeout in [job]: 02:30:00 is neither a string in quotes nor a number."),
        ("[job]\nsignal = 'FOO@30s'", "signal in [job]: 'FOO' is not a signal. Write USR2@30s"),
        ("[projects.x]\nsignal = 'USR2@soon'", "signal in [projects.x]: 'soon' is not a time."),
        ("[job]\nproject = 'a/b'", "project in [job]: 'a/b' cannot be a project."),
        ("[job]\nshell = 1", "shell in [job]: 1 is not a string."),
        ("[run]\ndevices = 'none'", "devices in [run]: 'none' does not name GPUs"),
        ("[run]\nfollow = 'maybe'", "follow in [run]: 'maybe' is neither true nor false."),
        ("[ui]\ncolor = 'red'", "color in [ui]: 'red' is not one of auto, always, never."),
    ],
)
def test_a_wrong_value_is_told_with_its_place(text: str, said: str) -> None:
    path = write_user(text)
    assert complaint().startswith(f"In {path}, {said}")


def test_what_is_wrong_in_pyproject_is_told_as_it_stands_there(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.duckrow.jobs]\nretries = 1\n")
    path = folder / "pyproject.toml"
    assert complaint() == f"In {path} there is no section [tool.duckrow.jobs]. Did you mean [tool.duckrow.job]?"
    path.write_text("[tool]\nduckrow = 1\n")
    assert complaint() == f"In {path}, [tool.duckrow] is not a table of sections."


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("DUCKROW__JOB__RETRYS", "there is no setting 'retrys' in [job]. Did you mean 'retries'?"),
        ("DUCKROW__JOBB__RETRIES", "there is no section [jobb]. Did you mean [job]?"),
        ("DUCKROW__JOB", "write DUCKROW__SECTION__KEY."),
        ("DUCKROW__JOB__A__RETRIES", "write DUCKROW__SECTION__KEY."),
        ("DUCKROW__PROJECTS", "write DUCKROW__PROJECTS__NAME__KEY."),
        ("DUCKROW__PROJECTS__RETRIES", "write DUCKROW__PROJECTS__NAME__KEY."),
    ],
)
def test_a_misspelt_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, said: str) -> None:
    monkeypatch.setenv(variable, "1")
    assert complaint() == f"The variable {variable} is not a setting: {said}"


def test_a_variable_of_a_project_that_cannot_be_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW__PROJECTS____RETRIES", "1")
    assert complaint().startswith("The variable DUCKROW__PROJECTS____RETRIES: '' cannot be a project.")


def test_a_wrong_value_of_a_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW__JOB__RETRIES", "many")
    assert complaint() == "The variable DUCKROW__JOB__RETRIES: 'many' is not a whole number of 0 or more."


def test_what_is_not_toml_is_told_with_the_line() -> None:
    path = write_user("[job]\nretries =\n")
    assert complaint().startswith(f"{path} is not valid TOML: Invalid value (at line 2")


def test_a_file_that_a_variable_names_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DUCKROW_CONFIG", str(tmp_path / "mine.toml"))
    assert (
        complaint()
        == f"DUCKROW_CONFIG names {tmp_path}/mine.toml, which does not exist. Create it, or unset the variable."
    )
    (tmp_path / "mine.toml").write_text("[job]\nretries = 4\n")
    assert Settings()["job.retries"] == 4


def test_the_nearest_pyproject_counts_also_from_below(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.duckrow.run]\ndevices = '0 0 1'\n")
    (folder / "a/b").mkdir(parents=True)
    monkeypatch.chdir(folder / "a/b")
    assert Settings()["run.devices"] == ["0", "0", "1"]
    (folder / "a/pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert Settings()["run.devices"] is None


def test_a_strangers_file_in_a_common_folder_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = (folder / "pyproject.toml").stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:
        os.chown(folder / "pyproject.toml", 12345, -1)
    assert project_file() is not None
    folder.chmod(0o777)
    assert project_file() is None


def test_a_folder_that_is_gone_has_no_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").unlink()
    folder.rmdir()
    assert project_file() is None
    assert Settings()["job.retries"] == 0


def test_a_pyproject_that_says_nothing_of_duckrow_is_not_parsed(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("this is = = not TOML")
    assert Settings()["job.retries"] == 0


def test_the_colour_is_read_from_files_and_variables_and_never_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert colour() == "auto"
    write_user("[ui]\ncolor = 'never'\n")
    assert colour() == "never"
    monkeypatch.setenv("DUCKROW__UI__COLOR", "always")
    assert colour() == "always"
    monkeypatch.setenv("DUCKROW__UI__COLOR", "red")
    assert colour() == "auto"
