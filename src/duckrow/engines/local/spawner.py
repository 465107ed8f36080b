"""Starts an attempt's process: its folder, its log, its environment, its session."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.jobs.plain_command import plain_words
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import StartOrder
from duckrow.core.slurm.sbatch_variables import FILLED_IN, JOB_ID
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.keeper.link import KeeperLink
from duckrow.engines.local.preload.preloading import PreloadedParents
from duckrow.engines.local.processes.processes import TAG, tag_of
from duckrow.engines.local.program import find_program

# A longer command does not fit into one argument of a process, so the shell reads it from a file.
LONGEST_ARGUMENT = 100_000
# The host handles or ignores these. Its attempts must not ignore them.
_DEFAULT_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGCHLD,
)


_TAG = TAG.encode()
_PATH, _PWD = b"PATH", b"PWD"
_SLURM_JOB_ID, _FILLED_IN = JOB_ID.encode(), FILLED_IN.encode()


_Way = tuple["str | bytes", list[str]]
"""A program and its argv."""


class _Ready(NamedTuple):
    """All that is needed to start an attempt."""

    by_shell: _Way
    plain: list[str]  # the words of a command that needs no shell; none: it does
    environment: dict[bytes, bytes]
    actions: list[tuple[int, int, int]]
    log: int | None  # what it writes to, if that is not our own output


class Spawner:
    """`output`: `log` (each attempt has its own), `inherit` (our output) or `terminal` (our output and input)."""

    def __init__(
        self,
        link: KeeperLink,
        variables_of: Callable[[int], dict[str, str]],
        output: str,
        parents: PreloadedParents,
        groups: AttemptGroups,
    ) -> None:
        self._link = link
        self._preloaded = parents
        self._groups = groups
        self._variables_of = variables_of
        self._output = output
        self.null = os.open(os.devnull, os.O_RDONLY)
        self._environments: dict[int, dict[bytes, bytes]] = {}
        self._cwd = ""
        # attempt -> its folder, if we made it, and when the folder was last changed, if it is reused
        self._folders: dict[int, tuple[str, int | None]] = {}
        self._spares: list[tuple[str, int]] = []  # folders of silent attempts, for the next ones
        self._ready: dict[int, _Ready] = {}  # by attempt, for those whose turn is next
        if output != "terminal":
            _keep_our_files()

    def waits_for_parent(self, order: StartOrder) -> bool:
        """Whether its preloaded parent is still importing, so that it could start warm soon."""
        job = order.attempt.job
        if job.preload is None or self._output == "terminal":
            return False
        self._go_to(job.cwd)
        base = self.variables(job.environment_id)
        return self._preloaded.is_importing_for(job, base, order.runs_follow)

    def make_ready(self, order: StartOrder) -> None:
        """Do what can be done before its turn comes, so that its devices wait less. What fails is tried again then.

        Only for plain ones: a folder with a log can be taken back.
        """
        if self.is_plain(order):
            try:
                self._ready[order.attempt.id] = self._made_ready(order)
            except (OSError, ValueError):
                self.forget_folder(order.attempt.id)

    def is_plain(self, order: StartOrder) -> bool:
        """Whether nothing but a folder with a log is made for it."""
        attempt, job = order.attempt, order.attempt.job
        if self._output != "log" or attempt.log != _first_log(order.folder):
            return False
        return job.preload is None and job.needs is None and job.max_log_bytes is None

    def take_back(self, attempt_id: int) -> None:
        """It will not start after all: nothing that was made for it in advance stays."""
        path, _ = self._folders.pop(attempt_id, ("", None))
        ready = self._ready.pop(attempt_id, None)
        if ready is not None and ready.log is not None:
            os.close(ready.log)
            _remove_silent(path)

    def start(self, order: StartOrder) -> int:
        """The PID. Raises OSError or ValueError if the machine or the job does not allow it."""
        job = order.attempt.job
        ready = self._ready.pop(order.attempt.id, None) or self._made_ready(order)
        try:
            self._go_to(job.cwd)
            if job.preload is not None:
                pid = self._start_warm(order, ready.log)
                if pid is not None:
                    return pid
            # Looked for only now: the job before may have installed it.
            program = find_program(ready.plain[0], job.cwd, ready.environment.get(_PATH)) if ready.plain else None
            if program is not None:
                try:
                    return self._spawn((program, ready.plain), ready)
                except OSError:
                    pass  # a script without `#!`, perhaps: the shell runs it, or says what is wrong
            return self._spawn(ready.by_shell, ready)
        finally:
            if ready.log is not None:
                os.close(ready.log)

    def _spawn(self, way: _Way, ready: _Ready) -> int:
        return os.posix_spawn(
            *way,
            ready.environment,
            file_actions=ready.actions,
            setsid=self._output != "terminal",
            setsigmask=(),
            setsigdef=_DEFAULT_SIGNALS,
        )

    def _made_ready(self, order: StartOrder) -> _Ready:
        self._make_folder(order)
        environment = self._environment(order)
        by_shell = self._by_shell(order)
        plain = _without_shell(order.attempt.job, by_shell, environment)
        actions = [] if self._output == "terminal" else [(os.POSIX_SPAWN_DUP2, self.null, 0)]
        log = self._open_log(order) if self._output == "log" else None
        if log is not None:
            actions += [(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
        return _Ready(by_shell, plain, environment, actions, log)

    def _by_shell(self, order: StartOrder) -> _Way:
        job = order.attempt.job
        argv = [job.shell, "-c", job.command]
        if len(job.command) > LONGEST_ARGUMENT:
            argv = [job.shell, _write_script(order.folder, job.command)]
        if job.needs is not None and (needs := needs_from(job.needs)).mem_limit:
            argv = self._groups.make_for(order.attempt, needs.mem_mb or 0).entering(argv)
        return argv[0], argv

    def _go_to(self, folder: str) -> None:
        if self._cwd != folder:
            self._cwd = ""
            os.chdir(folder)
            self._cwd = folder

    def _start_warm(self, order: StartOrder, log: int | None) -> int | None:
        """The PID of a forked run; None if it must start cold, which its log says."""
        if self._output == "terminal":
            return None
        out, err = (1, 2) if log is None else (log, log)
        base = self.variables(order.attempt.job.environment_id)
        pid, why_cold = self._preloaded.start(order.attempt.job, base, self._own_variables(order), out, err)
        if why_cold:
            os.write(err, f"duckrow: this run starts cold: {why_cold}.\n".encode())
        return pid

    def _environment(self, order: StartOrder) -> dict[bytes, bytes]:
        return {**self.variables(order.attempt.job.environment_id), **self._own_variables(order)}

    def _own_variables(self, order: StartOrder) -> dict[bytes, bytes]:
        own = {**order.extra_environment, _TAG: tag_of(order.attempt.keeper, order.attempt.id).encode()}
        shared = self.variables(order.attempt.job.environment_id)
        if shared.get(_SLURM_JOB_ID) == _FILLED_IN:
            own[_SLURM_JOB_ID] = b"%d" % order.attempt.job.id
        if order.gentle_environment:
            own |= {name: value for name, value in order.gentle_environment.items() if name not in shared}
        return own

    def variables(self, number: int) -> dict[bytes, bytes]:
        if number not in self._environments:
            variables = self._variables_of(number)
            self._environments[number] = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
        return self._environments[number]

    def learn_variables(self, number: int, variables: dict[bytes, bytes]) -> None:
        """What is the answer to `variables`: a starter cannot ask the database."""
        self._environments[number] = variables

    def _open_log(self, order: StartOrder) -> int:
        """What the attempt writes to: its log, or a pipe that the keeper copies into a capped log."""
        attempt = order.attempt
        log = os.open(attempt.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if attempt.job.max_log_bytes is None:
            return log
        os.close(log)
        self._folders.pop(attempt.id, None)
        reading, writing = os.pipe()
        try:
            self._link.hand_over(attempt.id, reading, attempt.log, attempt.job.max_log_bytes)
        except BaseException:
            os.close(writing)
            raise
        return writing

    # -- folders ----------------------------------------------------------------------------------------------

    def _make_folder(self, order: StartOrder) -> None:
        """Make the folder of the run, if possible by renaming the folder of a silent attempt.

        On most file systems, renaming a folder with an empty log takes a tenth of the time of creating both.
        """
        path = order.folder
        if order.attempt.log == _first_log(path):
            if self._spares:
                spare, changed = self._spares.pop()
                try:
                    os.rename(spare, path)
                    self._folders[order.attempt.id] = (path, changed)
                    return
                except OSError:
                    self._spares.append((spare, changed))
            self._folders[order.attempt.id] = (path, None)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
        except FileNotFoundError:
            os.makedirs(path, 0o700, exist_ok=True)

    def keep_folder(self, attempt_id: int) -> bool:
        """Keep the folder of an attempt that printed nothing and left no files, for the next one; False if it did."""
        path, changed_before = self._folders.pop(attempt_id, ("", None))
        if not path:
            return False
        try:
            if os.stat(_first_log(path)).st_size:
                return False
            changed = os.stat(path).st_mtime_ns
            if changed != changed_before and len(os.listdir(path)) > 1:
                return False
        except OSError:
            return False
        self._spares.append((path, changed))
        return True

    def forget_folder(self, attempt_id: int) -> None:
        self._folders.pop(attempt_id, None)

    def forget_host(self) -> None:
        """We are a fork of a host, and what it has made ready is its own."""
        self._ready.clear()
        self._spares.clear()
        self._folders.clear()

    def close(self) -> None:
        for attempt_id in list(self._ready):
            self.take_back(attempt_id)
        for folder, _ in self._spares:
            _remove_silent(folder)
        os.close(self.null)


def _without_shell(job: QueuedJob, by_shell: _Way, environment: dict[bytes, bytes]) -> list[str]:
    """Its words, if a shell would only start a program. The variables are then as the shell sets them."""
    if by_shell[1] != [job.shell, "-c", job.command]:
        return []
    words = plain_words(job.command, job.shell, environment)
    if words is None:
        return []
    environment[_PWD] = _as_shells_say(job.cwd, environment.get(_PWD))
    return words


def _as_shells_say(folder: str, said: bytes | None) -> bytes:
    """The variable PWD: as it was, perhaps with links in it, if that is the folder."""
    path = os.fsencode(folder)
    if said is None or said == path:
        return path
    try:
        return said if os.path.isabs(said) and os.path.samefile(said, path) else path
    except OSError:
        return path


def _first_log(folder: str) -> str:
    return folder + "/attempt-1.log"


def _remove_silent(folder: str) -> None:
    """Remove a folder in which there is nothing but an empty log."""
    try:
        if os.stat(_first_log(folder)).st_size == 0:
            os.unlink(_first_log(folder))
            os.rmdir(folder)
    except OSError:
        pass  # there is more in it, or it is gone


def _write_script(folder: str, command: str) -> str:
    path = os.path.join(folder, "command.sh")
    with open(path, "wb") as file:
        file.write(os.fsencode(command) + b"\n")
    return path


def _keep_our_files() -> None:
    """Jobs must not inherit other files that were open when the host was started."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2:
                os.set_inheritable(int(name), False)
        except OSError:
            pass  # the listing itself
