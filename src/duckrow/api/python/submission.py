"""`duckrow.submit`: commands and Python functions as jobs."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from duckrow.api.adding.options import Options, Request, read_options, with_recipe
from duckrow.api.calls.functions import Call, forget_call, name_of, pattern_of, store_call, warm_modules
from duckrow.api.calls.signature import check_call, names_of, shown_name
from duckrow.api.jobs.submit import submit_jobs
from duckrow.api.python.handles import Job, open_client
from duckrow.core.errors import UsageError, as_argument, naming
from duckrow.core.jobs.job import JobSpec

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from duckrow.api.client import Client

T = TypeVar("T")


@overload
def submit(task: str | Sequence[object], /, **options: Unpack[Options]) -> Job[int]: ...
@overload
def submit(task: Callable[..., T], /, *args: Any, kwargs: Mapping[str, Any] | None = None, **named: Any) -> Job[T]: ...
def submit(task: Any, /, *args: Any, kwargs: Mapping[str, Any] | None = None, **named: Any) -> Job[Any]:
    """Add a job to the queue: a command, its words, or a Python function with its arguments.

        submit("python train.py | tee out.txt", gpus=1)
        submit(["python", "train.py", "--name", "a b"], timeout="2h")
        submit(train, 0.1, epochs=10, gpus=1, retries=2)          # train(0.1, epochs=10)

    A keyword that names an option belongs to the job. Any other is an argument of the function. One that could be both
    is refused: pass the function's own in `kwargs={...}`.
    It is on disk when this returns. The daemon runs it when a device is free, and is started if none runs.
    Options, as of `duckrow submit`: gpus, name, project, retries, requeue_lost, backoff, timeout, signal, grace, env,
    cwd, shell, priority, after, if_broken, begin, hold, outfile, max_log, preload, gpu_mem, total_gpu_mem,
    memory_params, cpus, mem, mem_limit, on, slurm.
    For a cluster: on="slurm", slurm={"partition": "dev", "time": "2h"}.
    """
    if callable(task):
        options, arguments = _told_apart(task, args, kwargs, named)
        check_call(task, args, arguments, Options.__annotations__)
        request = read_options(options)
        return submit_calls(request, [Call(task, args, arguments, request.name or name_of(task))])[0]
    request = read_options(named)
    if args or kwargs:
        raise UsageError("Arguments are for functions. Write a command with its words as one list.")
    command = task if isinstance(task, str) else _joined(task)
    with naming(as_argument):
        spec = with_recipe(request.spec(command=command, name=request.name), None)
    with naming(as_argument), open_client() as client:
        ids = _submit(client, [spec], request)
        return Job(ids[0], spec.name, client.folder.root)


def _told_apart(
    task: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(options of the job, arguments of the function by name)."""
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise UsageError(f"kwargs={kwargs!r} must be a dict with the arguments of {shown_name(task)} by name.")
    options = {name: value for name, value in named.items() if name in Options.__annotations__}
    arguments = {name: value for name, value in named.items() if name not in options}
    for name in names_of(task, args).intersection(options) if kwargs is None else ():
        raise UsageError(
            f"{name}= is an option of the job, and {shown_name(task)}() has a parameter '{name}' too. Put the "
            f"function's argument into kwargs: kwargs={{'{name}': ...}}. With kwargs={{}}, {name}= belongs to the job."
        )
    for name in arguments.keys() & (kwargs or {}).keys():
        raise UsageError(f"'{name}' is given twice, by itself and in kwargs.")
    return options, {**arguments, **(kwargs or {})}


def _joined(task: Any) -> str:
    if not isinstance(task, list | tuple):
        raise UsageError(f"{task!r} cannot be a job. Submit a string, a list of words, or a function.")
    return shlex.join(str(word) for word in task)


def submit_calls(
    request: Request, calls: Sequence[Call], home: str | None = None, room: int | None = None
) -> list[Job[Any]]:
    """Submit all or none. More jobs than `room` are held."""
    specs: list[JobSpec] = []
    with naming(as_argument), open_client(home) as client:
        try:
            for call in calls:
                folder = f"{_place_of_calls(client, request, call.name)}/call-{secrets.token_hex(8)}"
                specs.append(request.spec(command=store_call(call, folder), name=call.name, folder=folder))
                specs[-1].preload = warm_modules(specs[-1].preload, call.function)
                with_recipe(specs[-1], pattern_of(call.function), arguments_of(call))
                specs[-1].held |= room is not None and len(specs) > room
            ids = _submit(client, specs, request)
        except BaseException:
            for spec in specs:
                forget_call(spec.folder or "")
            raise
        return [Job(job_id, spec.name, client.folder.root) for job_id, spec in zip(ids, specs, strict=True)]


def arguments_of(call: Call) -> dict[str, Any]:
    """Its arguments by name: plain values, and the types of others."""
    named = {**{f"argument {number}": value for number, value in enumerate(call.args, start=1)}, **call.kwargs}
    plain = (str, int, float, bool, type(None))
    return {name: value if isinstance(value, plain) else type(value).__name__ for name, value in named.items()}


def _submit(client: Client, specs: Sequence[JobSpec], request: Request) -> Sequence[int]:
    """Submit to the daemon or to a cluster."""
    if request.cluster is None:
        return submit_jobs(client, specs, request.environment, request.after)
    from duckrow.api.clusters.submit import submit_batch

    return submit_batch(client, specs, request.cluster, request.environment, after=request.after)


def _place_of_calls(client: Client, request: Request, name: str) -> str:
    """The folder for calls, where the processes of the jobs can read them."""
    if request.cluster is None:
        return f"{client.folder.runs}/{request.project}/{name}"
    from duckrow.api.clusters.submit import root_of

    return f"{root_of(request.cluster)}/calls/{name}"
