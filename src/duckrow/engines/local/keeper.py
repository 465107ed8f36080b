"""The keeper: a small process, parent of all attempts of a host, that starts them and sees how they end.

It is a program of its own, run by path with the bare standard library, so that it starts in milliseconds and no
fault of the scheduler reaches it. When its host dies it goes on until its last attempt has ended.

What it sees it appends to its journal, which any later host can read, and sends to its host:

    S attempt                       about to start; on disk before the attempt's first instruction
    P attempt pid boottime          its process, and the time since boot when that was written
    E attempt status time left silent  its wait status, as the kernel gave it; whether it left processes behind;
                                    whether it has printed nothing and left no file, so that its folder is gone
    N attempt later reason          it could not be started; whether trying again later makes sense
    D                               the host is gone: no attempt will start any more

Its host sends frames of marshal: `("env", id, variables)` and `("start", [order, ...])`.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
COALESCE_MS = 5  # how long the news of a start may wait for the news of its end
READ_BYTES = 1 << 18
# The keeper shrugs these off; its attempts must not.
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
DEFAULT_IN_ATTEMPTS = (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ)
# The machine's trouble, not the job's: the same start may work in a while.
PASSING = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
    errno.ENOMEM,
    errno.EIO,
)


def first_log(folder: str) -> str:
    return folder + "/attempt-1.log"


class CappedLog:
    """A log that keeps its beginning and its end within a number of bytes; the keeper is its only writer."""

    def __init__(self, path: str, cap: int) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.cap = max(cap, 4096)
        self.head = self.cap // 2
        self.keep = self.cap // 4
        self.size = os.lseek(self.fd, 0, os.SEEK_END)
        self.cut = 0

    def write(self, data: bytes) -> None:
        if self.size + len(data) > self.cap:
            data = self._make_room(data)
        os.pwrite(self.fd, data, self.size)
        self.size += len(data)

    def _make_room(self, data: bytes) -> bytes:
        """Drop the middle: what is written next stands right after the head, behind a line that says so."""
        fill = data[: max(self.head - self.size, 0)]
        if fill:
            os.pwrite(self.fd, fill, self.size)
            self.size += len(fill)
            data = data[len(fill) :]
        tail_at = max(self.head, self.size - self.keep)
        tail = (os.pread(self.fd, self.size - tail_at, tail_at) + data)[-self.keep :]
        self.cut += (self.size - self.head) + len(data) - len(tail)
        os.ftruncate(self.fd, self.head)
        self.size = self.head
        return b"\n[duckrow: about %d bytes cut here by --max-log]\n" % self.cut + tail


class Keeper:
    def __init__(self, journal: int, channel: int) -> None:
        self.journal = journal  # open, and locked by our host for us: while we hold it, the keeper lives
        self.channel = channel
        self.host_alive = True
        self.null = os.open(os.devnull, os.O_RDONLY)
        self.environments: dict[int, dict[bytes, bytes]] = {}
        self.attempts: dict[int, int] = {}  # pid -> attempt
        self.folders: dict[int, str] = {}  # attempt -> its folder, if that was made for it
        self.spares: list[str] = []  # folders of silent attempts, for the next ones
        self.pipes: dict[int, tuple[int, CappedLog]] = {}  # read end -> (attempt, log)
        self.known_orphans: set[int] = set()
        self.cwd = ""
        self.inbox = b""
        self.outbox = b""
        self.unwritten = b""  # journal lines that a full disk refused
        self.poller = select.poll()
        self.poller.register(channel, select.POLLIN)

    def run(self) -> None:
        waker, wakeup = os.pipe()
        for end in (waker, wakeup):
            os.set_blocking(end, False)
        self.poller.register(waker, select.POLLIN)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while self.host_alive or self.attempts or self.pipes:
            for fd, _ in self.poller.poll(self._patience_ms()) or self._flush():
                if fd == waker:
                    os.read(waker, 4096)
                    self.reap()
                elif fd == self.channel:
                    self.receive()
                else:
                    self.pump(fd)
            if self.unwritten:
                self.record("")
        for folder in self.spares:
            os.unlink(first_log(folder))
            os.rmdir(folder)

    def _patience_ms(self) -> int | None:
        if self.unwritten:
            return 200
        return COALESCE_MS if self.outbox else None

    # -- the host ---------------------------------------------------------------------------------------------

    def receive(self) -> None:
        try:
            data = os.read(self.channel, READ_BYTES)
        except ConnectionResetError:  # the host died with news from us unread
            data = b""
        if not data:
            self.host_alive = False
            self.poller.unregister(self.channel)
            self.outbox = b""
            self.record("D\n")
            return
        self.inbox += data
        while len(self.inbox) >= 4:
            end = 4 + int.from_bytes(self.inbox[:4], "little")
            if len(self.inbox) < end:
                break
            message = marshal.loads(self.inbox[4:end])
            self.inbox = self.inbox[end:]
            if message[0] == "env":
                self.environments[message[1]] = {
                    os.fsencode(name): os.fsencode(value) for name, value in message[2].items()
                }
            else:
                self.start_all(message[1])
        self.reap()

    def tell(self, lines: str, *, now: bool) -> None:
        if self.host_alive:
            self.outbox += lines.encode("utf-8", "replace")
            if now:
                self._flush()

    def _flush(self) -> list[tuple[int, int]]:
        try:
            while self.outbox:
                self.outbox = self.outbox[os.write(self.channel, self.outbox) :]
        except OSError:  # the host died between two looks; the journal has it all
            self.outbox = b""
        return []

    def record(self, lines: str) -> bool:
        """Append to the journal. On a full disk the lines are kept and tried again; says whether they are safe."""
        self.unwritten += lines.encode("utf-8", "replace")
        try:
            self.unwritten = self.unwritten[os.write(self.journal, self.unwritten) :]
        except OSError:
            pass
        return not self.unwritten

    # -- starting ---------------------------------------------------------------------------------------------

    def start_all(self, orders: list[dict]) -> None:  # type: ignore[type-arg]
        if not self.promise(orders):
            for order in orders:
                self.refuse(order["attempt"], OSError(errno.ENOSPC, "the journal cannot be written: disk full?"))
            return
        for order in orders:
            try:
                self.start(order)
            except OSError as error:
                self.refuse(order["attempt"], error)
            except ValueError as error:
                self.refuse(order["attempt"], OSError(errno.EINVAL, str(error)))

    def promise(self, orders: list[dict]) -> bool:  # type: ignore[type-arg]
        """Write that these attempts are about to start. A start that is not on disk must not happen."""
        if self.unwritten and not self.record(""):
            return False
        lines = "".join([f"S {order['attempt']}\n" for order in orders]).encode()
        written = 0
        try:
            written = os.write(self.journal, lines)
        except OSError:
            pass
        if written < len(lines):
            os.ftruncate(self.journal, os.fstat(self.journal).st_size - written)
        return written == len(lines)

    def start(self, order: dict) -> None:  # type: ignore[type-arg]
        attempt = order["attempt"]
        environment = self.environments[order["environment"]].copy()
        for name, value in order["extra"].items():
            environment[os.fsencode(name)] = os.fsencode(value)
        actions: list[tuple[int, ...]] = []
        output = None
        try:
            if order["output"] != "terminal":
                actions.append((os.POSIX_SPAWN_DUP2, self.null, 0))
            if order["output"] == "log":
                output = self.open_log(order)
                actions.append((os.POSIX_SPAWN_DUP2, output, 1))
                actions.append((os.POSIX_SPAWN_DUP2, output, 2))
            else:
                self.make_folder(order)
            if self.cwd != order["cwd"]:
                self.cwd = ""
                os.chdir(order["cwd"])
                self.cwd = order["cwd"]
            pid = os.posix_spawn(
                order["argv"][0],
                order["argv"],
                environment,
                file_actions=actions,
                setsid=order["output"] != "terminal",
                setsigmask=(),
                setsigdef=DEFAULT_IN_ATTEMPTS,
            )
        finally:
            if output is not None:
                os.close(output)
        self.attempts[pid] = attempt
        self.record(f"P {attempt} {pid} {time.clock_gettime(time.CLOCK_BOOTTIME):.2f}\n")
        self.tell(f"P {attempt} {pid}\n", now=False)

    def open_log(self, order: dict) -> int:  # type: ignore[type-arg]
        """What the attempt writes to: its log itself, or a pipe that the keeper empties into a capped log."""
        self.make_folder(order)
        if order["max_log"] is None:
            return os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.folders.pop(order["attempt"], None)
        log = CappedLog(order["log"], order["max_log"])
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        self.pipes[read_end] = (order["attempt"], log)
        self.poller.register(read_end, select.POLLIN)
        return write_end

    def make_folder(self, order: dict) -> None:  # type: ignore[type-arg]
        """Make the folder of the run, from that of a silent attempt if there is one.

        To move a folder with an empty log takes a tenth of the time that most file systems need to make both.
        """
        path = order["folder"]
        if order["log"] == first_log(path):
            self.folders[order["attempt"]] = path
            if self.spares:
                spare = self.spares.pop()
                try:
                    os.rename(spare, path)
                    return
                except OSError:
                    self.spares.append(spare)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
        except FileNotFoundError:
            os.makedirs(path, 0o700, exist_ok=True)

    def refuse(self, attempt: int, error: OSError) -> None:
        what = f"{error.strerror}: {error.filename}" if error.filename else f"{error.strerror or error}"
        line = f"N {attempt} {int(error.errno in PASSING)} {what}\n".replace("\0", "")
        self.record(line)
        self.tell(line, now=True)

    # -- ending -----------------------------------------------------------------------------------------------

    def reap(self) -> None:
        lines = ""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                attempt = self.attempts.pop(pid, None)
                if attempt is None:
                    self.known_orphans.discard(pid)
                    continue
                self.drain(attempt)
                at, left = time.time(), self.has_leftovers(pid)
                silent = not left and self.keep_folder(attempt)
                lines += f"E {attempt} {status} {at:.6f} {int(left)} {int(silent)}\n"
        except ChildProcessError:
            pass
        if lines:
            self.record(lines)
            self.tell(lines, now=True)

    def has_leftovers(self, pid: int) -> bool:
        """Whether the attempt may have left processes: in its group, or orphans that fell to the keeper."""
        try:
            os.killpg(pid, 0)
            return True
        except OSError:
            pass
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as children:
                orphans = {int(child) for child in children.read().split()} - self.attempts.keys()
        except OSError:
            return False
        fresh = orphans - self.known_orphans
        self.known_orphans = orphans
        return bool(fresh)

    def keep_folder(self, attempt: int) -> bool:
        """Keep the folder of an attempt that printed nothing and left no file, for the next one."""
        folder = self.folders.pop(attempt, None)
        if folder is None:
            return False
        try:
            if os.stat(first_log(folder)).st_size or len(os.listdir(folder)) > 1:
                return False
        except OSError:
            return False
        self.spares.append(folder)
        return True

    # -- capped logs ------------------------------------------------------------------------------------------

    def pump(self, fd: int) -> bool:
        """Move what the pipe holds; says whether there may be more."""
        if fd not in self.pipes:
            return False
        _, log = self.pipes[fd]
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            try:
                log.write(data)
            except OSError:
                pass  # disk full: output is lost, the job is not
            return True
        self.poller.unregister(fd)
        os.close(fd)
        os.close(log.fd)
        del self.pipes[fd]
        return False

    def drain(self, attempt: int) -> None:
        for fd in [fd for fd, (owner, _) in self.pipes.items() if owner == attempt]:
            while self.pump(fd):
                pass


def main() -> None:
    journal, channel, terminal = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "terminal"
    if not terminal:
        os.setsid()
        # Whatever else was open where the host was started is not the jobs' business.
        for fd in range(3, max(journal, channel)):
            if fd not in (journal, channel):
                os.closerange(fd, fd + 1)
        os.closerange(max(journal, channel) + 1, 1 << 16)
    for fd in (journal, channel):
        os.set_inheritable(fd, False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # Processes that an attempt leaves behind become the keeper's children, so it knows of them.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    Keeper(journal, channel).run()


if __name__ == "__main__":
    main()
