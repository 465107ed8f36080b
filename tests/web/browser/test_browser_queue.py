"""The queue in a browser: found, sorted, selected, and every action clicked."""

from __future__ import annotations

import re

from tests.conftest import until
from tests.web.browser.conftest import Open
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Locator, Page, expect


def row(page: Page, job: int) -> Locator:
    return page.locator(f'tbody tr[data-key="{job}"]')


def choose(page: Page, *jobs: int) -> None:
    for job in jobs:
        row(page, job).get_by_role("checkbox").check()


def bar(page: Page, action: str) -> None:
    """Click a button of the bar of selected jobs."""
    page.get_by_role("toolbar").get_by_role("button", name=action, exact=True).click()


def confirm(page: Page, action: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=action, exact=True).click()


def state_of(page: Page, job: int) -> Locator:
    return row(page, job).locator(".col-state")


# -- looking ---------------------------------------------------------------------------------------------------------


def test_a_row_tells_everything_of_its_job(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.running(name="resnet", project="vision")
    page = open_page()
    cells = row(page, job)
    expect(cells.locator(".col-name a")).to_have_text("resnet")
    expect(cells.locator(".col-project")).to_have_text("vision")
    expect(cells.locator(".col-state")).to_have_text("running")
    expect(cells.locator(".col-devices")).to_have_text(re.compile(r"cpu\d"))
    expect(cells.locator(".col-pid")).to_have_text(re.compile(r"\d+"))
    expect(cells.locator(".col-time")).to_have_text(re.compile(r"\d+s"))
    failed = live_server.done("exit 3")
    expect(row(page, failed).locator(".col-exit")).to_have_text("3")


def test_what_happens_elsewhere_is_seen_without_a_reload(live_server: LiveServer, open_page: Open) -> None:
    page = open_page()
    job = live_server.running()
    expect(state_of(page, job)).to_have_text("running")
    live_server.duckrow("kill", "--now", str(job))
    expect(state_of(page, job)).to_have_text("killed")


def test_groups_search_and_project_narrow_the_list_and_stay_in_the_address(
    live_server: LiveServer, open_page: Open
) -> None:
    (first,) = live_server.waiting(name="alpha", project="vision")
    (second,) = live_server.waiting(name="beta", project="nlp")
    third = live_server.done(name="gamma", project="nlp")
    page = open_page()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("button", name=re.compile("^Waiting")).click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("Project").select_option("nlp")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(row(page, second)).to_be_visible()
    page.reload()
    expect(row(page, second)).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^All")).click()
    page.get_by_label("Project").select_option("")
    page.keyboard.press("/")
    page.keyboard.type("alph")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(row(page, first)).to_be_visible()
    page.get_by_label("Search jobs").fill("")
    page.get_by_label("State").select_option("succeeded")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(row(page, third)).to_be_visible()
    page.get_by_label("Search jobs").fill("nothing is called so")
    expect(page.get_by_role("heading", name="No job fits")).to_be_visible()


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(live_server: LiveServer, open_page: Open) -> None:
    for name in ("beta", "alpha", "gamma"):
        live_server.waiting(name=name)
    page = open_page()
    names = page.locator("tbody .job-link")
    page.get_by_role("button", name="Job", exact=True).click()
    expect(names).to_have_text(["alpha", "beta", "gamma"])
    page.get_by_role("button", name="Job", exact=True).click()
    expect(names).to_have_text(["gamma", "beta", "alpha"])


def test_many_jobs_come_in_pages(live_server: LiveServer, open_page: Open) -> None:
    ids = live_server.waiting(120)
    page = open_page()
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Next →").click()
    expect(row(page, ids[50])).to_be_visible()
    page.keyboard.press("n")
    expect(row(page, ids[119])).to_be_visible()
    expect(page.locator(".pager")).to_contain_text("101\u2013120 of 120")


# -- acting ----------------------------------------------------------------------------------------------------------


def test_a_running_job_is_killed_after_a_question_and_run_again(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.running()
    page = open_page()
    choose(page, job)
    bar(page, "Kill")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert live_server.status(job) == "running"
    bar(page, "Kill")
    confirm(page, "Kill")
    expect(state_of(page, job)).to_have_text("killed")
    bar(page, "Rerun")
    expect(state_of(page, job)).to_have_text("running")
    assert live_server.api(f"/jobs/{job}")["attempts"] == 2


def test_a_waiting_job_is_killed_at_once_and_brought_back_by_undo(live_server: LiveServer, open_page: Open) -> None:
    live_server.api("/queue/pause", {})  # what is brought back waits no longer for its time
    (job,) = live_server.waiting()
    page = open_page()
    row(page, job).get_by_role("button", name=f"Actions for job {job}").click()
    page.get_by_role("menuitem", name="Kill").click()
    expect(state_of(page, job)).to_have_text("killed")
    page.get_by_role("button", name="Undo").click()
    expect(state_of(page, job)).to_have_text("queued")


def test_jobs_are_held_and_released_together_and_undo_takes_it_back(live_server: LiveServer, open_page: Open) -> None:
    first, second = live_server.waiting(2)
    page = open_page()
    choose(page, first, second)
    bar(page, "Hold")
    expect(state_of(page, first)).to_have_text("queued, held")
    expect(state_of(page, second)).to_have_text("queued, held")
    page.get_by_role("button", name="Undo").click()
    expect(state_of(page, first)).to_have_text("queued")
    bar(page, "Hold")
    expect(state_of(page, first)).to_have_text("queued, held")
    bar(page, "Release")
    expect(state_of(page, second)).to_have_text("queued")


def test_a_priority_is_changed_and_undo_takes_it_back(live_server: LiveServer, open_page: Open) -> None:
    (job,) = live_server.waiting()
    page = open_page()
    before = row(page, job).locator(".col-priority").inner_text()
    choose(page, job)
    bar(page, "Priority")
    page.get_by_role("spinbutton", name="Priority").fill("77")
    confirm(page, "Change")
    expect(row(page, job).locator(".col-priority")).to_have_text("77")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, job).locator(".col-priority")).to_have_text(before)


def test_waiting_jobs_are_moved_by_button_by_number_and_by_dragging(live_server: LiveServer, open_page: Open) -> None:
    first, second, third = live_server.waiting(3)
    page = open_page()
    ids = page.locator("tbody .col-id")
    expect(ids).to_have_text([str(first), str(second), str(third)])
    choose(page, third)
    bar(page, "Move to the front")
    expect(ids).to_have_text([str(third), str(first), str(second)])
    bar(page, "Move before…")
    page.get_by_label("Before job").fill(str(second))
    confirm(page, "Move")
    expect(ids).to_have_text([str(first), str(third), str(second)])
    row(page, second).locator(".col-state").drag_to(row(page, first).locator(".col-state"))
    expect(ids).to_have_text([str(second), str(first), str(third)])


def test_a_waiting_job_is_edited(live_server: LiveServer, open_page: Open) -> None:
    (job,) = live_server.waiting()
    page = open_page()
    choose(page, job)
    bar(page, "Edit…")
    page.get_by_label("Command").fill("echo 'another one'")
    page.get_by_label("Time limit").fill("2h")
    confirm(page, "Save")
    expect(row(page, job).locator(".job-command")).to_have_text("echo 'another one'")
    assert live_server.api(f"/jobs/{job}")["timeout_s"] == 7200


def test_an_edit_that_makes_no_sense_is_refused_in_the_dialog(
    live_server: LiveServer, open_page: Open, complaints: list[str]
) -> None:
    (job,) = live_server.waiting()
    page = open_page()
    choose(page, job)
    bar(page, "Edit…")
    page.get_by_label("Time limit").fill("soon")
    confirm(page, "Save")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("soon")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert all("400" in complaint or "422" in complaint for complaint in complaints)
    complaints.clear()


def test_jobs_are_removed_after_a_question(live_server: LiveServer, open_page: Open) -> None:
    done = live_server.done()
    (kept,) = live_server.waiting()
    page = open_page()
    choose(page, done)
    bar(page, "Remove")
    confirm(page, "Remove")
    expect(row(page, done)).to_have_count(0)
    expect(row(page, kept)).to_be_visible()


def test_all_that_are_found_can_be_acted_on_beyond_the_page(live_server: LiveServer, open_page: Open) -> None:
    live_server.waiting(60, project="many")
    (other,) = live_server.waiting(project="few")
    page = open_page("/?project=many")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.keyboard.press("Shift+X")
    page.get_by_role("button", name="Select all 60").click()
    bar(page, "Hold")
    until(lambda: live_server.duckrow.sql("SELECT count(*) FROM jobs WHERE held")[0][0] == 60, "60 jobs to be held")
    assert not live_server.api(f"/jobs/{other}")["held"]


def test_the_queue_and_a_project_are_paused_and_resumed(live_server: LiveServer, open_page: Open) -> None:
    live_server.waiting(project="vision")
    page = open_page("/?project=vision")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".is-paused")).to_be_visible()
    (job,) = live_server.add("true")
    assert live_server.api("/status")["paused"]
    page.get_by_role("button", name="Resume", exact=True).click()
    live_server.duckrow.wait_for(job, "succeeded")
    page.get_by_role("button", name="Pause vision").click()
    expect(page.get_by_role("button", name="Resume vision")).to_be_visible()
    assert live_server.api("/status")["paused_projects"] == ["vision"]
    page.get_by_role("button", name="Resume vision").click()
    expect(page.get_by_role("button", name="Pause vision")).to_be_visible()


# -- keys ------------------------------------------------------------------------------------------------------------


def test_the_queue_is_worked_by_keys_alone(live_server: LiveServer, open_page: Open) -> None:
    first, second = live_server.waiting(2)
    page = open_page()
    expect(row(page, first)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(row(page, first)).to_have_class(re.compile("is-chosen"))
    page.keyboard.press("h")
    expect(state_of(page, first)).to_have_text("queued, held")
    expect(state_of(page, second)).to_have_text("queued")
    page.keyboard.press("Escape")
    expect(page.get_by_role("toolbar")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_server.url}/jobs/{first}")
    for keys, path in (("gm", "/machine"), ("gt", "/timeline"), ("gs", "/sweeps"), ("ga", "/add"), ("gq", "/")):
        page.keyboard.type(keys)
        expect(page).to_have_url(f"{live_server.url}{path}")
        expect(page.locator("#view[inert]")).to_have_count(0)
        page.keyboard.press("Escape")  # leaves the field of those that begin with one


def test_keys_in_an_open_menu_belong_to_its_job(live_server: LiveServer, open_page: Open) -> None:
    chosen, other = live_server.waiting(2)
    page = open_page()
    choose(page, chosen)
    menu = row(page, other).get_by_role("button", name=f"Actions for job {other}")
    menu.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(menu).to_be_focused()
    expect(row(page, chosen)).to_have_class(re.compile("is-chosen"))
    menu.click()
    page.keyboard.press("h")
    expect(state_of(page, other)).to_have_text("queued, held")
    assert not live_server.api(f"/jobs/{chosen}")["held"]


def test_the_focus_stays_where_it_is_while_the_list_changes(live_server: LiveServer, open_page: Open) -> None:
    first, second, third = live_server.waiting(3)
    page = open_page()
    menu = row(page, third).get_by_role("button", name=f"Actions for job {third}")
    menu.focus()
    live_server.api("/jobs/actions", {"action": "remove", "ids": [first]})
    expect(row(page, first)).to_have_count(0)
    expect(menu).to_be_focused()
    live_server.api("/jobs/actions", {"action": "first", "ids": [third]})
    expect(page.locator("tbody .col-id")).to_have_text([str(third), str(second)])
    expect(menu).to_be_focused()
    choose(page, third)
    buttons = page.get_by_role("toolbar")
    buttons.get_by_role("button", name="Priority").focus()
    live_server.api("/jobs/actions", {"action": "hold", "ids": [third]})
    expect(buttons.get_by_role("button", name="Release")).to_be_visible()
    expect(buttons.get_by_role("button", name="Priority")).to_be_focused()


def test_what_was_being_typed_does_not_follow_to_another_view(live_server: LiveServer, open_page: Open) -> None:
    page = open_page(own=True)
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    page.clock.install()
    page.get_by_label("Search jobs").fill("alph")
    page.get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    page.clock.run_for(2000)
    expect(page).to_have_url(f"{live_server.url}/timeline")


def test_a_click_on_a_row_opens_its_job_and_back_keeps_the_place(live_server: LiveServer, open_page: Open) -> None:
    jobs = live_server.waiting(45, project="many")
    page = open_page(height=600)
    expect(page.locator("tbody tr")).to_have_count(45)
    far = row(page, jobs[40])
    far.scroll_into_view_if_needed()
    place = page.evaluate("scrollY")
    assert place > 200
    far.locator(".col-project").click()
    expect(page).to_have_url(f"{live_server.url}/jobs/{jobs[40]}")
    expect(page.get_by_role("heading", name="patient")).to_be_visible()
    assert page.evaluate("scrollY") == 0
    page.go_back()
    until(lambda: abs(page.evaluate("scrollY") - place) < 50, "the place that was left")
    far.get_by_role("checkbox").check()  # which opens nothing
    expect(page).to_have_url(f"{live_server.url}/")


def test_jobs_that_vanish_from_the_list_leave_the_selection(live_server: LiveServer, open_page: Open) -> None:
    first, second, third = live_server.waiting(3)
    page = open_page("/?status=queued")
    choose(page, first, second)
    bar(page, "Kill")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("toolbar")).to_be_hidden()
    choose(page, third)
    expect(page.get_by_role("toolbar")).to_contain_text("1 job selected")


def test_arrays_and_paused_projects_are_told_apart_and_everything_must_be_meant(
    live_server: LiveServer, open_page: Open
) -> None:
    live_server.api("/queue/pause", {"project": "night"})
    wanted = {"name": "seeds", "project": "night", "gpus": 0}
    ids = live_server.api("/jobs", {"text": "true", "array": "3-5", "options": wanted})["ids"]
    page = open_page()
    expect(page.locator("tbody .job-link")).to_have_text([f"seeds[{n}]" for n in (3, 4, 5)])
    expect(state_of(page, ids[0])).to_have_text("queued, paused")
    expect(page.locator(".top .is-paused")).to_have_text("paused: night")
    expect(page.get_by_label("Project").locator("option")).to_have_text(["all projects", "night (paused)"])
    live_server.waiting(60)
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Select all 63").click()
    bar(page, "Hold")
    expect(page.get_by_text("Held 63 jobs.")).to_be_visible()
    live_server.api("/queue/resume", {"project": "night"})
    expect(state_of(page, ids[0])).to_have_text("queued, held")


def test_without_a_daemon_the_page_starts_one(live_server: LiveServer, open_page: Open) -> None:
    page = open_page()
    expect(page.get_by_role("button", name="Start it")).to_be_hidden()
    status = live_server.api("/status")
    page.route("**/api/v1/status", lambda route: route.fulfill(json={**status, "daemon": {"running": False}}))
    live_server.waiting()
    expect(page.get_by_role("status").filter(has_text="The daemon is not running")).to_be_visible()
    with page.expect_request("**/api/v1/daemon/up") as asked:
        page.get_by_role("button", name="Start it").click()
    assert asked.value.method == "POST"
    page.unroute("**/api/v1/status")
    live_server.waiting()  # whereupon the page asks again
    expect(page.get_by_role("button", name="Start it")).to_be_hidden()


def test_of_many_sweeps_the_newest_can_be_filtered_by(live_server: LiveServer, open_page: Open) -> None:
    page = open_page()
    sweeps = [{"id": number, "name": f"sweep-{number}"} for number in range(150, 0, -1)]  # as the server sends them
    page.route("**/api/v1/sweeps", lambda route: route.fulfill(json={"items": sweeps}))
    page.reload()
    offered = page.get_by_role("combobox", name="Sweep").locator("option")
    expect(offered).to_have_count(101)
    expect(offered.nth(1)).to_have_text("sweep-150")
    expect(offered.last).to_have_text("sweep-51")
