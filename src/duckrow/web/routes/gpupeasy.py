"""GPUPeasy's routes, for scripts that were written for its server; always 200, and a status in the JSON."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from duckrow.api.adding.drafts import outfile_problems
from duckrow.api.adding.options import read_options, with_recipe
from duckrow.api.adding.program_words import without_shell, words_without_shell
from duckrow.api.client import Client
from duckrow.api.jobs.submit import submit_jobs
from duckrow.api.queue.job_details import outfile_of
from duckrow.api.queue.job_pages import jobs_of_page
from duckrow.api.queue.views import JobView
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.jobs.job_lines import tidy_name
from duckrow.core.life.states import LIVE, Outcome, State
from duckrow.web.answers.json_response import JsonResponse
from duckrow.web.services import ServicesOf

router = APIRouter(include_in_schema=False)

_MOST = 10_000
_FAILED = tuple(outcome for outcome in Outcome if outcome is not Outcome.SUCCEEDED)
_NOT_RUN = (126, 127)  # exit codes of a shell that could not start the program
_KEYS = {"jobCommand": "command", "jobName": "name", "outFile": "output file"}


@router.get("/availabledevices")
async def available_devices(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(
        lambda client: _value([",".join(seat.devices) for seat in client.seats() if not seat.side])
    )


@router.get("/deviceutilization")
async def device_utilization(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(
        lambda client: _value([{**_job(view), "gpu": ",".join(view.devices)} for view in _jobs(client, LIVE)])
    )


@router.get("/scheduledjobs")
async def scheduled_jobs(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(lambda client: _value([_job(view) for view in _jobs(client, (State.QUEUED,))]))


@router.get("/successfuljobs")
async def successful_jobs(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(
        lambda client: _value([_ended(view) for view in _jobs(client, (Outcome.SUCCEEDED,))])
    )


@router.get("/failedjobs")
async def failed_jobs(services: ServicesOf) -> JsonResponse:
    return await services.threads.answer(lambda client: _value([_ended(view) for view in _jobs(client, _FAILED)]))


@router.get("/jobinfo/{word}")
async def job_info(services: ServicesOf, word: str) -> JsonResponse:
    return await services.threads.answer(_info, word)


@router.post("/addnewjob")
async def add_new_job(services: ServicesOf, request: Request) -> Response:
    try:
        body: Any = await request.json()
    except (ValueError, RecursionError):
        body = None
    return await services.threads.change(_add, body)


def _value(value: Any) -> dict[str, Any]:
    return {"status": "successful", "value": value}


def _jobs(client: Client, statuses: tuple[str, ...]) -> list[JobView]:
    return jobs_of_page(client, Filter(statuses=statuses), "id", 1, _MOST)


def _job(view: JobView) -> dict[str, Any]:
    return {"jobCommand": _command(view), "jobID": view.id, "jobName": view.name}


def _ended(view: JobView) -> dict[str, Any]:
    return {**_job(view), "returnCode": _return_code(view)}


def _command(view: JobView) -> str:
    """The command as given, without the `exec` for a run without a shell."""
    words = words_without_shell(view.command)
    return view.command if words is None else shlex.join(words)


def _return_code(view: JobView) -> int | None:
    """As in Python's subprocess: a signal is a negative number. -1: there was no such program."""
    if view.exit_code in _NOT_RUN and _is_missing(view):
        return -1
    return -view.signal if view.signal is not None else view.exit_code


def _is_missing(view: JobView) -> bool:
    words = words_without_shell(view.command)
    if not words:
        return False
    program = os.path.join(view.cwd, words[0]) if "/" in words[0] else words[0]
    return shutil.which(program) is None


def _info(client: Client, word: str) -> dict[str, Any]:
    views = client.views([int(word)]) if word.isdecimal() and len(word) < 18 else []
    if not views:
        return {"status": "failed", "value": {}, "message": f"There is no job {word[:50]}."}
    view = views[0]
    done = {Outcome.SUCCEEDED: "Succeeded"}.get(Outcome(view.outcome), "Failed") if view.outcome else ""
    return _value(
        {
            "jobid": view.id,
            "jobName": view.name,
            "jobCommand": _command(view),
            "outFile": view.log or outfile_of(client, view.id),
            "status": done or ("Scheduled" if view.state == State.QUEUED else "Running"),
            "returnCode": _return_code(view) if view.outcome else None,
        }
    )


def _add(client: Client, body: Any) -> dict[str, Any]:
    try:
        job_id = _added(client, body)
    except DuckrowError as error:
        return {"status": "failed", "message": str(error)}
    return {"status": "successful", "message": "Job added successfully", "jobID": job_id}


def _added(client: Client, body: Any) -> int:
    job = body.get("job") if isinstance(body, dict) else None
    if not isinstance(job, dict):
        raise UsageError('There is no job. Send {"job": {"jobName": ..., "outFile": ..., "jobCommand": [...]}}.')
    for key, what in _KEYS.items():
        if not job.get(key):
            raise UsageError(f"The job has no {what}: '{key}' is missing or empty.")
    words, name, outfile = job["jobCommand"], job["jobName"], job["outFile"]
    if not isinstance(words, list) or not all(isinstance(each, str) for each in [*words, name, outfile]):
        raise UsageError("jobName and outFile are strings, and jobCommand is a list of words.")
    path = os.path.abspath(outfile)
    for problem in outfile_problems(path):
        raise UsageError(problem)
    request = read_options({"name": tidy_name(name), "outfile": path})
    spec = with_recipe(request.spec(command=without_shell(words), name=request.name), None)
    return submit_jobs(client, [spec], request.environment)[0]
