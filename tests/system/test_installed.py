"""Being installed: config, doctor, completion, versions, aliases and the service, as the program prints them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from duckrow import __version__
from tests.conftest import Duckrow, until


@pytest.fixture
def config(duckrow: Duckrow, tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text("")
    duckrow.env["DUCKROW_CONFIG"] = str(path)
    return path


def doctor(duckrow: Duckrow, ok: bool = True) -> dict[str, dict[str, str]]:
    done = duckrow("doctor", "--json", ok=ok)
    findings = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert done.returncode == int(any(finding["level"] == "problem" for finding in findings.values()))
    return findings


def complete(duckrow: Duckrow, line: str) -> list[str]:
    """What bash would offer for the last word."""
    words = line.split(" ")
    env = {"_DUCKROW_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = duckrow(env=env)
    assert done.stderr == ""
    return [offer.partition(",")[2] for offer in done.stdout.splitlines()]


# -- settings -------------------------------------------------------------------------------------------------------


def test_jobs_and_devices_are_as_the_settings_say(duckrow: Duckrow, config: Path) -> None:
    config.write_text("[daemon]\nslots = 3\n[job]\nproject = 'thesis'\n[projects.thesis]\nretries = 4\n")
    job = duckrow.submit("--", "true")
    assert duckrow.job(job)["project"] == "thesis"
    assert duckrow.sql("SELECT retries FROM jobs") == [(4,)]
    assert len(json.loads(duckrow("gpus", "--json").stdout)) == 3
    duckrow("down")
    config.write_text("[daemon]\nslots = 2\n")
    assert "with 2 CPU slots" in duckrow("up").stderr
    duckrow("down")
    assert "with 5 CPU slots" in duckrow("up", "--slots", "5").stderr
    duckrow("down")
    assert "with 5 CPU slots" in duckrow("up").stderr, "what was chosen is remembered, whatever the settings say"
    duckrow("down")


def test_a_run_is_as_the_settings_say(duckrow: Duckrow, config: Path) -> None:
    config.write_text("[run]\nslots = 1\nfollow = true\nmax_failures = 1\n")
    assert duckrow("run", "--dry-run", stdin="a\nb\n").stderr == (
        "duckrow: 2 jobs. 1 of them would start now. Nothing was run.\n"
    )
    assert "All of them" in duckrow("run", "--dry-run", "--slots", "2", stdin="a\nb\n").stderr
    done = duckrow("run", stdin="echo one; false\necho two\n", ok=False)
    assert done.returncode == 1
    assert "one" in done.stdout
    assert "two" not in done.stdout
    assert "one" not in duckrow("run", "--no-follow", stdin="echo one\n").stdout


@pytest.mark.parametrize("words", [["submit", "--", "true"], ["run", "--dry-run"], ["up"], ["config"]])
def test_a_misspelt_setting_stops_what_would_use_it(duckrow: Duckrow, config: Path, words: list[str]) -> None:
    config.write_text("[job]\nretrys = 1\n")
    done = duckrow(*words, ok=False)
    assert done.returncode == 2
    assert done.stderr == f"duckrow: In {config} there is no setting 'retrys' in [job]. Did you mean 'retries'?\n"
    assert duckrow("ls").returncode == 0


# -- doctor ---------------------------------------------------------------------------------------------------------


def test_the_doctor_makes_nothing_and_finds_no_problem_before_first_use(duckrow: Duckrow) -> None:
    done = duckrow("doctor", ok=False)
    assert f"ok       state         {duckrow.home} will be created on first use\n" in done.stdout
    assert "ok       database      none yet; the first job creates it\n" in done.stdout
    assert not duckrow.home.exists()
    assert doctor(duckrow, ok=False)["settings"]["level"] == "ok"


def test_the_doctor_knows_the_daemon_and_what_it_left(duckrow: Duckrow) -> None:
    pid = duckrow.up("--devices", "0,1")
    assert doctor(duckrow, ok=False)["daemon"]["found"] == f"running (process {pid}) with GPUs 0, 1"
    job = duckrow.submit("--", "sleep 600")
    duckrow.wait_for(job, "running")
    duckrow.submit("--gpus", "2", "--", "true")
    duckrow.kill_daemon()
    found = doctor(duckrow, ok=False)
    assert found["daemon"] == {
        "check": "daemon", "level": "warn", "found": "not running, and 1 job is queued", "advice": "duckrow up",
    }  # fmt: skip
    assert found["leftovers"]["found"] == "1 attempt of a daemon or run that has died"


def test_the_doctor_tells_how_the_processes_of_jobs_are_known(duckrow: Duckrow) -> None:
    assert doctor(duckrow, ok=False)["processes"]["found"].startswith(("its own cgroup (v2)", "process table (no "))
    duckrow.env["DUCKROW_CGROUPS"] = "off"
    duckrow.up("--slots", "1")
    del duckrow.env["DUCKROW_CGROUPS"]  # it is the daemon that is asked, not this shell
    by_table = "process table (no cgroup available: DUCKROW_CGROUPS=off turns them off)"
    assert doctor(duckrow, ok=False)["processes"]["found"] == by_table


def test_the_doctor_names_what_is_wrong_and_what_to_do(duckrow: Duckrow, config: Path) -> None:
    duckrow("ls")
    config.write_text("[jobs]\n")
    duckrow.home.chmod(0o755)
    (duckrow.home / "daemon.log").write_text("2026-01-01 00:00:00 The disk is full.\n")
    found = doctor(duckrow, ok=False)
    assert found["settings"]["level"] == "problem"
    assert found["settings"]["found"].endswith("there is no section [jobs]. Did you mean [job]?")
    assert found["state"]["found"].endswith("is open to other users (755)")
    assert found["state"]["advice"] == f"chmod 700 {duckrow.home}"
    assert found["daemon.log"]["level"] == "warn"
    done = duckrow("doctor", ok=False)
    assert done.returncode == 1
    assert "problem  settings " in done.stdout
    assert done.stderr.endswith(" problems.\n")


def test_the_doctor_sees_a_damaged_database(duckrow: Duckrow) -> None:
    duckrow.home.mkdir(mode=0o700)
    (duckrow.home / "duckrow.db").write_text("not a database at all, but long enough to be read" * 100)
    assert doctor(duckrow, ok=False)["database"]["level"] == "problem"
    (duckrow.home / "duckrow.db").unlink()
    duckrow("ls")
    duckrow.sql("PRAGMA user_version = 999")
    assert doctor(duckrow, ok=False)["database"]["found"] == "it was written by a newer duckrow (schema 999)"


def test_the_doctor_sees_that_the_state_folder_cannot_be_made(duckrow: Duckrow) -> None:
    duckrow.home.write_text("a file")
    found = doctor(duckrow, ok=False)["state"]
    assert (found["level"], found["found"]) == ("problem", f"{duckrow.home} is not a folder")
    duckrow.env["DUCKROW_HOME"] = f"{duckrow.home}/below/it"
    found = doctor(duckrow, ok=False)["state"]
    assert (found["level"], found["found"]) == ("problem", f"{duckrow.home} is not a folder")
    assert duckrow("ls", ok=False).returncode == 1


def test_the_doctor_finds_nothing_wrong_with_a_database_that_is_yet_to_be_filled(duckrow: Duckrow) -> None:
    duckrow.home.mkdir(mode=0o700)
    (duckrow.home / "duckrow.db").touch()
    assert doctor(duckrow, ok=False)["database"]["level"] == "ok"
    assert duckrow("ls").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_the_doctor_sees_a_database_that_cannot_be_written(duckrow: Duckrow) -> None:
    duckrow("ls")
    (duckrow.home / "duckrow.db").chmod(0o400)
    assert doctor(duckrow, ok=False)["database"]["found"] == "it cannot be written"


def test_the_doctor_does_not_mind_that_two_daemons_were_started_at_once(duckrow: Duckrow) -> None:
    duckrow("ls")
    (duckrow.home / "daemon.log").write_text("duckrow: There is already a daemon. It is already running (process 7).\n")
    assert "daemon.log" not in doctor(duckrow, ok=False)


# -- the service ----------------------------------------------------------------------------------------------------


def test_the_unit_of_the_service_is_printed(duckrow: Duckrow) -> None:
    unit = duckrow("up", "--service", "--print", "--devices", "0", "1").stdout
    words = "up --foreground --jobs-per-gpu 1 --by-default --devices 0 --devices 1"
    assert f"ExecStart={sys.executable} -m duckrow {words}\n" in unit
    assert f"\nEnvironment=DUCKROW_HOME={duckrow.home}\n" in unit
    assert "\nKillMode=process\n" in unit
    assert "\nDelegate=yes\nDelegateSubgroup=duckrow-host\n" in unit
    assert "\nWorkingDirectory=/\n" in unit
    assert "\nType=notify\nNotifyAccess=all\n" in unit
    assert "\nTimeoutStopSec=10\nRestart=on-failure\n" in unit
    assert "up --foreground\n" in duckrow("up", "--service", "--print").stdout
    assert not duckrow.home.exists()


@pytest.mark.parametrize("works", [True, False])
def test_the_service_is_put_in_place_and_taken_away(duckrow: Duckrow, tmp_path: Path, works: bool) -> None:
    told = tmp_path / "told"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {told}\nexit {0 if works else 1}\n')
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    unit = Path(duckrow.env["XDG_CONFIG_HOME"]) / "systemd/user/duckrow.service"
    done = duckrow("up", "--service", env=env, ok=works)
    assert done.returncode == int(not works)
    assert done.stderr.startswith(f"duckrow: wrote {unit}.\n")
    assert "KillMode=process" in unit.read_text()
    if works:
        told_so = ["--user daemon-reload", "--user enable duckrow.service", "--user restart duckrow.service"]
        assert told.read_text().splitlines() == ["--user show-environment", *told_so]
    else:
        assert "systemd does not answer here" in done.stderr
    assert f"duckrow: {unit} is removed." in duckrow("up", "--service", "--remove", env=env).stderr
    assert not unit.exists()
    assert duckrow("up", "--service", "--remove", env=env).stderr == "duckrow: there is no service to remove.\n"


def test_a_restart_of_the_service_keeps_the_devices_as_they_were_changed(duckrow: Duckrow, tmp_path: Path) -> None:
    program = tmp_path / "systemctl"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    duckrow.up("--devices", "5")
    duckrow("up", "--service", "--devices", "0", env=env)
    unit = Path(duckrow.env["XDG_CONFIG_HOME"]) / "systemd/user/duckrow.service"
    words = next(line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")).split()[3:]

    def gpus_of_the_service(*change: str) -> set[str]:
        daemon = duckrow.spawn(*words)
        listed: list[dict[str, str]] = until(lambda: json.loads(duckrow("gpus", "--json").stdout), "the daemon")
        if change:
            duckrow("gpus", *change)
        daemon.terminate()
        daemon.wait()
        return {place["device"] for place in listed if not place["device"].startswith("cpu")}

    assert gpus_of_the_service("add", "1") == {"0"}
    assert gpus_of_the_service("remove", "0") == {"0", "1"}
    assert gpus_of_the_service() == {"1"}


def test_a_unit_from_when_devices_were_called_gpus_still_starts(duckrow: Duckrow) -> None:
    with duckrow.spawn(*"up --foreground --jobs-per-gpu 1 --by-default --gpus 3 --gpus 4".split()) as daemon:
        listed = until(lambda: json.loads(duckrow("gpus", "--json").stdout), "the daemon")
        daemon.terminate()
    assert {place["device"] for place in listed if not place["device"].startswith("cpu")} == {"3", "4"}


def test_devices_that_were_remembered_as_gpus_are_found_again(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "3")
    duckrow("down")
    duckrow.sql("UPDATE meta SET value = replace(value, '\"devices\"', '\"gpus\"') WHERE key = 'daemon devices'")
    duckrow.up()
    assert "3" in [place["device"] for place in json.loads(duckrow("gpus", "--json").stdout)]


def test_a_service_that_does_not_start_is_told(duckrow: Duckrow, tmp_path: Path) -> None:
    program = tmp_path / "systemctl"
    program.write_text('#!/bin/sh\n[ "$2" != restart ] || { echo "See the journal for details." >&2; exit 1; }\n')
    program.chmod(0o755)
    done = duckrow("up", "--service", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, ok=False)
    assert done.returncode == 1
    assert "runs" not in done.stderr
    assert done.stderr.endswith(
        "duckrow: systemctl --user restart duckrow.service failed: See the journal for details. The unit is in place; "
        "to remove it: duckrow up --service --remove\n"
    )


def test_print_and_remove_need_the_service(duckrow: Duckrow) -> None:
    for word in ("--print", "--remove"):
        done = duckrow("up", word, ok=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert "go with --service" in done.stderr


# -- completion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shell", "part"), [("bash", "complete -o"), ("zsh", "#compdef duckrow"), ("fish", "complete ")]
)
def test_the_completion_script_goes_where_it_is_told_to_go(
    duckrow: Duckrow, tmp_path: Path, shell: str, part: str
) -> None:
    script = tmp_path / "script"
    with script.open("w") as file:
        command = duckrow.command("completion", shell)
        done = subprocess.run(command, env=duckrow.env, stdout=file, stderr=subprocess.PIPE, text=True)
    assert part in script.read_text()
    assert "_DUCKROW_COMPLETE" in script.read_text()
    told = done.stderr.removeprefix("duckrow: to install it: ")
    assert told.endswith("; then open a new shell.\n")
    env = {**duckrow.env, "HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    install = told.partition(";")[0].partition(", with")[0]
    subprocess.run(["/bin/sh", "-c", install], env=env, check=True, capture_output=True)
    assert any(path.read_text() == script.read_text() for path in tmp_path.rglob("*duckrow*") if path.is_file())


def test_a_shell_that_evaluates_the_script_is_not_told_how_to_install_it(duckrow: Duckrow) -> None:
    assert duckrow("completion", "bash").stderr == ""


def test_files_complete_where_duckrow_has_nothing_to_offer(duckrow: Duckrow) -> None:
    assert "complete -o nosort -o default -F" in duckrow("completion", "bash").stdout
    assert "{ _files; return }" in duckrow("completion", "zsh").stdout
    assert "and __fish_complete_path" in duckrow("completion", "fish").stdout


def test_fish_is_offered_the_whole_of_a_word_with_commas(duckrow: Duckrow) -> None:
    script = duckrow("completion", "fish").stdout
    assert 'string split --max 1 ","' in script
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here")
    duckrow("run", "--slots", "1", stdin="true\n")
    (duckrow.work / "commands.txt").touch()
    env = {**duckrow.env, "PATH": f"{Path(sys.executable).parent}:{duckrow.env['PATH']}"}

    def offered(line: str) -> list[str]:
        words = ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'"]
        done = subprocess.run(words, cwd=duckrow.work, env=env, capture_output=True, text=True)
        return done.stdout.splitlines()

    assert offered("duckrow show 1,t") == ["1,true\tjobs of this name"]
    assert "1\ttrue, succeeded" in offered("duckrow show ")
    assert offered("duckrow run comm") == ["commands.txt"]


def test_there_is_no_completion_for_other_shells(duckrow: Duckrow) -> None:
    done = duckrow("completion", "csh", ok=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in done.stderr


def test_verbs_options_ids_and_names_complete(duckrow: Duckrow) -> None:
    assert complete(duckrow, "duckrow show ") == ["last"]
    assert not duckrow.home.exists()
    duckrow("run", "--slots", "1", stdin="true\nfalse\n", ok=False)
    assert complete(duckrow, "duckrow sub") == ["submit"]
    assert complete(duckrow, "duckrow fol") == ["follow"]
    assert complete(duckrow, "duckrow submit --ret") == ["--retries"]
    assert complete(duckrow, "duckrow show ") == ["last", "2", "1", "false", "true"]
    assert complete(duckrow, "duckrow follow tr") == ["true"]
    assert complete(duckrow, "duckrow kill 1,f") == ["1,false"]
    assert "submit" in complete(duckrow, "duckrow nonsense ")


def test_only_names_that_can_be_typed_complete(duckrow: Duckrow) -> None:
    for name in ("lr=1,seed=2", "a,b"):
        duckrow("submit", "--hold", "--name", name, "--", "true")
    assert complete(duckrow, "duckrow show ") == ["last", "2", "1", "lr=1,seed=2"]
    assert complete(duckrow, "duckrow show lr=1,se") == ["lr=1,seed=2"]
    assert complete(duckrow, "duckrow show 2,") == ["2,last", "2,2", "2,1"]


def test_completing_never_fails(duckrow: Duckrow) -> None:
    duckrow.home.mkdir()
    (duckrow.home / "duckrow.db").write_text("not a database" * 1000)
    assert complete(duckrow, "duckrow show ") == ["last"]


# -- versions and aliases -------------------------------------------------------------------------------------------


def test_the_version_has_what_matters_in_a_bug_report(duckrow: Duckrow) -> None:
    lines = duckrow("--version").stdout.splitlines()
    assert lines[0] == f"duckrow {__version__}"
    names = ["duckrow", "python", "platform", "sqlite", "click", "rich", "nvidia-ml-py", "nvidia driver"]
    assert [line for line, name in zip(lines, names, strict=True) if not line.startswith(f"{name} ")] == []
    assert not duckrow.home.exists()


def test_the_words_of_other_tools_are_understood(duckrow: Duckrow) -> None:
    job = int(duckrow("add", "--", "echo hello; sleep 600").stdout)
    duckrow.wait_for(job, "running")
    assert json.loads(duckrow("status", "--json").stdout)[0]["id"] == job
    assert json.loads(duckrow("queue", "--json").stdout)[0]["id"] == job
    assert duckrow("cancel", str(job)).stderr == f"duckrow: stopping job {job}.\n"
    duckrow("wait", str(job), ok=False)
    assert duckrow("log", str(job)).stdout == "hello\n"
    assert "hello" in duckrow("follow", str(job)).stdout
    assert duckrow("restart", str(job)).returncode == 0


def test_the_help_says_what_an_alias_is_the_same_as(duckrow: Duckrow) -> None:
    text = duckrow("--help-all").stdout
    assert "Also known as:" in text
    assert "follow   Same as logs -f." in text
    assert duckrow("queue", "--help").stdout == duckrow("ls", "--help").stdout
    done = duckrow("cancle", "1", ok=False)
    assert (done.returncode, "Did you mean `duckrow cancel`?" in done.stderr) == (2, True)
