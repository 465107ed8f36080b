"""What the `#SBATCH` lines of a script mean for `duckrow submit`, in its own options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from duckrow.core.jobs.job_lines import tidy_name
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.slurm.sbatch_options import PREFIX
from duckrow.core.slurm.sbatch_values import gpus_asked, tasks_of, time_limit, warning


class Meaning(NamedTuple):
    words: list[str]  # options of submit
    unused: list[str]  # options of sbatch without a meaning here


# option of sbatch -> (what it sets in submit, how)
_MEANINGS: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "time": ("timeout", lambda value: ["--timeout", time_limit(value)]),
    "job-name": ("name", lambda value: ["--name", tidy_name(value)]),
    "output": ("outfile", lambda value: ["--outfile", value]),
    "error": ("error", lambda value: ["--error", value]),
    "dependency": ("dependency", lambda value: ["--dependency", value]),
    "array": ("array", lambda value: ["--array", value]),
    "mem": ("mem", lambda value: ["--mem", value]),
    "signal": ("notice", lambda value: ["--signal", warning(value)]),
    "begin": ("begin", lambda value: ["--begin", value]),
    "hold": ("hold", lambda _value: ["--hold"]),
    "chdir": ("cwd", lambda value: ["--cwd", value]),
}
_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gres")
_BY_THEMSELVES = (*_GPUS, "cpus-per-task", "export")  # these are read elsewhere
UNDERSTOOD = (*_MEANINGS, *_BY_THEMSELVES)
# Always true here.
_SO_ANYWAY = {"nodes": ("1", "1-1"), "ntasks": ("1",), "ntasks-per-node": ("1",), "open-mode": ("append", "a")}
_QUIET = ("parsable", "quiet", "verbose")


def meaning_of(options: Mapping[str, str], given: Collection[str]) -> Meaning:
    """`given`: the typed options, which win."""
    words: list[str] = []
    for name, value in options.items():
        if name in _MEANINGS and not _is_whole_node(name, value):
            sets, words_of = _MEANINGS[name]
            also_sets = "after" if sets == "dependency" else sets
            words += [] if sets in given or also_sets in given else words_of(value)
    return Meaning([*words, *_gpu_words(options, given), *_cpu_words(options, given)], _unused(options))


def _gpu_words(options: Mapping[str, str], given: Collection[str]) -> list[str]:
    gpus = gpus_asked(options)
    if gpus is None or "gpus" in given or "without_gpu" in given:
        return []
    return ["--gpus", str(gpus)] if gpus else ["--cpu"]


def _cpu_words(options: Mapping[str, str], given: Collection[str]) -> list[str]:
    each = options.get("cpus-per-task")
    if each is None or "cpus" in given:
        return []
    return ["--cpus", str(int(each) * tasks_of(options)) if each.isdecimal() else each]


def _is_whole_node(name: str, value: str) -> bool:
    """`--mem=0` means all the memory of a node; there is no option for that here."""
    return name == "mem" and value.rstrip("KMGTkmgt") == "0"


def _unused(options: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for name, value in options.items():
        if name in _GPUS:
            found += _more_than_a_number(name, value)
        elif name in _MEANINGS:
            found += [f"--{name}={value}"] if _is_whole_node(name, value) else []
        elif name not in (*_BY_THEMSELVES, *_QUIET) and value not in _SO_ANYWAY.get(name, ()):
            found.append(name if name.startswith("-") else f"--{name}")
    return found


def _more_than_a_number(name: str, value: str) -> Iterator[str]:
    """`gpu:a100:2`, `a100:2`: duckrow does not choose GPUs by model. `shard:1`: it offers nothing but GPUs."""
    for part in value.split(","):
        words = part.removeprefix("gres/").removeprefix("gres:").replace("=", ":").split(":")
        kind, *rest = words if name == "gres" else ["gpu", *words]
        if kind not in ("gpu", "none"):
            yield f"--{name}={part}"
        elif rest and not rest[0][:1].isdecimal():
            yield f"the model in --{name}={part}"


def in_one_line(unused: list[str]) -> str:
    if len(unused) == 1:
        return f"This {PREFIX} option is SLURM's own and was not used here: {unused[0]}"
    return f"These {PREFIX} options are SLURM's own and were not used here: {', '.join(unused)}"
