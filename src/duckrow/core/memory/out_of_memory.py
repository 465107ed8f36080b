"""Whether an attempt ran out of memory, and of which kind, judged by the end of its log and its exit status."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from duckrow.core.named_tuple import NamedTuple

Memory = Literal["gpu", "host"]

_NEAR_THE_END = 60  # lines; stack lines, and lines that a message indents below itself, do not count
_SOON = 3
_LONGEST_LINE = 4000
_SIGKILL, _SHELL_SAW_SIGKILL = 9, 137

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_TRACEBACK = re.compile(r"(?:Original |Exception Group )?Traceback \(most recent call last\)(?::$| ─|$)")
_FRAME = re.compile(r'  File "[^"]+", line \d+')
_STACK = ("", " ", "│", "╰", "-")  # how a line of a stack starts, in the column of the word Traceback
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:\([\w.]+\))?(?::|$)")
_CHAINED = re.compile(r"The above exception was|During handling of the above|Exception ignored|atexit|Logging error")

# Messages about memory, in this order: host words that hold GPU words, GPU words that hold host words, host words.
# Left out, since more memory does not help: a full disk (also a ResourceExhaustedError), a gRPC quota (also
# RESOURCE_EXHAUSTED), Triton's shared memory, glibc's static TLS block, an XlaRuntimeError about something else.
_SURELY_HOST = re.compile(
    r"by allocator cpu|DefaultCPUAllocator: |MemoryError: Unable to allocate|ray\.\S*OutOfMemoryError"
    r"|(?:DataLoader|worker)\b.*killed by signal: Killed|\boom[-_ ]?kill|Out of memory: Kill"
    r"|srun: error: .*Out Of Memory",
    re.I,
)
_GPU = re.compile(
    r"(?<!java\.lang\.)\bOutOfMemoryError(?::|$)|(?:cuda|\bhip|\bmps |gpuassert).{0,200}?\bout of memory\b"
    r"|ErrorOutOfMemory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|\b(?:cu|hip|roc)\w+_alloc_failed\b"
    r"|resource[_ ]?exhausted.{0,200}?(?:out of memory|(?:failed|unable) to allocate|\boom\b)"
    r"|out of memory (?:while trying to allocate|allocating|to allocate) \d|out of gpu memory"
    r"|OOM when allocating tensor|failed to allocate memory \[Op:|BFCArena::AllocateRaw.*failed to allocate"
    r"|std::bad_alloc.*(?:cuda|rmm)|RMM_ERROR_OUT_OF_MEMORY"
    r"|No available memory for the cache blocks|less than desired GPU memory utilization",
    re.I,
)
_HOST = re.compile(
    r"(?:^|[\s.])_?(?:Array)?MemoryError(?::|$)|\bstd::bad_alloc\b"
    r"|\b[Cc]annot allocate (?:memory(?! in static TLS)|vector of size)|memory allocation of \d+ bytes failed"
)
_SIGNS: tuple[tuple[Memory, re.Pattern[str]], ...] = (("host", _SURELY_HOST), ("gpu", _GPU), ("host", _HOST))
_KILLED = re.compile(r"(?:\S.*: line \d+: +\d+ )?Killed\b")  # how a shell reports that what it ran was killed
# If such words are in a line that is not an exception, it does not mean that memory ran out.
_NOT_MEANT = re.compile(r"(?<!NCCL )warn|\b(?:avoid|prevent|caught|if|hint)\b", re.I)
_ADVICE = "If reserved"  # PyTorch's, after its figures
_GOES_ON = re.compile(r"\b(?:retry|retrying|trying again|skipping|falling back|recover\w*)\b", re.I)
# Exceptions that only report the failure of another process or library: the cause is printed above them.
_ECHO = re.compile(
    r"ChildFailedError|CalledProcessError|Process(?:Exited|Raised)Exception|SignalException|SystemExit|KeyboardInterrupt"
    r"|Engine core init|EngineDeadError|RayTaskError|ActorDied|WorkerCrashed|BrokenProcessPool|exited unexpectedly"
    r"|BrokenPipeError|Connection\w*Error|EOFError|Dist(?:Backend|Network|Store)Error|unhandled cuda error"
    r"|CU(?:DNN|BLAS)_STATUS_NOT_INITIALIZED|llama_context|for LlamaCpp|Failed to load model"
)

_MESSAGE_LINES = 10
_SIZE = r"(\d[\d,]*(?:\.\d+)?)\.? ?(bytes|[KMGT]?i?B|[KMGT])\b"
_ASKED = re.compile(rf"(?:allocat(?:e|ing)(?: request for)?|Requested *:|utilization \([\d.]+,) {_SIZE}")
_HELD = (
    re.compile(rf"this process has {_SIZE} memory in use"),
    re.compile(rf"{_SIZE} reserved in total by PyTorch"),
    re.compile(rf"{_SIZE} is (?:allocated|reserved) by PyTorch"),  # twice, and they add up
    re.compile(rf"{_SIZE} already allocated"),
    re.compile(rf"allocated(?: so far| *): {_SIZE}"),
)
_IN_ALL = re.compile(rf"total allocation: +{_SIZE}")  # XLA's, for the whole program


class _Said(NamedTuple):
    at: int  # the line
    text: str
    raised: bool  # the last line of a traceback
    afresh: bool  # no earlier exception led to its traceback


class _Sign(NamedTuple):
    at: int
    place: int  # its index among all lines without stacks
    memory: Memory


def ran_out_of_memory(
    lines: Sequence[str], exit_code: int | None, signal: int | None, oom_killed: bool | None = None
) -> Memory | None:
    """Which memory ran out; None if none did.

    `lines`: the last 200 or so of the log, newest last. `oom_killed`: whether the kernel killed one of the attempt's
    processes for its memory; None: nobody knows, and then a shell's "Killed" counts as such. SIGKILL by itself says
    nothing; attempts that we stopped are not asked about.
    """
    if exit_code == 0:
        return None
    killed = was_killed(exit_code, signal)
    signs = [] if killed and oom_killed else _signs(_cleaned(lines), killed and oom_killed is None)
    return signs[-1].memory if signs else "host" if oom_killed else None


def was_killed(exit_code: int | None, signal: int | None) -> bool:
    """By SIGKILL: the process itself, or the last command of its shell."""
    return signal == _SIGKILL or exit_code == _SHELL_SAW_SIGKILL


def memory_wanted_mb(lines: Sequence[str], seen_mb: int = 0) -> int | None:
    """What the attempt held plus what it asked for when memory ran out, if the log says so: it needs at least that.

    `seen_mb`: what was seen of it, for messages that say only what it asked for.
    """
    cleaned = _cleaned(lines)
    signs = _signs(cleaned, killed=False)
    ends = [*(sign.at for sign in signs[1:]), len(cleaned)]
    for sign, end in reversed(list(zip(signs, ends, strict=False))):
        message = " ".join(line.strip() for line in cleaned[sign.at : min(end, sign.at + _MESSAGE_LINES)])
        if sign.memory == signs[-1].memory and (asked := _ASKED.findall(message)):
            held = next((found for pattern in _HELD if (found := pattern.findall(message))), [])
            in_all = [_bytes(*size) for size in _IN_ALL.findall(message)]
            wanted = max(sum(_bytes(*size) for size in [asked[0], *held]), *in_all, 0)
            return math.ceil(wanted / (1 << 20)) + (0 if held or in_all else seen_mb)
    return None


def _signs(lines: Sequence[str], killed: bool) -> list[_Sign]:
    """All signs of the memory that ran out in the end; empty if the attempt recovered."""
    said = list(_said(lines))
    signs: list[_Sign] = []
    for place, line in enumerate(said):
        memory = _memory_in(line, killed)
        is_about_it = memory or (signs and place - signs[-1].place <= _SOON)
        if is_about_it and not line.raised and _GOES_ON.search(line.text):
            signs = []
        elif memory:
            signs.append(_Sign(line.at, place, memory))
        elif line.afresh and not _ECHO.search(line.text):
            signs = []
    later = said[signs[-1].place + 1 :] if signs else []
    return signs if sum(not line.text[0].isspace() for line in later) < _NEAR_THE_END else []


def _memory_in(line: _Said, killed: bool) -> Memory | None:
    if killed and _KILLED.match(line.text):
        return "host"
    if not line.raised and _NOT_MEANT.search(line.text.partition(_ADVICE)[0]):
        return None
    return next((memory for memory, pattern in _SIGNS if pattern.search(line.text)), None)


def _said(lines: Sequence[str]) -> Iterator[_Said]:
    """The lines without the stacks of tracebacks: their source lines may name an error that was not raised."""
    column: int | None = None  # where the current traceback begins, after a launcher's prefix
    afresh = False
    for at, line in enumerate(lines):
        if head := _TRACEBACK.search(line):
            column = head.start() if line.endswith(":") else 0
            before = (earlier for earlier in reversed(lines[max(at - 3, 0) : at]) if earlier[column:].strip())
            afresh = not _CHAINED.search(next(before, ""))
        elif column is None and (frame := _FRAME.search(line)):
            column, afresh = frame.start(), False
        elif line.strip() and (column is None or line[column : column + 1] not in _STACK):
            raised = column is not None and _EXCEPTION.match(line, column) is not None
            yield _Said(at, line, raised, raised and afresh)
            column = None if raised else column


def _cleaned(lines: Sequence[str]) -> list[str]:
    return [_COLOUR.sub("", line[:_LONGEST_LINE]).rstrip() for line in lines]


def _bytes(number: str, unit: str) -> float:
    return float(number.replace(",", "")) * 1024.0 ** "bkmgt".index(unit[0].lower())
