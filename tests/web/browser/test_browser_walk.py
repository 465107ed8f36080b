"""Somebody who has never seen duckrow does a day's work from the page alone; docs/web.md shows these pictures."""

from __future__ import annotations

import re
from pathlib import Path

from tests.web.browser.album import HEIGHT, WIDTH, Album
from tests.web.browser.conftest import Open
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import expect


def test_a_newcomer_does_it_all_from_the_page(live_server: LiveServer, open_page: Open, pictures: Path) -> None:
    page = open_page("/", width=WIDTH, height=HEIGHT)
    album = Album(page, pictures)

    # Be told what to do first, and add ten jobs.
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    page.get_by_role("link", name="Add the first jobs").click()
    expect(page).to_have_url(f"{live_server.url}/add")
    commands = "\n".join(f"python train.py {rate / 10} 3000 0.2" for rate in range(1, 11))
    page.get_by_role("textbox", name="Commands").fill(commands)
    page.get_by_role("textbox", name="Project").fill("first-steps")
    page.get_by_role("textbox", name="GPU memory").fill("10G")
    expect(page.locator(".draft")).to_have_count(10)
    page.get_by_label("Folder").evaluate("field => (field.placeholder = '/home/ada/thesis')")  # for the picture
    album("add")
    page.get_by_role("button", name="Add 10 jobs").click()

    # See them run on GPUs.
    expect(page.locator("tbody .col-state")).to_have_text(["running"] * 10)
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
    assert live_server.api(f"/jobs/{job}")["attempts"] == 2

    # Find the best run of a sweep.
    page.get_by_role("link", name="Add jobs").click()
    page.get_by_role("button", name="A sweep").click()
    page.get_by_role("textbox", name="Command with placeholders").fill("python train.py {lr} 6 0")
    page.get_by_role("textbox", name="Values of lr").fill("0.1 0.5 0.2")
    page.get_by_role("textbox", name="GPU memory").fill("1G")
    page.get_by_role("button", name="Add 3 runs").click()
    expect(page.locator(".progress").first).to_contain_text("3 succeeded")
    page.get_by_label("Metric", exact=True).select_option("accuracy")
    expect(page.get_by_label("Which is best")).to_have_value("high")
    expect(page.get_by_role("region", name="Best run")).to_contain_text("lr=0.5")

    # Pause the queue; what is added waits, and says why.
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".is-paused")).to_be_visible()
    page.get_by_role("link", name="Add jobs").click()
    page.get_by_role("textbox", name="Commands").fill("python pretrain.py 90000 90")
    page.get_by_role("textbox", name="Name").fill("big-one")
    page.get_by_role("spinbutton", name="GPUs").fill("2")
    page.get_by_role("textbox", name="GPU memory").fill("95G")
    expect(page.get_by_role("button", name="Add 1 job")).to_be_enabled()
    page.keyboard.press("Control+Enter")
    page.get_by_role("link", name="big-one").click()
    why = page.get_by_label("Why it is waiting")
    expect(why).to_contain_text("paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(why).to_contain_text("95G")
    expect(why.get_by_role("link").first).to_have_text(re.compile(r"^job \d+$"))
    album("why", width=830, height=520)

    # Change its priority.
    page.get_by_role("button", name="Priority").click()
    page.get_by_role("spinbutton", name="Priority").fill("90")
    page.get_by_role("dialog").get_by_role("button", name="Change").click()
    expect(page.locator(".fact", has_text="Priority").locator("dd")).to_have_text("90")
