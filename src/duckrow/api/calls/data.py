"""Large data of calls: in separate files beside the call, shared by calls with the same data.

Such a file is named after its content. The next call gets a hard link to it, so the data is on disk once, and goes
with the last folder that has it.
"""

from __future__ import annotations

import os
import pickle

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import IO, Any

    from typing_extensions import Buffer

    Cut = tuple[int, str, int]  # the place in the call, the file with the missing data, and its size

PROTOCOL = 5  # of pickles
INDEX = "call-data.pkl"
_PREFIX = "data-"
_LARGE_BYTES = 8 << 20

_stored: dict[str, str] = {}  # name: where this process wrote it


class CallWriter:
    """What a pickler writes to. Picklers write large data one by one, and the rest in frames of 64 kB."""

    def __init__(self, file: IO[bytes], folder: str) -> None:
        self._file = file
        self._folder = folder
        self._frames: list[bytes] = []
        self._frames_size = 0
        self._cuts: list[Cut] = []
        self.new_bytes = 0  # large data that no earlier call had

    def write(self, data: Buffer) -> int:
        size = memoryview(data).nbytes
        if size >= _LARGE_BYTES:
            self._write_frames()
            self._cut_out(data, size)
            return size
        self._frames.append(bytes(data))
        self._frames_size += size
        if self._frames_size >= _LARGE_BYTES:  # such as a long list
            joined = b"".join(self._frames)
            self._frames, self._frames_size = [], 0
            self._cut_out(joined, len(joined))
        return size

    def finish(self, protocol: int) -> None:
        self._write_frames()
        if self._cuts:
            with open(f"{self._folder}/{INDEX}", "wb", opener=_private) as file:
                pickle.dump(self._cuts, file, protocol=protocol)

    def _write_frames(self) -> None:
        self._file.writelines(self._frames)
        self._frames, self._frames_size = [], 0

    def _cut_out(self, data: Buffer, size: int) -> None:
        import hashlib

        name = f"{_PREFIX}{hashlib.blake2b(data, digest_size=16).hexdigest()}"
        self._cuts.append((self._file.tell(), name, size))
        path = f"{self._folder}/{name}"
        if os.path.exists(path) or _link(_stored.get(name), path):
            return
        with open(path, "wb", opener=_private) as file:
            file.write(data)
        _stored[name] = path
        self.new_bytes += size


def forget_data(folder: str) -> None:
    """Remove the data of an earlier call in this folder."""
    if os.path.exists(f"{folder}/{INDEX}"):
        for name in os.listdir(folder):
            if name == INDEX or name.startswith(_PREFIX):
                os.unlink(f"{folder}/{name}")


def with_data(file: IO[bytes], folder: str) -> Any:
    """The call from here on, with its data put back."""
    try:
        with open(f"{folder}/{INDEX}", "rb") as index:
            return _Reader(file, folder, pickle.load(index))
    except FileNotFoundError:
        return file


class _Reader:
    """Reads several files as one, for an unpickler."""

    def __init__(self, file: IO[bytes], folder: str, cuts: list[Cut]) -> None:
        self._parts: list[tuple[str | None, int]] = []  # (another file or None, how much of it is left)
        at = file.tell()
        for place, name, size in cuts:
            self._parts += [(None, place - at), (f"{folder}/{name}", size)]
            at = place
        self._parts.append((None, os.fstat(file.fileno()).st_size - at))
        self._call = file
        self._data: IO[bytes] | None = None

    def readinto(self, target: Any) -> int:
        view, done = memoryview(target).cast("B"), 0
        while done < len(view) and self._parts:
            source, left = self._now(len(view) - done)
            count = source.readinto(view[done : done + left])  # type: ignore[attr-defined]
            self._has_read(count)
            done += count
        return done

    def read(self, size: int) -> bytes:
        found: list[bytes] = []
        while size > 0 and self._parts:
            source, left = self._now(size)
            data = source.read(left)
            self._has_read(len(data))
            found.append(data)
            size -= len(data)
        return found[0] if len(found) == 1 else b"".join(found)  # large data is not copied again

    def readline(self) -> bytes:
        line = b""
        while not line.endswith(b"\n") and (more := self.read(1)):
            line += more
        return line

    def _now(self, wanted: int) -> tuple[IO[bytes], int]:
        """(the file to read, how much of what is wanted it has)."""
        path, left = self._parts[0]
        if path is None:
            return self._call, min(wanted, left)
        if self._data is None:
            self._data = open(path, "rb", buffering=0)  # noqa: SIM115 (it is read bit by bit)
        return self._data, min(wanted, left)

    def _has_read(self, count: int) -> None:
        path, left = self._parts[0]
        if count == 0 and left:
            raise EOFError(f"{path or 'The call'} is incomplete")
        self._parts[0] = (path, left - count)
        if left == count:
            del self._parts[0]
            if path is not None and self._data is not None:
                self._data.close()
                self._data = None


def _link(source: str | None, target: str) -> bool:
    """Whether it worked: the source may have been removed, or be on another file system."""
    try:
        os.link(source or "", target)
    except OSError:
        return False
    return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
