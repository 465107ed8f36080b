"""The words of a script's `#SBATCH` lines, parsed as sbatch does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from duckrow.core.errors import UsageError

PREFIX = "#SBATCH"

LETTERS = {
    "A": "account", "a": "array", "b": "begin", "D": "chdir", "M": "clusters", "C": "constraint", "S": "core-spec",
    "c": "cpus-per-task", "d": "dependency", "m": "distribution", "e": "error", "x": "exclude", "B": "extra-node-info",
    "G": "gpus", "H": "hold", "i": "input", "J": "job-name", "L": "licenses", "k": "no-kill", "F": "nodefile",
    "w": "nodelist", "N": "nodes", "n": "ntasks", "o": "output", "O": "overcommit", "s": "oversubscribe",
    "p": "partition", "q": "qos", "Q": "quiet", "t": "time", "v": "verbose", "W": "wait",
}  # fmt: skip
# These take a value only after a `=`.
_FLAGS = frozenset(
    """contiguous exclusive get-user-env hold ignore-pbs nice no-kill no-requeue overcommit oversubscribe parsable
    propagate quiet reboot requeue resv-ports spread-job stepmgr test-only use-min-nodes verbose wait""".split()
)
_WITH_VALUE = frozenset(
    """account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint container
    container-id core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency
    distribution error exclude export export-file extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node
    gpus-per-socket gpus-per-task gres gres-flags hint input job-name kill-on-invalid-dep licenses mail-type mail-user
    mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nodefile nodelist nodes ntasks ntasks-per-core
    ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output partition power prefer priority profile qos
    reservation segment signal sockets-per-node switches thread-spec threads-per-core time time-min tmp tres-bind
    tres-per-task uid wait-all-nodes wckey wrap""".split()
)
NAMES = _FLAGS | _WITH_VALUE


def options_in(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(long name, value); the value of a flag is empty."""
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            yield _long(word[2:], rest)
        elif word.startswith("-") and len(word) > 1:
            yield from _short(word[1:], rest)
        else:
            raise UsageError(f"'{word}' in a {PREFIX} line is not an option.")


def _long(word: str, rest: Iterator[str]) -> tuple[str, str]:
    written, equals, value = word.partition("=")
    name = full_name(written)
    if not equals and name in _WITH_VALUE:
        value = _next(f"--{name}", rest)
    return name, value


def _short(letters: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    """`-J name`, `-Jname`, and combined flags: `-HQ`."""
    for at, letter in enumerate(letters, start=1):
        name = LETTERS.get(letter, f"-{letter}")
        if name in _WITH_VALUE:
            yield name, letters[at:].removeprefix("=") or _next(f"-{letter}", rest)
            return
        yield name, ""


def _next(option: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"{option} in a {PREFIX} line has no value.")
    return value


def full_name(written: str) -> str:
    """An option may be shortened as long as the beginning is unique; an unknown one stays as it is."""
    if written in NAMES:
        return written
    begun = [name for name in NAMES if written and name.startswith(written)]
    return begun[0] if len(begun) == 1 else written
