"""Names, commands, logs, metrics and file names are hostile: whatever stands in them, no script runs."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.conftest import until
from tests.web.browser.conftest import Open
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Page, expect

PAYLOADS = (
    '<img src=x onerror="window.pwned=1">',
    '"><script>window.pwned=1</script>',
    "javascript:window.pwned=1",
    "'; window.pwned=1; '</textarea></title><svg onload=window.pwned=1>",
    "${window.pwned=1}{{window.pwned=1}} is-problem chosen",
)
HOSTILE = " ".join(PAYLOADS)


def check(page: Page) -> None:
    """Nothing of a payload became more than text."""
    assert page.evaluate("window.pwned") is None
    assert page.locator("img[src='x']").count() == 0
    assert page.evaluate("[...document.scripts].every((s) => s.src.startsWith(location.origin))")
    leads = "[...document.querySelectorAll('a[href]')].every((a) => /^[/#]/.test(a.getAttribute('href')))"
    assert page.evaluate(leads), "a link leads out of the server"
    assert page.evaluate("document.querySelectorAll('iframe, object, embed, base, form[action]').length") == 0


@pytest.fixture
def hostile_job(live_server: LiveServer) -> int:
    """A job whose every text is a payload; names that the API would refuse come straight from the database."""
    program = live_server.duckrow.work / "hostile.py"
    metrics = [{"step": step, PAYLOADS[0]: step, PAYLOADS[1]: PAYLOADS[2], "loss": step} for step in range(3)]
    program.write_text(
        f"import os, time\nprint({HOSTILE!r}, flush=True)\nprint('\\033]8;;javascript:alert(1)\\007link', flush=True)\n"
        f"open(os.environ['DUCKROW_METRICS'], 'a').write({''.join(json.dumps(one) + chr(10) for one in metrics)!r})\n"
        "raise ValueError(" + repr(HOSTILE) + ")\n"
    )
    command = f"{sys.executable} hostile.py {shlex.quote(HOSTILE)}"
    job = live_server.done(command, env={"PAYLOAD": HOSTILE})
    held = live_server.done("true", outfile=f"{PAYLOADS[0].replace('/', '')}.txt")
    for each in (job, held):
        live_server.duckrow.sql(
            "UPDATE jobs SET name = ?, project = ?, detail = ? WHERE id = ?", HOSTILE, PAYLOADS[0], HOSTILE, each
        )
    return job


def test_no_script_runs_from_a_job_in_the_queue(live_server: LiveServer, open_page: Open, hostile_job: int) -> None:
    page = open_page()
    expect(page.locator("tbody tr").first).to_contain_text(PAYLOADS[0])
    page.get_by_role("button", name=f"Actions for job {hostile_job}").click()
    page.get_by_role("menuitem", name="Remove").click()
    expect(page.get_by_role("dialog")).to_contain_text(PAYLOADS[0])
    page.keyboard.press("Escape")
    page.get_by_label("Project").select_option(PAYLOADS[0])
    expect(page.get_by_role("button", name="Pause <img")).to_be_visible()
    check(page)


def test_no_script_runs_from_a_job_on_its_page(live_server: LiveServer, open_page: Open, hostile_job: int) -> None:
    page = open_page(f"/jobs/{hostile_job}")
    expect(page.get_by_role("log")).to_contain_text(PAYLOADS[1])
    page.get_by_text("Environment").click()
    expect(page.locator(".environment")).to_contain_text(PAYLOADS[0])
    page.get_by_label("Search the log").fill("window.pwned")
    expect(page.locator(".log-hit").first).to_contain_text(PAYLOADS[0])
    page.locator('[data-action="rerun-changed"]').click()
    check(page)


def test_no_script_runs_from_a_job_elsewhere(live_server: LiveServer, open_page: Open, hostile_job: int) -> None:
    running = live_server.running()
    live_server.duckrow.sql("UPDATE jobs SET name = ? WHERE id = ?", HOSTILE, running)
    page = open_page("/machine")
    expect(page.locator(".slot a")).to_contain_text(PAYLOADS[0])
    check(page)
    page.goto(f"{live_server.url}/timeline?span=10m")
    page.locator(".bar").first.hover(force=True)
    expect(page.locator(".gantt-tip")).to_contain_text("window.pwned")
    check(page)
    page.goto(f"{live_server.url}/add")
    page.get_by_role("textbox", name="Commands").fill(HOSTILE.replace("'", ""))
    expect(page.get_by_role("region", name="Preview")).to_contain_text("window.pwned")
    check(page)


def test_no_script_runs_from_a_sweep(live_server: LiveServer, open_page: Open, hostile_job: int) -> None:
    pattern = f"{sys.executable} hostile.py {{x}}"
    sweep = live_server.api(
        "/sweeps", {"pattern": pattern, "parameters": {"x": list(PAYLOADS)}, "options": {"name": "bad"}}
    )["sweep"]
    until(lambda: live_server.sweep_counts(sweep) == {"failed"}, "the end of the sweep")
    live_server.duckrow.sql("UPDATE sweeps SET name = ?, project = ? WHERE id = ?", HOSTILE, HOSTILE, sweep)
    page = open_page("/sweeps")
    expect(page.locator("tbody tr").first).to_contain_text(PAYLOADS[0])
    check(page)
    page.goto(f"{live_server.url}/sweeps/{sweep}")
    expect(page.get_by_role("region", name="Runs", exact=True).locator("tbody")).to_contain_text(PAYLOADS[1])
    expect(page.get_by_role("region", name="Failures")).to_contain_text("window.pwned")
    page.get_by_label("Metric", exact=True).select_option(PAYLOADS[0])
    page.get_by_label("Coloured by").select_option("metric")
    expect(page.locator(".run.is-painted")).to_have_count(len(PAYLOADS))
    check(page)


def test_a_hostile_address_is_only_text(live_server: LiveServer, open_page: Open) -> None:
    page = open_page("/?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E&project=%22%3E%3Cscript%3E")
    page.get_by_label("Search jobs").wait_for()
    check(page)
