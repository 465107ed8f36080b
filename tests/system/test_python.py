"""The Python interface: real scripts, with their own `__main__`, and a real daemon."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.python.executor import Executor
from duckrow.core.devices.inventory import WHOLE
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.fork_server import Script, run_to_end

ROOT = Path(__file__).parent.parent.parent


# What all scripts begin with.
PROLOGUE = """
import os, sys, time
import duckrow

def told(kind, function, *args, **options):
    try:
        function(*args, **options)
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__} was raised")

"""


def write_script(duckrow: Duckrow, source: str) -> Path:
    path = duckrow.work / "script.py"
    path.write_text(PROLOGUE + textwrap.dedent(source))
    return path


def run_script(duckrow: Duckrow, source: str) -> str:
    """What the script prints; its assertions are part of the test."""
    script = write_script(duckrow, source)
    done = run_to_end(Script, [script], duckrow.work, duckrow.env, DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def slots(duckrow: Duckrow) -> Duckrow:
    duckrow.up("--slots", "2")
    return duckrow


# -- commands -------------------------------------------------------------------------------------------------------


def test_a_handle_tells_what_becomes_of_a_command(duckrow: Duckrow) -> None:
    run_script(
        duckrow,
        r"""
        job = duckrow.submit("echo one; echo two; while [ ! -e go ]; do sleep 0.05; done", gpus=0, name="wait")
        assert (job.id, job.name, job.outcome, job.exit_code, job.done()) == (1, "wait", None, None, False)
        assert job.state in ("queued", "starting", "running")
        while job.state != "running":
            time.sleep(0.01)
        assert repr(job) == "<duckrow.Job 1 wait: running>"
        assert told(TimeoutError, job.result, timeout=0.05) == "Job 1 (wait) was not done within 0.05 s."
        open("go", "w").close()
        assert job.result() == 0
        assert job.wait() is job
        assert (job.state, job.outcome, job.exit_code, job.done()) == ("done", "succeeded", 0, True)
        assert (job.logs(), job.logs(tail=1), job.logs(tail=0)) == ("one\ntwo\n", "two\n", "")
        assert open(job.log_path).read() == "one\ntwo\n"
        assert job.log_path.startswith(job.folder)
        assert job.view().command.startswith("echo one")
        assert {job} == {duckrow.job(1)}
        assert repr(job) == "<duckrow.Job 1 wait: succeeded>"

        words = duckrow.submit(["printf", "%s|", "a b", "$HOME", 0.1], gpus=0, env={"A": "1"})
        words.wait()
        assert words.logs() == "a b|$HOME|0.1|"

        later = duckrow.submit("true", gpus=0, after=[words, job.id], project="thesis", priority=40)
        assert (later.result(), later.view().project, later.view().priority) == (0, "thesis", 40)
        """,
    )


def test_a_failure_is_told_with_the_end_of_the_log(slots: Duckrow) -> None:
    run_script(
        slots,
        r"""
        import pickle

        def failure(job):
            try:
                job.result()
            except duckrow.JobFailed as error:
                assert pickle.loads(pickle.dumps(error)).view == error.view == job.view()
                return str(error)

        told = failure(duckrow.submit("echo first; echo no data; exit 3", name="fit"))
        assert told == "Job 1 (fit) failed with exit code 3. The end of its log:\n    first\n    no data"

        sleep = duckrow.submit("sleep 600")
        while sleep.state != "running":
            time.sleep(0.01)
        sleep.kill()
        sleep.kill()
        assert failure(sleep) == "Job 2 (sleep) was killed by SIGTERM."
        assert failure(duckrow.submit("sleep 600", timeout=0.2)) == "Job 3 (sleep) timed out, ended by SIGTERM."
        assert failure(duckrow.submit(time.sleep, 600, timeout=0.2)) == "Job 4 (sleep) timed out, ended by SIGTERM."

        held = duckrow.submit("true", hold=True)
        skipped = duckrow.submit("true", after=held)
        held.kill()
        assert failure(skipped).startswith("Job 6 (true) was skipped")
        """,
    )


def test_a_wrong_request_is_told_in_a_sentence(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        wrong = duckrow.UsageError
        assert told(wrong, duckrow.job, 99) == "There is no job 99. `duckrow ls --all` lists all jobs."
        assert told(wrong, duckrow.job, "last") == "'last' is not the id of a job, which is a number."
        assert told(wrong, duckrow.submit, print, gpus=3).startswith("This job can never start.")
        assert os.listdir(os.environ["DUCKROW_HOME"] + "/runs/default/print") == []
        job = duckrow.submit("true").wait()
        os.system(f"{sys.executable} -m duckrow rm 1 2> /dev/null")
        assert told(wrong, job.result) == told(wrong, job.view) == "There is no job 1 any more: it was removed."
        assert repr(job) == "<duckrow.Job 1 true: gone>"
        """,
    )


# -- functions ------------------------------------------------------------------------------------------------------


def test_a_function_brings_back_what_it_returns_or_raises(slots: Duckrow) -> None:
    (slots.work / "beside.py").write_text("def double(x):\n    return 2 * x\n")
    run_script(
        slots,
        r"""
        import ctypes, threading
        import beside

        calls = 0

        class Point:
            made = 0

            def __init__(self, x):
                self.x = x

            def count(self):
                global calls
                calls += 1

        class Unlucky(Exception):
            pass

        def make(x, times=1):
            print("from Python")
            os.write(1, b"from the kernel\n")
            ctypes.CDLL(None).puts(b"from C")
            ctypes.CDLL(None).fflush(None)
            return Point(beside.double(x) * times)

        def fail():
            raise Unlucky("of all numbers", 13)

        job = duckrow.submit(make, 3, times=5, project="thesis")
        Point.made = 1
        point = job.result()
        assert type(point) is Point and point.x == 30
        point.count()
        assert (calls, Point.made) == (1, 1), "the class of the script is as it was"
        assert job.logs() == "from Python\nfrom the kernel\nfrom C\n"
        assert job.folder.startswith(os.environ["DUCKROW_HOME"] + "/runs/thesis/make/call-")

        failed = duckrow.submit(fail)
        try:
            failed.result()
        except Unlucky as error:
            assert error.args == ("of all numbers", 13)
            assert 'raise Unlucky("of all numbers", 13)' in str(error.__cause__)
        else:
            assert False, "it should have raised"
        assert "Unlucky: ('of all numbers', 13)" in failed.logs()
        assert (failed.outcome, failed.exit_code) == ("failed", 1)

        assert duckrow.submit(beside.double, 21).result() == 42
        assert duckrow.submit(os.getcwd, cwd="/").result() == "/"
        assert duckrow.submit(os.getenv, "COLOUR", env={"COLOUR": "red"}).result() == "red"
        lock = told(duckrow.JobFailed, duckrow.submit(threading.Lock).result)
        assert "returned an object of type _thread.lock, which cannot be stored" in lock
        assert "left no result" in told(duckrow.JobFailed, duckrow.submit(os._exit, 0).result)
        """,
    )


def test_objects_of_every_kind_of_class_of_a_script_come_back(slots: Duckrow) -> None:
    run_script(
        slots,
        r"""
        import abc, enum
        from dataclasses import dataclass, field
        from typing import Generic, NamedTuple, TypeVar

        T = TypeVar("T")

        class Plain:
            def __init__(self, x):
                self.x = x

        class Slots:
            __slots__ = ("x", "__hidden", "unset")

            def __init__(self, x):
                self.x, self.__hidden = x, x

        class OneSlot:
            __slots__ = "x"

            def __init__(self, x):
                self.x = x

        class SlotsAndMore(Slots):
            def __init__(self, x):
                super().__init__(x)
                self.more = x

        class SlotsBelow(Slots):
            __slots__ = ("y", "__weakref__")

            def __init__(self, x):
                super().__init__(x)
                self.y = x

        class Abstract(abc.ABC):
            __slots__ = ("x",)

        class Concrete(Abstract):
            __slots__ = ()

            def __init__(self, x):
                self.x = x

        class Boxed(Generic[T]):
            __slots__ = ("x",)

            def __init__(self, x):
                self.x = x

        @dataclass
        class Data:
            x: int
            more: list = field(default_factory=list)

        @dataclass(slots=True)
        class SlotsData:
            x: int
            more: list = field(default_factory=list)

        @dataclass(slots=True, frozen=True)
        class FrozenData:
            x: int

        class Pair(NamedTuple):
            x: int
            y: int = 0

        class Colour(enum.Enum):
            RED = 1

        KINDS = [Plain, Slots, OneSlot, SlotsAndMore, SlotsBelow, Concrete, Boxed]
        KINDS += [Data, SlotsData, FrozenData, Pair, Colour]

        def make(*kinds):
            return [kind(1) for kind in kinds]

        def made():
            return [kind(1) for kind in KINDS]

        with duckrow.Executor() as executor:
            first, second = executor.submit(make, *KINDS), executor.submit(made)
            third = executor.submit(lambda things: things, make(*KINDS))
        for future in (first, second, third):
            things = future.result()
            assert [type(thing) for thing in things] == KINDS
            assert all(thing.x == 1 for thing in things[:-1]) and things[-1] is Colour.RED
            assert things[1]._Slots__hidden == 1 and not hasattr(things[1], "unset")
            assert not hasattr(things[1], "__dict__") and not hasattr(things[8], "__dict__")
            assert things[3].more == 1 and things[4].y == 1
            assert things[7] == Data(1) and things[8] == SlotsData(1) and things[9] == FrozenData(1)
        """,
    )
    run_script(slots, "assert duckrow.job(1).result()[1].x == 1")  # where nobody knows these classes


def test_a_result_may_be_large(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        def make(size):
            return {"data": bytearray(size)}

        assert len(duckrow.submit(make, 100 * 2**20).result()["data"]) == 100 * 2**20
        """,
    )


def test_a_result_can_be_had_in_another_process(slots: Duckrow) -> None:
    run_script(slots, "duckrow.submit(lambda: {'loss': 0.5}, name='fit')")
    run_script(
        slots,
        """
        job = duckrow.job(1)
        assert (job.name, job.result()) == ("fit", {"loss": 0.5})
        """,
    )


def test_a_function_that_is_retried_has_the_result_of_the_last_attempt(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        def second_time_lucky():
            with open("tried", "a") as file:
                print("try", file=file)
            if os.environ["DUCKROW_ATTEMPT"] == "1":
                sys.exit(4)
            return "lucky"

        job = duckrow.submit(second_time_lucky, retries=1, backoff=0)
        assert job.result() == "lucky"
        assert (job.view().attempts, open("tried").read()) == (2, "try\\ntry\\n")
        """,
    )


def test_all_of_it_works_where_an_event_loop_runs_as_in_a_notebook(slots: Duckrow) -> None:
    source = """
        import asyncio

        source = "def square(x): return power(x, 2)\\ndef power(x, y): return x ** y"
        cell = {"__name__": "__main__"}
        exec(compile(source, "<cell>", "exec"), cell)

        async def notebook():
            assert duckrow.submit(cell["square"], 4).result() == 16
            with duckrow.Executor() as executor:
                assert list(executor.map(cell["square"], [1, 2])) == [1, 4]
                assert await asyncio.wrap_future(executor.submit(cell["square"], 5)) == 25

        asyncio.run(notebook())
        """
    run_script(slots, source)


# -- the executor ---------------------------------------------------------------------------------------------------


def test_an_executor_gives_futures(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        from concurrent.futures import FIRST_EXCEPTION, CancelledError, as_completed, wait

        def late(x):
            time.sleep(0.2 if x == 0 else 0)
            return x * x

        def when_told(x):
            while x == 0 and not os.path.exists("go"):
                time.sleep(0.01)
            return x

        def ratio(x, y):
            return x / y

        with duckrow.Executor(project="search") as executor:
            assert list(executor.map(late, range(4))) == [0, 1, 4, 9]
            assert list(executor.map(ratio, [2, 9, 8], [1, 3, 4], chunksize=2)) == [2, 3, 2]
            assert list(executor.map(late, [])) == []
            futures = as_completed([executor.submit(when_told, x) for x in range(3)])
            assert {next(futures).result(), next(futures).result()} == {1, 2}
            open("go", "w").close()
            assert [future.result() for future in futures] == [0]
            broken = executor.submit(ratio, 1, y=0)
            done, _ = wait([broken], return_when=FIRST_EXCEPTION)
            assert isinstance(broken.exception(), ZeroDivisionError) and done == {broken}
            last = executor.submit(late, 0)
            assert last.job.name == "late" and last.job.view().project == "search"
        assert last.done(), "leaving `with` waits"
        assert told(RuntimeError, executor.submit, late, 1) == "cannot schedule new futures after shutdown"

        executor = duckrow.Executor()
        running = [executor.submit(time.sleep, 600) for _ in range(2)]
        while not all(future.running() for future in running):
            time.sleep(0.01)
        waiting = [executor.submit(time.sleep, 600) for _ in range(3)]
        assert not running[0].cancel()
        assert waiting[0].cancel() and waiting[0].cancel() and waiting[0].cancelled()
        assert waiting[0].job.wait().outcome == "killed"
        executor.shutdown(wait=False, cancel_futures=True)
        assert wait(waiting).done == set(waiting) and all(future.cancelled() for future in waiting)
        for future in running:
            future.job.kill(now=True)
            assert "was killed by SIGKILL" in told(duckrow.JobFailed, future.result)
        executor.shutdown()
        """,
    )


def test_an_executor_runs_no_more_jobs_than_it_has_workers(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        def busy(lock):
            os.mkdir(lock)
            time.sleep(0.02)
            os.rmdir(lock)

        with duckrow.Executor(max_workers=1) as executor:
            futures = [executor.submit(busy, "lock") for _ in range(3)]
            skipped = executor.submit(busy, "lock")
            assert skipped.job.view().held and skipped.cancel()
            list(executor.map(busy, ["lock"] * 2))
        assert all(future.exception() is None for future in futures)
        """,
    )


def test_a_slow_callback_keeps_no_job_waiting_and_lets_nobody_cancel_what_runs(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        import threading

        def leave(name):
            open(name, "w").close()
            while name == "third" and not os.path.exists("go"):
                time.sleep(0.01)
            return name

        def until_there(name):
            while not os.path.exists(name):
                time.sleep(0.01)

        heard = []
        with duckrow.Executor(max_workers=1) as executor:
            first, second = executor.submit(leave, "first"), executor.submit(leave, "second")
            first.add_done_callback(lambda _: (until_there("second"), heard.append("first")))
            assert second.result() == "second" and heard == ["first"]

            seen = threading.Event()
            fourth = executor.submit(leave, "fourth")
            fourth.add_done_callback(lambda _: seen.wait())
            third = executor.submit(leave, "third")
            until_there("third")
            assert not third.cancel() and third.job.view().state == "running"
            seen.set()
            open("go", "w").close()
            assert third.result() == "third"
        """,
    )


def test_a_map_that_takes_too_long_leaves_nothing_in_the_queue(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        from concurrent.futures import TimeoutError  # until Python 3.11 not the built-in one

        executor = duckrow.Executor(after=duckrow.submit("true", hold=True))
        results = executor.map(print, range(3), timeout=0.1)
        assert told(TimeoutError, next, results) is not None
        for job_id in (2, 3, 4):
            assert duckrow.job(job_id).wait().outcome == "killed"
        executor.shutdown()
        """,
    )


@pytest.mark.parametrize("workers", [0, True, "2"])
def test_an_executor_refuses_what_pythons_own_refuse_with_the_same_error(workers: Any) -> None:
    with pytest.raises(ValueError, match="max_workers must be greater than 0"):
        Executor(workers)


def test_a_result_that_ends_whoever_reads_it_ends_nobody(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        class Exits:
            def __reduce__(self):
                return sys.exit, ()

        class Silent:
            def __reduce__(self):
                return next, (iter(()),)

        with duckrow.Executor() as executor:
            assert "cannot be read here: SystemExit." in told(duckrow.JobFailed, executor.submit(Exits).result)
            assert "cannot be read here: StopIteration." in told(duckrow.JobFailed, executor.submit(Silent).result)
            assert told(ValueError, executor.map, print, [1], chunksize=-1).startswith("chunksize=-1")
        """,
    )


NESTED = """
    def deeper(levels):
        if levels == 0:
            return 0
        with duckrow.Executor() as executor:
            return 1 + executor.submit(deeper, levels - 1).result()

    def by_handle(levels):
        return 0 if levels == 0 else 1 + duckrow.submit(by_handle, levels - 1).result()
"""


def test_jobs_that_wait_for_jobs_of_their_own_do_not_stall_on_one_slot(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    run_script(
        duckrow,
        textwrap.dedent(NESTED)
        + textwrap.dedent("""
        assert duckrow.submit(deeper, 2).result() == 2
        """),
    )
    assert duckrow.submit("--wait", "--", *duckrow.command("submit", "--wait", "--", "true")) == 4


def test_a_job_that_waits_no_longer_takes_its_slot_back(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    run_script(
        duckrow,
        """
        def outer():
            duckrow.submit("while [ ! -e inner ]; do sleep 0.05; done").result()
            while not os.path.exists("outer"):
                time.sleep(0.01)

        duckrow.submit(outer)
        """,
    )
    duckrow.wait_for(2, "running")
    assert held_by(duckrow, 1) == 0
    (duckrow.work / "inner").touch()
    until(lambda: held_by(duckrow, 1) == WHOLE, "the slot")
    waiting = duckrow.submit("--", "true")
    assert duckrow.state(waiting) == "queued"
    (duckrow.work / "outer").touch()
    duckrow.wait_for(waiting, "succeeded")


def held_by(duckrow: Duckrow, job_id: int) -> int:
    """Its share of its slot."""
    ((holds,),) = duckrow.sql("SELECT holds FROM attempts WHERE job_id = ?", job_id)
    ((_, share),) = json.loads(holds)
    return int(share)


def test_a_job_on_a_gpu_that_waits_for_its_own_is_told_what_to_do(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0")
    run_script(duckrow, textwrap.dedent(NESTED) + "duckrow.submit(by_handle, 1)")
    told = "Job 1 keeps its GPU while it waits for jobs that have not started."
    logs = duckrow.home / "runs"
    until(lambda: any(told in log.read_text() for log in logs.rglob("attempt-1.log")), "the sentence")


def test_a_job_that_is_removed_leaves_nobody_waiting(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        with duckrow.Executor(after=duckrow.submit("true", hold=True)) as executor:
            future = executor.submit(print)
            os.system(f"{sys.executable} -m duckrow rm {future.job.id} 2> /dev/null")
            assert str(future.exception()) == f"Job {future.job.id} was removed before it had a result."
        """,
    )


def submit_and_be_killed(duckrow: Duckrow, workers: int | None) -> None:
    """Four jobs of an executor, whose script is killed while they wait for a file."""
    script = write_script(
        duckrow,
        f"""
        def patient(x):
            while not os.path.exists("go"):
                time.sleep(0.01)
            return x

        with duckrow.Executor({workers}) as executor:
            for x in range(4):
                executor.submit(patient, x)
            print("submitted", flush=True)
        """,
    )
    caller = subprocess.Popen([sys.executable, script], cwd=duckrow.work, env=duckrow.env, stdout=subprocess.PIPE)
    assert caller.stdout is not None
    assert caller.stdout.readline() == b"submitted\n"
    duckrow.wait_for(1, "running")
    os.kill(caller.pid, signal.SIGKILL)
    caller.communicate()
    (duckrow.work / "go").touch()


def wait_for_success_of_four(duckrow: Duckrow) -> None:
    until(lambda: [duckrow.state(job_id) for job_id in range(1, 5)] == ["succeeded"] * 4, "their success")


def test_jobs_go_on_when_their_caller_is_killed(slots: Duckrow) -> None:
    submit_and_be_killed(slots, None)
    wait_for_success_of_four(slots)
    assert len(re.findall(r"patient +succeeded", slots("ls", "--all").stdout)) == 4
    run_script(slots, "assert [duckrow.job(number).result() for number in range(1, 5)] == [0, 1, 2, 3]")


def test_jobs_that_wait_for_a_worker_are_held_and_not_lost_when_their_caller_is_killed(slots: Duckrow) -> None:
    submit_and_be_killed(slots, 1)
    slots.wait_for(1, "succeeded")
    assert slots.job(4)["held"]
    slots("release", "2-4")
    wait_for_success_of_four(slots)


def test_a_script_that_does_not_wait_may_end_before_its_jobs(slots: Duckrow) -> None:
    run_script(
        slots,
        """
        def patient():
            while not os.path.exists("go"):
                time.sleep(0.01)

        executor = duckrow.Executor()
        executor.submit(patient)
        executor.shutdown(wait=False)
        """,
    )
    slots.wait_for(1, "running")
    (slots.work / "go").touch()
    slots.wait_for(1, "succeeded")


# -- what is shown really runs --------------------------------------------------------------------------------------


def test_the_examples_of_the_page_run(slots: Duckrow) -> None:
    page = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 6
    said = run_script(slots, "\n".join(blocks))
    assert said.startswith("1 done succeeded 0\ndone\n")
    assert "{'lr': 0.1, 'loss': 1.0}" in said
    assert "Job 5 (echo) failed with exit code 3. The end of its log:\n    no such data" in said


def test_the_example_runs(slots: Duckrow) -> None:
    command = [sys.executable, str(ROOT / "examples/python_jobs.py")]
    done = subprocess.run(command, cwd=slots.work, env=slots.env, capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.stdout, done.returncode) == ("best lr: 0.1\n", 0), done.stderr
    assert done.stderr == "lr 10 failed: the loss exploded in epoch 2\n"
