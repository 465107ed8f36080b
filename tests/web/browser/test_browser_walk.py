"""Somebody who has never seen duckrow does a day's work from the page alone; docs/web.md shows these pictures."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.conftest import until
from tests.web.browser.conftest import Open
from tests.web.browser.desk import Desk
from tests.web.browser.needs import Page, expect
from tests.web.browser.scenery import busy_day

WIDTH, HEIGHT = 1240, 680
CURVE_MS = 45_000  # until there is a curve worth a picture that is kept


class Album:
    """The pictures of the walk."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.folder = folder

    def __call__(self, name: str, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.page.screenshot(path=self.folder / f"{name}.png", clip={"x": 0, "y": 0, "width": width, "height": height})


def test_a_newcomer_does_it_all_from_the_page(desk: Desk, open_page: Open, pictures: Path) -> None:
    page = open_page("/", width=WIDTH, height=HEIGHT)
    album = Album(page, pictures)

    # Add ten jobs.
    page.get_by_role("link", name="Add the first jobs").click()
    commands = "\n".join(f"python train.py {rate / 10} 3000 0.2" for rate in range(1, 11))
    page.get_by_role("textbox", name="Commands").fill(commands)
    page.get_by_role("textbox", name="Project").fill("first-steps")
    page.get_by_role("textbox", name="GPU memory").fill("10G")
    expect(page.locator(".draft")).to_have_count(10)
    album("add")
    page.get_by_role("button", name="Add 10 jobs").click()

    # See them run on GPUs.
    expect(page.locator("tbody .is-active")).to_have_count(10)
    expect(page.locator("tbody .col-devices").first).to_have_text(re.compile("^[01]$"))
    album("queue")

    # Read a live log.
    page.locator("tbody .job-link").first.click()
    expect(page.get_by_role("log")).to_contain_text("epoch 9")
    album("log", width=830)
    job = int(page.url.rpartition("/")[2])

    # Kill one, and run it again.
    page.get_by_role("button", name="Kill").click()
    page.get_by_role("dialog").get_by_role("button", name="Kill").click()
    expect(page.locator(".job-title .is-state")).to_have_text("killed")
    page.get_by_role("button", name="Rerun", exact=True).click()
    expect(page.locator(".job-title .is-state")).to_have_text("running")
    assert desk.api(f"/jobs/{job}")["attempts"] == 2

    # Pause the queue; what is added waits, and says why.
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".is-paused")).to_be_visible()
    (waiting,) = desk.add("python pretrain.py 90000 90", gpus=2, gpu_mem="95G", name="big-one")
    page.get_by_role("link", name="Queue").click()
    page.get_by_role("link", name="big-one").click()
    expect(page.get_by_label("Why it waits")).to_contain_text("paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_label("Why it waits")).to_contain_text("95G")
    album("why", width=830, height=490)

    # Change its priority.
    page.get_by_role("button", name="Priority").click()
    page.get_by_role("spinbutton", name="Priority").fill("90")
    page.get_by_role("dialog").get_by_role("button", name="Change").click()
    until(lambda: desk.api(f"/jobs/{waiting}")["priority"] == 90, "the new priority")


def test_the_best_run_is_seen_at_a_glance(desk: Desk, open_page: Open, pictures: Path) -> None:
    with busy_day(desk) as scenery:
        page = open_page("/machine", width=WIDTH, height=HEIGHT)
        album = Album(page, pictures)
        expect(page.locator(".residents li")).to_have_count(4)
        expect(page.locator(".gpu .chart-line").first).to_have_attribute("d", re.compile("^M.*L"))
        if os.environ.get("DUCKROW_PICTURES"):
            page.wait_for_timeout(CURVE_MS)
        album("machine", height=520)
        page.get_by_role("link", name="Timeline").click()
        page.get_by_role("button", name="10 min").click()
        expect(page.get_by_role("button", name="10 min")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".bar").first).to_be_visible()
        album("timeline", height=330)
        page.goto(f"{desk.url}/sweeps/{scenery.sweep}?metric=loss")
        page.get_by_label("Coloured by").select_option("metric")
        expect(page.get_by_role("region", name="Best run")).to_contain_text("lr=0.5")
        expect(page.locator(".sweep-curves .chart-line")).to_have_count(16)
        album("sweep")
