"""Apply functions: called where they are as long as that program lives, and as copies when it has ended."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import duckrow.dropin.quackpack as qp
from duckrow.dropin.quackpack.apply_calls import Answer, ApplyFunction, call_all, call_stored, store_functions
from duckrow.dropin.quackpack.apply_server import ApplyServer, ask
from tests.conftest import until


def counter() -> ApplyFunction:
    calls: list[str] = []

    def numbered(cmd: str, env: dict[str, str]) -> str:
        calls.append(cmd)
        return f"{cmd} {len(calls) - 1}"

    return numbered


def test_an_attempt_that_asks_early_waits_for_its_own_answer(tmp_path: Path) -> None:
    server = ApplyServer([counter()], str(tmp_path))
    asked: list[Answer | None] = []
    thread = threading.Thread(target=lambda: asked.append(ask(str(tmp_path), "2.1")))
    thread.start()
    for attempt in ("1.1", "2.1"):
        server.launch(attempt, f"run {attempt}", "0,1")
    thread.join()
    first = ask(str(tmp_path), "1.1")
    server.close()
    assert [first, *asked] == [
        Answer("run 1.1 0"),
        Answer("run 2.1 1"),
    ]


def test_who_asks_a_program_that_has_ended_calls_copies_of_its_functions(tmp_path: Path) -> None:
    functions = [counter()]
    store_functions(functions, str(tmp_path))
    ApplyServer(functions, str(tmp_path)).close()
    assert ask(str(tmp_path), "1.1") is None
    assert call_stored(str(tmp_path), "run", {"A": "b"}) == Answer("run 0")


def test_what_functions_change_in_the_environment_is_told_as_text() -> None:
    def change(cmd: str, env: dict[str, Any]) -> str:
        env["NEW"] = 3
        del env["OLD"]
        return cmd

    assert call_all([change], "run", {"KEPT": "1", "OLD": "2"}) == Answer("run", {"NEW": "3", "OLD": None})


def test_functions_that_cannot_be_copied_can_not_be_called_without_their_program(tmp_path: Path) -> None:
    lock = threading.Lock()
    store_functions([lambda cmd, env: f"{cmd} {lock}"], str(tmp_path))
    assert "The program that has this job's apply functions has ended" in call_stored(str(tmp_path), "run", {}).failure


def test_a_port_belongs_to_the_attempt_that_got_it(tmp_path: Path) -> None:
    server = ApplyServer([qp.fresh_port_mod_fn], str(tmp_path))
    server.launch("1.1", "python -m torch.distributed.launch x.py", "0")
    answer = ask(str(tmp_path), "1.1")
    server.close()
    assert answer is not None
    (claim,) = answer.claims
    port = answer.command.split()[3].partition("=")[2]
    names = f"duckrow-port-{port}\n"
    assert names in Path("/proc/net/unix").read_text()
    os.close(claim)
    until(lambda: names not in Path("/proc/net/unix").read_text(), "the end of the claim, which the server lets go too")
