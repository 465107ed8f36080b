"""The parts of a server that its routes work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from pydantic import Field

from duckrow.web.answers.answer_cache import SharedAnswers
from duckrow.web.answers.change_feed import Hub
from duckrow.web.answers.device_cache import DeviceBoard
from duckrow.web.answers.job_counts import Tallies
from duckrow.web.answers.thread_pool import Desk
from duckrow.web.gate.credentials import Credentials
from duckrow.web.gate.sessions import Sessions
from duckrow.web.gate.unknown_connections import Connections
from duckrow.web.server_options import Serving


@dataclass(frozen=True)
class Parts:
    serving: Serving
    credentials: Credentials
    sessions: Sessions
    connections: Connections
    desk: Desk
    hub: Hub
    board: DeviceBoard
    tallies: Tallies
    shared: SharedAnswers


def parts_of(request: Request) -> Parts:
    return cast("Parts", request.app.state.parts)


Of = Annotated[Parts, Depends(parts_of)]
Folder = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]+$")]
JobId = Annotated[int, Path(ge=1, le=2**62, description="The id of a job.")]
