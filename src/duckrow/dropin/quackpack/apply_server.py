"""Calls apply functions in their own program, one after the other, as jobs are launched.

So they keep their state from job to job. An attempt asks for its answer through a socket, and replaces itself by the
command that it gets.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from duckrow.dropin.quackpack.apply_calls import Answer, ApplyFunction, call_all

_SOCKET = "apply.socket"


class ApplyServer:
    """Answers each attempt once its functions have been called."""

    def __init__(self, functions: Sequence[ApplyFunction], folder: str) -> None:
        self._functions = functions
        self._answers: dict[str, Answer] = {}
        self._news = threading.Condition()
        self._closed = False
        self._socket = socket.socket(socket.AF_UNIX)
        with _short_path(folder) as path:
            self._socket.bind(path)
        self._socket.listen(128)
        threading.Thread(target=self._serve, daemon=True).start()

    def launch(self, attempt: str, command: str, gpus: str) -> None:
        """Call the functions for this attempt, here."""
        answer = call_all(self._functions, command, {**os.environ, "CUDA_VISIBLE_DEVICES": gpus})
        with self._news:
            self._answers[attempt] = answer
            self._news.notify_all()

    def close(self) -> None:
        with self._news:
            self._closed = True
            self._news.notify_all()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for answer in self._answers.values():
            _close(answer.claims)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as asked:
                attempt = asked.readline().decode().strip()
                with self._news:
                    self._news.wait_for(lambda: attempt in self._answers or self._closed)
                    answer = self._answers.pop(attempt, None)
                if answer is not None:
                    _send(connection, answer)
        except OSError:
            pass  # the attempt was killed


def _send(connection: socket.socket, answer: Answer) -> None:
    text = json.dumps([answer.command, answer.changes, answer.failure]).encode() + b"\n"
    try:
        sent = socket.send_fds(connection, [text], answer.claims)
        connection.sendall(text[sent:])
    finally:
        _close(answer.claims)


def _close(files: list[int]) -> None:
    for file in files:
        os.close(file)


def ask(folder: str, attempt: str) -> Answer | None:
    """The caller's answer for this attempt; None if the caller has ended."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            with _short_path(folder) as path:
                connection.connect(path)
            connection.sendall(f"{attempt}\n".encode())
            text, claims, _, _ = socket.recv_fds(connection, 1 << 16, 250)
            while not text.endswith(b"\n") and (more := connection.recv(1 << 16)):
                text += more
        except OSError:
            return None
    if not text.endswith(b"\n"):
        return None
    command, changes, failure = json.loads(text)
    return Answer(command, changes, failure, list(claims))


@contextmanager
def _short_path(folder: str) -> Iterator[str]:
    """The path of the socket, short enough for the kernel wherever the folder is."""
    at = os.open(folder, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{at}/{_SOCKET}"
    finally:
        os.close(at)
