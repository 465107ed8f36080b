"""The machine and the timeline in a browser: cards of GPUs, draining, adding, removing, bars of attempts."""

from __future__ import annotations

import getpass
import json
import os
import re
import subprocess
from collections.abc import Iterator
from functools import partial

import pytest

from tests.conftest import until
from tests.web.browser.conftest import ONLY_MODULES, Open
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Locator, Page, Route, expect


def card(page: Page, gpu: int) -> Locator:
    return page.get_by_role("article").filter(has=page.get_by_role("heading", name=f"GPU {gpu}"))


@pytest.fixture
def colleague(live_server: LiveServer) -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]}) as sleeper:
        live_server.gpus.allocate(sleeper.pid, 1, 20_480)
        yield sleeper.pid
        sleeper.kill()


def test_a_card_shows_whose_the_memory_is(live_server: LiveServer, open_page: Open, colleague: int) -> None:
    job = live_server.pretraining(30_720, 83, "40G", name="resnet")
    page = open_page("/machine")
    first = page.get_by_role("article").filter(has=page.get_by_role("link", name=f"{job} resnet"))
    expect(first).to_contain_text("NVIDIA H200")
    expect(first).to_contain_text(re.compile(r"(41|36) °C"))
    expect(first).to_contain_text("83 % busy")
    expect(first.locator(".resident-memory").first).to_have_text("30 GB of 40 GB")
    expect(first.locator(".memory-share").first).to_have_attribute("title", re.compile("uses 30 GB of 40 GB reserved"))
    expect(card(page, 1)).to_contain_text(f"{getpass.getuser()}sleep, pid {colleague}20 GB")
    expect(first.locator(".chart-line").first).to_have_attribute("d", re.compile(r"^M.*L"))
    expect(page.locator(".slot")).to_have_count(4)


def test_a_gpu_is_drained_and_used_again(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/machine")
    state = card(page, 1).locator(".gpu-state")
    card(page, 1).get_by_role("button", name="Drain").click()
    expect(state).to_have_text("drained")
    expect(card(page, 0).locator(".gpu-state")).not_to_have_text("drained")
    card(page, 1).get_by_role("button", name="Use again").click()
    expect(state).not_to_have_text("drained")
    card(page, 1).get_by_role("button", name="Drain").click()
    expect(state).to_have_text("drained")
    page.get_by_role("button", name="Undo").last.click()
    expect(state).not_to_have_text("drained")


def test_a_gpu_is_removed_after_a_question_and_added_again(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/machine")
    card(page, 1).get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(card(page, 1)).to_have_count(0)
    add_gpu_1(page)


def add_gpu_1(page: Page) -> None:
    page.get_by_role("button", name="Add devices…").click()
    page.get_by_role("textbox", name="Devices").fill("1")
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    expect(card(page, 1)).to_be_visible()


def test_the_curves_can_show_hours(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/machine")
    page.get_by_role("button", name="6 h").click()
    expect(page.get_by_role("button", name="6 h")).to_have_attribute("aria-pressed", "true")
    left, right = (card(page, 0).locator(f".chart-{side}").first.inner_text() for side in ("left", "right"))
    assert left != right


def test_the_timeline_shows_what_ran_where(live_server: LiveServer, open_page: Open) -> None:
    done = live_server.done(name="quick")
    job = live_server.pretraining(1024, 50, "40G", name="long")
    other = live_server.pretraining(2048, 20, "50G", name="beside")
    page = open_page("/timeline?span=10m")
    bar = page.get_by_role("link", name=re.compile(f"^Job {job} long: running"))
    expect(bar).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(f"^Job {other} beside"))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(f"^Job {done} quick: succeeded"))).to_be_visible()
    expect(page.locator(".lane-name").first).to_have_text("GPU 0")
    bar.hover()
    expect(page.locator(".gantt-tip")).to_contain_text(f"{job} long running")
    page.get_by_role("button", name="24 h").click()
    expect(page).to_have_url(f"{live_server.url}/timeline?span=24h")
    bar.click()
    expect(page).to_have_url(f"{live_server.url}/jobs/{job}")
    page.go_back()
    expect(page.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")


def test_an_empty_time_says_so(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/timeline")
    for _ in range(3):
        page.get_by_role("button", name="← Earlier").click()
    expect(page.get_by_role("heading", name="Nothing ran in this time")).to_be_visible()
    page.get_by_role("button", name="Later →").click()


COLOURS = """async (devices) => {
  const { coloursOn } = await import("/static/js/machine/colours.js");
  const colourOf = coloursOn(devices);
  return devices.map(({ jobs }) => jobs.map(({ id }) => colourOf(id)));
}"""
ROWS = """() => {
  const tops = [...document.querySelectorAll(".gpu-cards > *")].map((card) => card.getBoundingClientRect().top);
  return Object.values(Object.groupBy(tops, (top) => top)).map((row) => row.length);
}"""


def test_jobs_on_one_gpu_have_colours_of_their_own(open_page: Open) -> None:
    page = open_page(ONLY_MODULES)
    devices = [{"jobs": [{"id": job} for job in ids]} for ids in ([5, 13, 21], [13, 2], [9, 17, 1, 25])]
    first, second, third = page.evaluate(COLOURS, devices)
    assert [len(set(colours)) for colours in (first, second, third)] == [3, 2, 4]
    assert first[1] == second[0]  # a job on two GPUs has one colour


def test_four_gpus_are_laid_out_in_even_rows(live_server: LiveServer, open_page: Open) -> None:
    told = live_server.api("/devices")
    told["items"] = [{**told["items"][0], "name": str(n), "kind": "gpu"} for n in range(4)]
    page = open_page("/")
    page.route("**/api/v1/devices", lambda route: route.fulfill(json=told))
    page.get_by_role("link", name="Machine").click()
    expect(page.get_by_role("article")).to_have_count(4)
    for width, rows in ((1400, [2, 2]), (1900, [4]), (860, [2, 2]), (390, [1, 1, 1, 1])):
        page.set_viewport_size({"width": width, "height": 860})
        until(partial(has_rows, page, rows), f"{rows} at {width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def has_rows(page: Page, rows: list[int]) -> bool:
    return bool(page.evaluate(ROWS) == rows)


def test_a_job_that_takes_more_than_it_reserved_is_marked(live_server: LiveServer, open_page: Open) -> None:
    live_server.pretraining(4300, 10, "2G", name="greedy")
    page = open_page("/machine")
    over = page.locator(".resident-memory.is-over")
    expect(over).to_have_text("4.2 GB of 2 GB")
    expect(over).to_have_attribute("title", "It uses more memory than it reserved")


def test_the_timeline_opens_with_a_span_that_fits_and_a_legend(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done("exit 1", name="early")
    live_server.done("true")
    page = open_page("/timeline")
    expect(page.get_by_role("button", name="10 min")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("list", name="Colours").get_by_role("listitem")).to_have_text(["succeeded", "failed"])
    live_server.duckrow.sql("UPDATE attempts SET started_at = started_at - 4000 WHERE job_id = ?", job)
    page.goto(f"{live_server.url}/timeline")
    expect(page.get_by_role("button", name="3 h")).to_have_attribute("aria-pressed", "true")


def test_a_span_that_is_chosen_while_the_timeline_is_fetched_stays(live_server: LiveServer, open_page: Open) -> None:
    live_server.done("true")
    page = open_page()
    held: list[Route] = []
    page.route("**/api/v1/timeline*", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/api/v1/timeline*"):
        page.get_by_role("link", name="Timeline").click()
    page.get_by_role("button", name="6 h").click()
    with page.expect_response("**/api/v1/timeline*"):
        held[0].continue_()
    expect(page.locator(".bar")).not_to_have_count(0)
    expect(page.get_by_role("button", name="6 h")).to_have_attribute("aria-pressed", "true")


def test_an_undo_that_fails_is_told(live_server: LiveServer, open_page: Open, complaints: list[str]) -> None:
    page = open_page("/machine")
    card(page, 1).get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(card(page, 1)).to_have_count(0)
    told = json.dumps({"error": {"sentence": "The daemon does not answer.", "hint": None}})

    def refuse(route: Route) -> None:
        """But not what the page asks for all the time."""
        if route.request.method == "GET":
            route.fallback()
        else:
            route.fulfill(status=503, body=told)

    page.route("**/api/v1/devices", refuse)
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator(".toast.is-problem")).to_contain_text("The daemon does not answer.")
    page.unroute("**/api/v1/devices")
    (complaint,) = complaints
    assert re.search("status of 503 .*/api/v1/devices$", complaint)
    complaints.clear()
    add_gpu_1(page)
