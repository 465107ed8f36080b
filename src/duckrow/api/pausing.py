"""Pausing single jobs: one that waits is held, one that runs is suspended; and letting them go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from duckrow.api.client import Client
from duckrow.api.control import Control
from duckrow.api.views import JobView
from duckrow.core.lifecycle import State, state_in_words


class Paused(NamedTuple):
    """What came of it: jobs that waited, jobs that ran, and why others were left as they are."""

    waiting: list[int]
    running: list[int]
    refused: dict[int, str]

    @property
    def done(self) -> list[int]:
        return sorted([*self.waiting, *self.running])


def pause_jobs(client: Client, ids: Sequence[int]) -> Paused:
    """Hold those that wait, suspend those that run. Each stays so until it is resumed, or killed."""
    views = client.views(ids)
    waiting = Control(client).hold([view.id for view in views if view.state == State.QUEUED], held=True)
    others = [view for view in views if view.id not in set(waiting)]
    refused = _cannot_be_suspended(client, others)
    wished = [view.id for view in others if view.id not in refused]
    if wished:
        client.wish(wished, "pause")
        client.await_wishes(wished)
    running = []
    for view in client.views(wished):
        if view.suspended:
            running.append(view.id)
        elif view.held:  # it waits for its next attempt
            waiting.append(view.id)
        else:
            refused[view.id] = f"{view.words} {state_in_words(view.state, view.outcome)} meanwhile"
    return Paused(waiting, running, refused)


def resume_jobs(client: Client, ids: Sequence[int]) -> Paused:
    """Release those that are held, let those go on that are suspended."""
    views = client.views(ids)
    waiting = Control(client).hold([view.id for view in views if view.held], held=False)
    running = [view.id for view in views if view.suspended]
    if running:
        client.wish(running, "continue")
        client.await_wishes(running)
    resumed = {*waiting, *running}
    refused = {view.id: _why_not_resumed(client, view) for view in views if view.id not in resumed}
    return Paused(waiting, running, refused)


def _cannot_be_suspended(client: Client, views: Sequence[JobView]) -> dict[int, str]:
    away = set(client.on_clusters([view.id for view in views]))
    refused = {}
    for view in views:
        if view.state in (State.DONE, State.STOPPING):
            refused[view.id] = f"{view.words} {state_in_words(view.state, view.outcome)}"
        elif view.id in away:
            refused[view.id] = f"{view.words} runs on a cluster, where it cannot be suspended"
    return refused


def _why_not_resumed(client: Client, view: JobView) -> str:
    if view.state != State.QUEUED:
        return f"{view.words} {state_in_words(view.state, view.outcome)}: it is not paused"
    pauses = client.jobs.pauses()
    if "" in pauses:
        return f"{view.words} is not paused by itself, but everything is: duckrow resume"
    if view.project in pauses:
        return f"{view.words} is not paused by itself, but {view.project} is: duckrow resume --project {view.project}"
    return f"{view.words} is not paused: duckrow why {view.id} says what it waits for"
