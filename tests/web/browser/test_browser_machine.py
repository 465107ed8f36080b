"""The machine and the timeline in a browser: cards of GPUs, draining, adding, removing, bars of attempts."""

from __future__ import annotations

import getpass
import os
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.web.browser.conftest import Open
from tests.web.browser.desk import Desk
from tests.web.browser.needs import Locator, Page, expect


def card(page: Page, gpu: int) -> Locator:
    return page.get_by_role("article").filter(has=page.get_by_role("heading", name=f"GPU {gpu}"))


@pytest.fixture
def colleague(desk: Desk) -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]}) as sleeper:
        desk.gpus.allocate(sleeper.pid, 1, 20_480)
        yield sleeper.pid
        sleeper.kill()


def test_a_card_shows_whose_the_memory_is(desk: Desk, open_page: Open, colleague: int) -> None:
    job = desk.pretraining(30_720, 83, "40G", name="resnet")
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


def test_a_gpu_is_drained_and_used_again(desk: Desk, open_page: Open) -> None:
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


def test_a_gpu_is_removed_after_a_question_and_added_again(desk: Desk, open_page: Open) -> None:
    page = open_page("/machine")
    card(page, 1).get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(card(page, 1)).to_have_count(0)
    page.get_by_role("button", name="Add devices…").click()
    page.get_by_role("textbox", name="Devices").fill("1")
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    expect(card(page, 1)).to_be_visible()


def test_the_curves_can_show_hours(desk: Desk, open_page: Open) -> None:
    page = open_page("/machine")
    page.get_by_role("button", name="6 h").click()
    expect(page.get_by_role("button", name="6 h")).to_have_attribute("aria-pressed", "true")
    left, right = (card(page, 0).locator(f".chart-{side}").first.inner_text() for side in ("left", "right"))
    assert left != right


def test_the_timeline_shows_what_ran_where(desk: Desk, open_page: Open) -> None:
    done = desk.done(name="quick")
    job = desk.pretraining(1024, 50, "40G", name="long")
    other = desk.pretraining(2048, 20, "50G", name="beside")
    page = open_page("/timeline?span=10m")
    bar = page.get_by_role("link", name=re.compile(f"^Job {job} long: running"))
    expect(bar).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(f"^Job {other} beside"))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(f"^Job {done} quick: succeeded"))).to_be_visible()
    expect(page.locator(".lane-name").first).to_have_text("GPU 0")
    bar.hover()
    expect(page.locator(".gantt-tip")).to_contain_text(f"{job} long running")
    page.get_by_role("button", name="24 h").click()
    expect(page).to_have_url(f"{desk.url}/timeline?span=24h")
    bar.click()
    expect(page).to_have_url(f"{desk.url}/jobs/{job}")
    page.go_back()
    expect(page.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")


def test_an_empty_time_says_so(desk: Desk, open_page: Open) -> None:
    page = open_page("/timeline")
    for _ in range(3):
        page.get_by_role("button", name="← Earlier").click()
    expect(page.get_by_role("heading", name="Nothing ran in this time")).to_be_visible()
    page.get_by_role("button", name="Later →").click()
