"""The parts of a server that its routes work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from pydantic import Field

from duckrow.web.connections import Connections
from duckrow.web.credentials import Credentials
from duckrow.web.desk import Desk
from duckrow.web.device_board import DeviceBoard
from duckrow.web.hub import Hub
from duckrow.web.serving import Serving
from duckrow.web.sessions import Sessions
from duckrow.web.shared_answers import SharedAnswers
from duckrow.web.tallies import Tallies


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
