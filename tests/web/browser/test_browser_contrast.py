"""Whatever comes up can be read: its contrast is measured, light and dark."""

from __future__ import annotations

from tests.conftest import until
from tests.web.browser.conftest import Complaints, Open
from tests.web.browser.contrast import THEMES, too_faint, turn
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import expect
from tests.web.browser.scenery import spread_out

OUTCOMES = "succeeded failed out-of-memory timed-out killed lost skipped".split()
COLOURS = [*range(30, 38), *range(90, 98), 2, 7, "37;41", "30;42", "30;43", "37;44", "97;45", "30;46"]


def test_all_outcomes_colours_menus_and_messages_can_be_read(
    live_server: LiveServer, open_page: Open, complaints: Complaints
) -> None:
    jobs = live_server.add(*["true"] * len(OUTCOMES), name="ended")
    words = "".join(rf"\033[{colour}m ink {colour} \033[0m\n" for colour in COLOURS)
    coloured = live_server.done(f"printf '{words}'", name="coloured")
    until(lambda: all(live_server.status(job) == "succeeded" for job in jobs), "the end of all jobs")
    for job, outcome in zip(jobs, OUTCOMES, strict=True):
        live_server.duckrow.sql("UPDATE jobs SET outcome = ? WHERE id = ?", outcome, job)
        live_server.duckrow.sql("UPDATE attempts SET outcome = ? WHERE job_id = ?", outcome, job)
    spread_out(live_server)
    live = live_server.running(name="live")
    page = open_page(own=True)
    faint: list[str] = []

    def look(at: str) -> None:
        for theme in THEMES:
            turn(page, theme)
            faint.extend(f"{at}, {theme}: {text}" for text in too_faint(page))

    page.get_by_label(f"Select job {live}").check()
    page.get_by_label("Select job").nth(2).hover()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".is-paused")).to_be_visible()
    look("bar and message")
    page.get_by_role("button", name=f"Actions for job {live}").click()
    look("menu")
    page.get_by_role("menuitem", name="Kill").click()
    look("dialog")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    look("keys")
    page.goto(f"{live_server.url}/timeline?span=10m")
    expect(page.locator(".bar")).to_have_count(len(OUTCOMES) + 2)
    look("timeline")
    page.goto(f"{live_server.url}/jobs/{coloured}")
    expect(page.locator(".line")).to_have_count(len(COLOURS))
    page.get_by_label("Search the log").fill("ink")
    expect(page.locator(".log-hit")).to_have_count(len(COLOURS))
    page.locator(".log-hit").nth(3).click()
    expect(page.locator(".is-hit")).to_be_visible()
    look("log")
    page.add_init_script("sessionStorage.clear()")
    page.reload()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    look("log in")
    assert not faint, "\n".join(faint)
