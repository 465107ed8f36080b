"""Adding jobs and sweeps in a browser, with a preview of what they will be; and finding the best run of a sweep."""

from __future__ import annotations

import re

from tests.conftest import until
from tests.web.browser.conftest import Open
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Locator, Page, expect


def preview(page: Page) -> Locator:
    return page.get_by_role("region", name="Preview")


# -- jobs ------------------------------------------------------------------------------------------------------------


def test_ten_commands_are_previewed_and_added(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/add")
    page.get_by_role("textbox", name="Commands").fill("\n".join(f"echo 'job number {n}'" for n in range(10)))
    page.get_by_role("spinbutton", name="GPUs").fill("0")
    page.get_by_role("textbox", name="Project").fill("ten")
    expect(preview(page).locator(".draft")).to_have_count(10)
    expect(preview(page).locator(".draft").first.locator(".word")).to_have_text(["echo", "job number 0"])
    page.get_by_role("button", name="Add 10 jobs").click()
    expect(page.locator("tbody tr")).to_have_count(10)
    until(lambda: live_server.api("/jobs?project=ten")["counts"] == {"succeeded": 10}, "ten jobs to succeed")


def test_jobs_are_added_by_keys_alone(live_server: LiveServer, open_page: Open) -> None:
    page = open_page()
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    page.keyboard.type("ga")
    expect(page.get_by_role("textbox", name="Commands")).to_be_focused()
    page.keyboard.type("echo by keys")
    expect(page.get_by_role("button", name="Add 1 job")).to_be_enabled()
    page.keyboard.press("Control+Enter")
    expect(page.locator("tbody .job-command")).to_have_text("echo by keys")


def test_blocks_of_gpupeasy_are_understood(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/add")
    page.get_by_role("textbox", name="Commands").fill("first;;out1.txt;;echo one;;;\nsecond;;out2.txt;;echo two;;;")
    expect(preview(page).locator(".draft b")).to_have_text(["first", "second"])
    expect(preview(page)).to_contain_text("out2.txt")
    page.get_by_role("button", name="Add 2 jobs").click()
    until(lambda: live_server.api("/status")["counts"] == {"succeeded": 2}, "two jobs to succeed")
    assert (live_server.duckrow.work / "out2.txt").read_text() == "two\n"


def test_what_cannot_be_added_is_told_while_it_is_typed(
    live_server: LiveServer, open_page: Open, complaints: list[str]
) -> None:
    page = open_page("/add")
    page.get_by_role("textbox", name="Commands").fill("echo fine")
    expect(page.get_by_role("button", name="Add 1 job")).to_be_enabled()
    page.get_by_role("textbox", name="Time limit").fill("soon")
    expect(preview(page).get_by_role("alert").first).to_contain_text("soon")
    expect(page.locator(".dialog-buttons .is-main")).to_be_disabled()
    assert live_server.api("/jobs")["total"] == 0
    assert all("400" in complaint or "422" in complaint for complaint in complaints)
    complaints.clear()


# -- sweeps ----------------------------------------------------------------------------------------------------------


def test_a_sweep_is_previewed_and_added(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/add")
    page.get_by_role("button", name="A sweep").click()
    page.get_by_role("textbox", name="Command with placeholders").fill("echo {lr} {seed}")
    page.get_by_role("textbox", name="Values of lr").fill("0.1 0.01")
    page.get_by_role("textbox", name="Values of seed").fill("0..2")
    page.get_by_role("textbox", name="Name").fill("tiny")
    expect(preview(page).locator(".draft")).to_have_count(6)
    expect(preview(page).locator(".draft code").first).to_have_text("echo 0.1 0")
    page.get_by_role("button", name="Add 6 runs").click()
    expect(page.get_by_role("heading", name="tiny")).to_be_visible()
    expect(page.locator(".grid .run")).to_have_count(6)
    expect(page.locator(".progress").first).to_contain_text("6 succeeded")


def test_the_best_run_of_a_sweep_is_found_and_failures_are_run_again(live_server: LiveServer, open_page: Open) -> None:
    sweep = live_server.sweep("rates", lr="0.1 0.5 10", seed="0 1")
    page = open_page("/sweeps")
    page.get_by_role("link", name="rates").first.click()
    best = page.get_by_role("region", name="Best run")
    page.get_by_label("Metric", exact=True).select_option("loss")
    expect(best).to_contain_text("lr=0.5")
    page.get_by_label("Which is best").select_option("high")
    expect(best).to_contain_text("lr=0.1")
    page.get_by_label("Coloured by").select_option("metric")
    expect(page.locator(".grid .run.is-painted")).to_have_count(4)
    expect(page.locator(".grid .run.is-hollow")).to_have_count(2)
    expect(page.locator(".sweep-curves .chart-line")).to_have_count(4)
    page.get_by_role("button", name="loss", exact=True).click()
    losses = [float(text) for text in page.locator(".runs tbody tr td:nth-child(6)").all_inner_texts() if text]
    assert len(losses) == 4
    assert losses == sorted(losses)
    failures = page.get_by_role("region", name="Failures")
    expect(failures).to_contain_text("ValueError: learning rate 10.0 is too high")
    failures.get_by_role("button", name="Rerun these 2").click()
    until(lambda: live_server.attempts_of(sweep) == {1, 2}, "the failed runs to run again")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == 7
    assert "loss" in lines[0]
    other = live_server.done()
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(6)
    sweeps = page.get_by_label("Sweep", exact=True)
    expect(sweeps).to_have_value(str(sweep))
    sweeps.select_option("all sweeps")
    expect(page.locator(f'tbody tr[data-key="{other}"]')).to_be_visible()
    sweeps.select_option("rates")
    expect(page.locator("tbody tr")).to_have_count(6)
    page.locator("tbody .job-link").first.click()
    page.get_by_role("link", name="rates").click()
    expect(page.get_by_role("region", name="Best run")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/sweeps/{sweep}$"))


def test_without_sweeps_a_newcomer_is_told_what_one_is(live_server: LiveServer, open_page: Open) -> None:
    live_server.duckrow.sql("DELETE FROM sweeps")  # those of other tests, whose jobs are removed
    page = open_page("/sweeps")
    expect(page.get_by_role("heading", name="No sweeps yet")).to_be_visible()


def test_what_was_typed_is_there_again_until_it_is_added(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/add")
    commands = page.get_by_role("textbox", name="Commands")
    commands.fill("echo half typ")
    page.get_by_role("spinbutton", name="GPUs").fill("0")
    page.get_by_role("link", name="Machine").click()
    expect(page.get_by_role("article")).to_have_count(2)
    page.go_back()
    expect(commands).to_have_value("echo half typ")
    page.get_by_role("link", name="Queue").click()
    page.get_by_role("link", name="Add jobs").click()
    expect(commands).to_have_value("echo half typ")
    expect(page.get_by_role("spinbutton", name="GPUs")).to_have_value("0")
    page.get_by_role("button", name="Add 1 job").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Add jobs").click()
    expect(commands).to_have_value("")


EMPTIED_AND_SENT = """(box) => {
  box.value = "";
  box.dispatchEvent(new Event("input", { bubbles: true }));
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
}"""


def test_what_was_emptied_since_its_preview_is_not_added(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/add")
    commands = page.get_by_role("textbox", name="Commands")
    commands.fill("echo hello")
    expect(page.get_by_role("button", name="Add 1 job")).to_be_enabled()
    commands.evaluate(EMPTIED_AND_SENT)
    expect(preview(page)).to_contain_text("Type a command")
    assert page.locator(".toast").count() == 0
    assert live_server.api("/jobs")["total"] == 0
