"""Runs of one batch with different cluster requests: the request of each, and which cluster job may take which run.

Runs with equal requests are a group. Each cluster job is submitted for one group. It also takes runs of other groups
if its allocation is enough for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from duckrow.core.clusters.request import ClusterRequest, gpus_in, request_from
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.nearest_word import nearest_word
from duckrow.core.units import format_duration, parse_size_mb

# What a run may ask for by itself. All else (the lease, how many runs a cluster job takes) belongs to the batch.
OWN_KEYS = (
    *("partition", "account", "qos", "time", "nodes", "gres", "gpus_per_node", "cpus_per_task", "mem", "constraint"),
    *("exclude", "nodelist", "reservation", "sbatch", "modules", "conda", "setup", "container", "parallel_runs"),
)
# A run that does not name one takes any. `_has_gpus` keeps runs that need no GPU off cluster jobs that have one.
_ANY = ("partition", "constraint", "exclude", "nodelist")
# Who is charged, and the environment that the script sets up once for all runs of a cluster job.
_SAME = (
    *("account", "qos", "reservation", "sbatch", "nodes", "parallel_runs"),
    *("modules", "conda", "setup", "container", "python"),
)


class Groups(NamedTuple):
    requests: list[ClusterRequest]  # of each group
    of_runs: list[int]  # the group of each run


def check_own_request(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a run asks for by itself, as written; raises UsageError if that makes no sense."""
    for key in values:
        if key not in OWN_KEYS:
            near = nearest_word(key, OWN_KEYS)
            hint = f"Did you mean {near}?" if near else f"Choose from {', '.join(OWN_KEYS)}."
            raise UsageError(f"A job cannot ask for '{key}' by itself. {hint}")
    request_from(values)
    return dict(values)


def group_runs(base: ClusterRequest, specs: Sequence[JobSpec]) -> Groups:
    """`base`: the request of runs that ask for nothing by themselves. Requests include the GPUs that runs need."""
    groups: dict[ClusterRequest, int] = {}
    of_runs: list[int] = []
    for spec in specs:
        request = base if not spec.slurm else _with_own(base, spec.slurm)
        of_runs.append(groups.setdefault(request, len(groups)))
    most = [0] * len(groups)
    for spec, group in zip(specs, of_runs, strict=True):
        most[group] = max(most[group], spec.gpus or 0)
    return Groups([request.for_gpus(most[group]) for request, group in groups.items()] or [base], of_runs)


def _with_own(base: ClusterRequest, own: Mapping[str, Any]) -> ClusterRequest:
    read = request_from(own)
    given = {key: getattr(read, key) for key in own}
    if "gres" in given or "gpus_per_node" in given:
        given = {"gres": None, "gpus_per_node": None, **given}  # its own GPUs replace those of `base` altogether
    request = replace(base, **given)
    if request.fixed_chunks:
        raise UsageError("--fixed-chunks does not go with jobs that ask for different things. Omit it.")
    if request.clusters != base.clusters:
        raise UsageError("All jobs of a batch go to one cluster: name it for all of them (--sbatch=--clusters=NAME).")
    return request


def too_long(groups: Groups, specs: Sequence[JobSpec]) -> str:
    """A warning if runs may take longer than their cluster job; otherwise empty."""
    for spec, group in zip(specs, groups.of_runs, strict=True):
        time = groups.requests[group].time
        if time is not None and spec.timeout_s is not None and spec.timeout_s > time:
            limit, whole = (format_duration(seconds) for seconds in (spec.timeout_s, time))
            minutes = math.ceil(spec.timeout_s / 60)
            return (
                f"Runs may take {limit} (--timeout), and a SLURM job ends after {whole} (--time). One that has not "
                f"ended by then starts again from what it has saved. Ask for more: --time {minutes}m"
            )
    return ""


def satisfies(given: ClusterRequest, wanted: ClusterRequest) -> bool:
    """Whether a cluster job submitted with `given` has what a run that asked for `wanted` needs.

    What cannot be compared is not enough: if one names no time or memory, only the cluster knows it.
    """
    if given == wanted:
        return True
    return (
        all(getattr(given, key) == getattr(wanted, key) for key in _SAME)
        and all(getattr(wanted, key) in (None, getattr(given, key)) for key in _ANY)
        and _is_enough(given.time, wanted.time)
        and _has_memory(given.mem, wanted.mem)
        and (given.cpus_per_task or 1) >= (wanted.cpus_per_task or 1)
        and _has_gpus(_gres(given), _gres(wanted))
    )


def _is_enough(given: float | None, wanted: float | None) -> bool:
    return given == wanted or (given is not None and wanted is not None and given >= wanted)


def _has_memory(given: str | None, wanted: str | None) -> bool:
    if given == wanted:
        return True
    sizes = [mem for mem in (given, wanted) if mem is not None and re.fullmatch(r"[1-9]\d*[KMGT]?", mem)]  # 0 is all
    return len(sizes) == 2 and parse_size_mb(sizes[0]) >= parse_size_mb(sizes[1])


def _gres(request: ClusterRequest) -> list[str]:
    on_node = [f"gpu:{request.gpus_per_node}"] if request.gpus_per_node else []
    return [*(request.gres.split(",") if request.gres else []), *on_node]


def _has_gpus(given: list[str], wanted: list[str]) -> bool:
    """Enough of each kind and in total. A run that wants none leaves GPUs to others."""
    of_gpus = [gpus_in(",".join(gres)) for gres in (given, wanted)]
    if of_gpus[0] < of_gpus[1] or bool(of_gpus[0]) != bool(of_gpus[1]):
        return False
    if {each for each in wanted if not _is_gpu(each)} - set(given):
        return False
    return all(_of_kind(given, kind) >= _of_kind(wanted, kind) for kind in {_kind(each) for each in wanted} - {""})


def _of_kind(gres: list[str], kind: str) -> int:
    return gpus_in(",".join(each for each in gres if _kind(each) == kind))


def _kind(gres: str) -> str:
    """`gpu:a100:2`: a100; empty: any."""
    words = gres.partition("(")[0].split(":")
    return words[1] if _is_gpu(gres) and len(words) > 1 and not words[1].isdigit() else ""


def _is_gpu(gres: str) -> bool:
    return gres.split(":")[0] == "gpu"


def told_apart(requests: Sequence[ClusterRequest]) -> list[str]:
    """Each request in words: only what differs between them."""
    keys = [key for key in OWN_KEYS if len({getattr(request, key) for request in requests}) > 1]
    return [", ".join(_in_words(key, getattr(request, key)) for key in keys) for request in requests]


def _in_words(key: str, value: Any) -> str:
    if value in (None, ()):
        return f"no {key}"
    if key == "time":
        return f"time={value:g}s"
    return f"{key}={' '.join(value) if isinstance(value, tuple) else value}"
