"""What the values of a job's options mean on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from duckrow.api.adding.job_values import find_shell, found_here
from duckrow.core.errors import UsageError


def test_a_shell_is_named_or_given_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "fish"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_shell("/bin/sh") == "/bin/sh"
    assert os.path.basename(find_shell("sh")) == "sh"
    assert find_shell("./fish") == str(own), "jobs run in other folders"


@pytest.mark.parametrize("shell", ["/no/such", "./no", "nosuchshell", "/", "/etc/passwd"])
def test_a_shell_that_nothing_can_run_is_refused_before_any_job_fails_of_it(shell: str) -> None:
    with pytest.raises(UsageError, match=f"^There is no shell '{shell}' here. Write its path"):
        find_shell(shell)


def test_a_folder_and_a_shell_must_exist_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    values = {"cwd": "sub", "shell": "/bin/sh", "command": "/no/such"}
    assert found_here(values) == {**values, "cwd": str(tmp_path / "sub")}
    for wrong in ({"cwd": "nosub"}, {"shell": "/no/such"}):
        with pytest.raises(UsageError):
            found_here(wrong)
