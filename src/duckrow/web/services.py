"""What the routes of a server work with: threads, changes, caches, and who is allowed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from pydantic import Field

from duckrow.web.answers.answer_cache import AnswerCache
from duckrow.web.answers.change_feed import ChangeFeed
from duckrow.web.answers.device_cache import DeviceCache
from duckrow.web.answers.job_counts import JobCounts
from duckrow.web.answers.thread_pool import ThreadPool
from duckrow.web.gate.credentials import Credentials
from duckrow.web.gate.sessions import Sessions
from duckrow.web.gate.unknown_connections import UnknownConnections
from duckrow.web.server_options import ServerOptions


@dataclass(frozen=True)
class Services:
    serving: ServerOptions
    credentials: Credentials
    sessions: Sessions
    connections: UnknownConnections
    threads: ThreadPool
    change_feed: ChangeFeed
    device_cache: DeviceCache
    job_counts: JobCounts
    answer_cache: AnswerCache


def services_of(request: Request) -> Services:
    return cast("Services", request.app.state.services)


ServicesOf = Annotated[Services, Depends(services_of)]
Folder = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]+$")]
JobId = Annotated[int, Path(ge=1, le=2**62, description="The id of a job.")]
