"""What the verbs on jobs say of what they did: the doing is api's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from duckrow.api.client import Client
from duckrow.cli.group import cli
from duckrow.cli.views import changed_jobs
from duckrow.core.errors import ConflictError
from duckrow.core.jobs.job import JobSpec
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.jobs import Glance, JobStore

Typed = Callable[..., tuple[str, int]]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Job 1 has failed, 2 and 3 wait. No daemon: nobody fulfils a wish, and none is waited for."""
    home = tmp_path / "state"
    monkeypatch.setenv("DUCKROW_HOME", str(home))
    monkeypatch.setattr(Client, "ensure_daemon", lambda _self: False)
    monkeypatch.setattr(Client, "settle", lambda _self: None)
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)
    client = Client(Folder(home).make())
    with client.database.transaction():
        client.jobs.add(DAEMON, [JobSpec("true", "/", name=name) for name in "abc"], {})
        client.database.execute("UPDATE jobs SET state = 'done', outcome = 'failed' WHERE id = 1")
    client.close()

    def typed(*words: str) -> tuple[str, int]:
        done = CliRunner().invoke(cli, words, prog_name="duckrow", standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.output, done.return_value or 0

    return typed


NO_DAEMON = "duckrow: the daemon is not running; `duckrow up` starts it.\n"
NOT_QUEUED = "duckrow: job 1 failed: only queued jobs can be changed.\n"


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        ("kill 1 2", "duckrow: job 1 is already done (failed).\nduckrow: stopping job 2.\n", 0),
        ("kill --all", "duckrow: stopping 2 jobs.\n", 0),
        (
            "kill --signal USR1 1 2",
            "duckrow: job 1 is already done.\nduckrow: job 2 is queued: it has no process to signal.\n",
            1,
        ),
        (
            "rerun --dry-run 1 2",
            "duckrow: job 2 is queued; only finished jobs can run again.\n"
            "duckrow: 1 job would run again: 1 (a, failed).\n",
            0,
        ),
        ("hold 1 2", f"{NOT_QUEUED}duckrow: 1 job held.\n", 0),
        ("hold 1", NOT_QUEUED, 1),
        ("release 1", NOT_QUEUED, 1),
        ("priority 50 1", NOT_QUEUED, 1),
        ("rerun 2", "duckrow: job 2 is queued; only finished jobs can run again.\n", 1),
        ("kill 1", "duckrow: job 1 is already done (failed).\n", 0),
        ("release 2", "duckrow: job 2 is not held: duckrow why 2 says what it waits for.\n", 1),
        ("priority 50 2", "duckrow: 1 job given priority 50.\n", 0),
        ("move 3 --first", "duckrow: 3 moved.\n", 0),
        ("pause 1", "duckrow: job 1 failed.\n", 1),
        ("pause 2", "duckrow: 1 queued job held.\nduckrow: to continue: duckrow resume 2\n", 0),
        ("pause", "duckrow: everything is paused. To continue: duckrow resume\n", 0),
        ("pause --stop-running", None, 0),
        ("rm 1 2", "duckrow: 2 jobs removed.\n", 0),
        ("clean --older-than 0s --dry-run", None, 0),
        ("limit thesis --max-running 2", "duckrow: thesis: at most 2 jobs at a time.\n", 0),
        ("edit 2 --priority 7", "duckrow: job 2: priority changed.\n", 0),
    ],
)
def test_a_verb_says_what_it_did_and_to_which_jobs(typed: Typed, words: str, said: str | None, code: int) -> None:
    output, returned = typed(*words.split())
    assert (output, returned) == (output if said is None else said, code)


def test_what_is_paused_cannot_be_paused_again_but_its_running_jobs_can(typed: Typed) -> None:
    typed("pause")
    with pytest.raises(ConflictError, match=r"^Everything is already paused\. To continue: duckrow resume$"):
        typed("pause")
    assert typed("pause", "--project", "thesis")[1] == 0
    assert typed("pause", "--stop-running")[1] == 0


def test_who_releases_or_resumes_jobs_is_told_that_no_daemon_is_running(typed: Typed) -> None:
    for verb, said in (("release", "2 jobs released"), ("resume", "2 queued jobs released")):
        typed("hold", "2", "3")
        assert typed(verb, "2", "3") == (f"duckrow: {said}.\n{NO_DAEMON}", 0)


@pytest.mark.parametrize("words", ["hold 1", "release 2", "pause 1", "resume 2", "rerun 2", "priority 1 1"])
def test_verbs_that_find_nothing_to_do_have_one_exit_code(typed: Typed, words: str) -> None:
    output, code = typed(*words.split())
    assert output.startswith(f"duckrow: job {words[-1]} ")
    assert code == 1


@pytest.mark.parametrize("words", ["resume", "resume --project x", "move 1 --first", "edit 1 --priority 7"])
def test_and_so_have_those_that_refuse_all_at_once(typed: Typed, words: str) -> None:
    with pytest.raises(ConflictError) as refused:
        typed(*words.split())
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("hold 1-3", f"{NOT_QUEUED}duckrow: 2 jobs held.\n"),
        ("kill 1-3", "duckrow: job 1 is already done (failed).\nduckrow: stopping 2 jobs.\n"),
        ("kill --all", "duckrow: stopping 2 jobs.\n"),
        ("priority 40 2", "duckrow: 1 job given priority 40.\n"),
        (
            "rerun --dry-run 1-2",
            "duckrow: job 2 is queued; only finished jobs can run again.\n"
            "duckrow: 1 job would run again: 1 (a, failed).\n",
        ),
    ],
)
def test_many_jobs_are_changed_some_at_a_time(
    typed: Typed, words: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known of a million jobs would take half a gigabyte."""
    monkeypatch.setattr(changed_jobs, "_AT_A_TIME", 1)
    glanced: list[int] = []
    glance = JobStore.glance

    def counted(store: JobStore, ids: Sequence[int]) -> list[Glance]:
        glanced.append(len(ids))
        return glance(store, ids)

    monkeypatch.setattr(JobStore, "glance", counted)
    assert typed(*words.split()) == (said, 0)
    assert set(glanced) == {1}


def test_a_finished_job_is_not_edited_but_can_run_again(typed: Typed) -> None:
    with pytest.raises(ConflictError) as refused:
        typed("edit", "1", "--priority", "7")
    assert str(refused.value) == "Job 1 failed: only queued jobs can be changed. To run it again: duckrow rerun 1"


def test_a_job_that_has_started_is_not_moved(typed: Typed) -> None:
    with pytest.raises(Exception, match="Job 1 failed: only queued jobs can be changed"):
        typed("move", "1", "--last")
