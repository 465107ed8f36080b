"""The application: its routes behind the gate, and what goes on in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp

from duckrow import __version__
from duckrow.core.errors import DuckrowError
from duckrow.web.answers.answer_cache import AnswerCache
from duckrow.web.answers.change_feed import ChangeFeed
from duckrow.web.answers.device_cache import SAMPLE_S, DeviceCache
from duckrow.web.answers.job_counts import JobCounts
from duckrow.web.answers.thread_pool import ThreadPool
from duckrow.web.errors import tell_errors
from duckrow.web.gate.authentication import Authentication
from duckrow.web.gate.credentials import Credentials
from duckrow.web.gate.gate import Gate
from duckrow.web.gate.sessions import Sessions
from duckrow.web.gate.unknown_connections import UnknownConnections
from duckrow.web.openapi import ERRORS, describe
from duckrow.web.page_files import PageFiles
from duckrow.web.routes import (
    batches,
    devices,
    events,
    gpupeasy,
    installation,
    learned_memory,
    login,
    pages,
    prometheus,
    queue,
    status,
    sweeps,
    timeline,
)
from duckrow.web.routes.jobs import act_on_jobs, add_jobs, job_log, show_jobs, wait_for_jobs
from duckrow.web.server_options import ServerOptions
from duckrow.web.services import Services

API = "/api/v1"
_COPY_S = 1.0  # between two looks at the folders of batches

_OF_INTERFACE = (
    *(status, job_log, show_jobs, wait_for_jobs, act_on_jobs, add_jobs, queue, sweeps, devices),
    *(learned_memory, timeline, batches, installation, events),
)


def build(serving: ServerOptions) -> tuple[ASGIApp, Services]:
    """The application, and its services for the caller."""
    threads, change_feed = ThreadPool(serving.home), ChangeFeed(serving.home)
    credentials, sessions, connections = Credentials(serving.home, serving.read_only), Sessions(), UnknownConnections()
    answer_cache = AnswerCache(threads, change_feed)
    services = Services(
        serving, credentials, sessions, connections, threads, change_feed, DeviceCache(), JobCounts(), answer_cache
    )
    app = FastAPI(
        title="duckrow",
        version=__version__,
        description="See and control a queue of GPU jobs.",
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        redirect_slashes=False,  # a redirect would leave the base path
        lifespan=_background,
    )
    app.state.services = services
    tell_errors(app)
    describe(app, serving)
    api = APIRouter(prefix=API, responses=ERRORS)
    for module in _OF_INTERFACE:
        api.include_router(module.router)
    app.include_router(api)
    app.include_router(prometheus.router)
    if serving.gpupeasy:
        app.include_router(gpupeasy.router)
    app.include_router(login.router)
    app.include_router(pages.router)
    app.mount("/static", PageFiles(), "static")
    return Gate(app, serving, Authentication(serving, credentials, sessions), connections), services


@asynccontextmanager
async def _background(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    tasks = [
        asyncio.ensure_future(work) for work in (services.change_feed.run(), _sample(services), _copy_batches(services))
    ]
    try:
        yield
    finally:
        services.change_feed.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        services.threads.close()


async def _copy_batches(services: Services) -> None:
    """Copy the results of runs on clusters here, because a GET changes nothing."""
    while True:
        try:
            await services.threads.read(lambda client: client.tender.copy(), slow=True)
        except (DuckrowError, OSError):  # such as a full disk: requests report it themselves
            pass
        await asyncio.sleep(_COPY_S)


async def _sample(services: Services) -> None:
    """Record the history of the devices while a page is open."""
    while True:
        await asyncio.sleep(SAMPLE_S)
        if services.change_feed.streams:
            try:
                await services.threads.read(services.device_cache.sample)
            except DuckrowError:  # such as a full disk: requests report it themselves
                pass
