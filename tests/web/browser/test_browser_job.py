"""A job in a browser: what is known of it, why it waits, its attempts, its log while it is written."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from tests.conftest import until
from tests.web.browser.conftest import ONLY_MODULES, Open
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Locator, Page, expect


def act(page: Page, action: str) -> None:
    page.locator(f'.job-buttons [data-action="{action}"]').click()


def log(page: Page) -> Locator:
    return page.get_by_role("log")


def fact(page: Page, word: str) -> Locator:
    return page.locator(".fact", has=page.locator("dt", has_text=re.compile(f"^{word}$"))).locator("dd")


# -- what it is ------------------------------------------------------------------------------------------------------


def test_everything_known_of_a_job_is_told(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done("echo hello; exit 3", name="greeter", project="manners", retries=0, timeout="2h")
    page = open_page(f"/jobs/{job}")
    expect(page.get_by_role("heading", name="greeter")).to_be_visible()
    expect(page.locator(".job-title .is-state")).to_have_text("failed")
    expect(fact(page, "Command").locator("code")).to_have_text("echo hello; exit 3")
    expect(fact(page, "Exit")).to_have_text("3")
    expect(fact(page, "Time limit")).to_have_text("2h 00m")
    expect(page.locator(".story")).to_contain_text("queued → starting")
    expect(log(page)).to_contain_text("hello")
    page.get_by_role("link", name="manners").click()
    expect(page).to_have_url(f"{live_server.url}/?project=manners")


def test_why_a_job_waits_is_said_in_sentences(live_server: LiveServer, open_page: Open) -> None:
    (job,) = live_server.waiting()
    live_server.api("/jobs/actions", {"action": "hold", "ids": [job]})
    page = open_page(f"/jobs/{job}")
    expect(page.get_by_label("Why it is waiting")).to_contain_text("held")
    act(page, "release")
    expect(page.get_by_label("Why it is waiting")).not_to_contain_text("held")


def test_secrets_of_the_environment_are_masked(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done(env={"API_TOKEN": "hunter2", "COLOUR": "yellow"})
    page = open_page(f"/jobs/{job}")
    page.get_by_text("Environment").click()
    expect(page.locator(".environment")).to_contain_text("yellow")
    expect(page.locator(".environment")).to_contain_text("API_TOKEN")
    assert "hunter2" not in page.content()


# -- what can be done to it ------------------------------------------------------------------------------------------


def test_a_job_is_killed_run_again_and_shows_both_attempts(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.running("echo begun; sleep 600")
    page = open_page(f"/jobs/{job}")
    act(page, "kill")
    page.get_by_role("dialog").get_by_role("button", name="Kill").click()
    expect(page.locator(".job-title .is-state")).to_have_text("killed")
    act(page, "rerun")
    expect(page.locator(".job-title .is-state")).to_have_text("running")
    expect(page.locator(".job-side tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Show attempt 1").click()
    expect(page.locator(".job-side tbody tr.is-chosen .col-state")).to_have_text("killed")
    expect(log(page)).to_contain_text("begun")


def test_a_job_is_run_again_with_changes(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done("exit 1")
    page = open_page(f"/jobs/{job}")
    act(page, "rerun-changed")
    page.get_by_label("Command").fill("echo better")
    page.get_by_role("dialog").get_by_role("button", name="Rerun").click()
    expect(page.locator(".job-title .is-state")).to_have_text("succeeded")
    expect(log(page)).to_contain_text("better")


def test_a_job_that_is_removed_leaves_a_sentence(
    live_server: LiveServer, open_page: Open, complaints: list[str]
) -> None:
    job = live_server.done()
    page = open_page(f"/jobs/{job}")
    act(page, "remove")
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("alert")).to_contain_text(str(job))
    assert all("404" in complaint for complaint in complaints)
    complaints.clear()


def test_the_curves_of_a_job_show_its_memory_and_how_busy_its_gpu_was(
    live_server: LiveServer, open_page: Open, pictures: Path
) -> None:
    page = open_page("/machine")  # while somebody looks, the GPUs are read often
    job = live_server.done("python pretrain.py 30000 70 4", gpus=1, gpu_mem="40G", name="curved")
    page.goto(f"{live_server.url}/jobs/{job}")
    curves = page.get_by_role("region", name="Curves")
    for line in (0, 1):  # memory, busy
        expect(curves.locator(".chart-line").nth(line)).to_have_attribute("d", re.compile("^M[^L]+(L[^L]+){3}"))
    expect(curves.locator(".chart-top").first).to_have_text("40 GB")
    expect(curves.locator(".chart-mark").first).to_have_attribute("visibility", "visible")
    curves.locator(".chart-plot").first.hover()
    expect(curves.locator(".chart-tip").first).to_have_text(re.compile(r"^(1000 MB|29 GB) · \ds$"))
    curves.screenshot(path=pictures / "curves.png")


# -- its log ---------------------------------------------------------------------------------------------------------


def test_a_log_is_followed_with_colours_and_folded_progress_bars(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.running(live_server.training(rate=0.1, steps=600, pause_s=0.1))
    page = open_page(f"/jobs/{job}")
    lines = log(page).locator(".line")
    expect(lines.first).to_have_text("training with lr=0.1")
    expect(log(page).locator(".ink-6").first).to_have_text("lr=0.1")
    expect(log(page)).to_contain_text("epoch 12")
    assert not re.search(r"\d+%", log(page).text_content() or ""), "a bar that is over shows its last state"
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
    stopped = lines.count()
    page.get_by_role("button", name="End").click()
    until(lambda: lines.count() > stopped, "more lines")


# What is printed, and what a terminal shows in the end.
SCREENS = {
    "one\ntwo": ["one", "two"],
    "windows\r\nlines\r\n": ["windows", "lines"],
    "10%\r20%\r30%\ndone": ["30%", "done"],
    "bar\r\x1b[Kdone\n": ["done"],
    "bar\r   \r": [],
    "outer\n\rinner 1\x1b[A\n\rinner 2\x1b[A\router 2": ["outer 2", "inner 2"],
    "inner 1\x1b[A\n\rinner 2\x1b[A\router": ["outer", "inner 2"],
    "one\ntwo\n\x1b[1Anew\n": ["one", "new"],
    "one\ntwo\nthree\n\x1b[3F\x1b[Jall\n": ["all"],
    "\x1b[1;3": [],
}
SHOWN = """async ([screens, size]) => {
  const { Terminal } = await import("/static/js/job/terminal.js");
  return screens.map((text) => {
    const screen = new Terminal();
    for (let at = 0; at < text.length; at += size) screen.write(text.slice(at, at + size));
    return screen.rows.map((row) => row.text.trimEnd()).filter(Boolean);
  });
}"""


def test_a_log_looks_as_on_a_terminal_however_it_is_cut(open_page: Open) -> None:
    page = open_page(ONLY_MODULES)
    for size in (1, 2, 5, 100):
        assert page.evaluate(SHOWN, [list(SCREENS), size]) == list(SCREENS.values())


def test_nested_progress_bars_are_folded_to_the_last_state_of_each(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.running("until [ -e go ]; do sleep 0.05; done; python nested.py 2 3000")
    page = open_page(f"/jobs/{job}")
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")
    (live_server.duckrow.work / "go").touch()
    lines = log(page).locator(".line")
    last = ["epochs 100%", f"  steps 100% |{'#' * 20}|", "the end"]
    expect(lines).to_have_text(["begin", *last])
    expect(log(page).locator(".ink-2")).to_have_text("epochs")
    expect(page.locator(".log-position")).to_have_text("235 KB of 235 KB")
    page.reload()  # now it is read in blocks, each of which begins somewhere among the bars
    expect(lines.last).to_have_text("the end")
    shown = [line for line in lines.all_inner_texts() if line]
    assert shown[-3:] == last
    assert len(shown) < 12, "each block is folded"


def test_a_long_log_is_a_window_that_moves(live_server: LiveServer, open_page: Open) -> None:
    """20 MB, of which the browser holds some hundred kilobytes."""
    job = live_server.done("seq -f 'line %09.0f of a log that has many lines' 1 400000")
    page = open_page(f"/jobs/{job}")
    expect(log(page)).to_contain_text("line 000400000")
    assert log(page).locator(".line").count() < 20_000
    page.get_by_role("button", name="Start").click()
    expect(log(page)).to_contain_text("line 000000001 ")
    expect(log(page)).not_to_contain_text("line 000400000")

    def down() -> bool:
        log(page).evaluate("element => element.scrollTo(0, element.scrollHeight)")
        return "line 000015000" in (log(page).text_content() or "")

    until(down, "block after block")
    expect(log(page)).not_to_contain_text("line 000000001 ")
    page.get_by_label("Position in the log").fill("500")
    expect(log(page)).to_contain_text(re.compile(r"line 0002000\d\d"))
    shown = log(page).locator(".line").all_inner_texts()
    assert all(re.fullmatch(r"line \d{9} of a log that has many lines", line) for line in shown if line), "whole lines"
    assert log(page).locator(".line").count() < 20_000


def test_a_text_is_found_in_a_long_log_and_jumped_to(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done("seq -f 'line %09.0f' 1 200000; echo 'ValueError: <b>bad</b> rate'; seq 1 100000")
    page = open_page(f"/jobs/{job}")
    page.get_by_label("Search the log").fill("valueerror")
    page.locator(".log-hit").click()
    expect(log(page).locator(".is-hit")).to_have_text("ValueError: <b>bad</b> rate")
    expect(log(page).locator(".is-hit")).to_be_in_viewport()
    expect(log(page)).to_contain_text("line 000200000")
    page.get_by_label("Search the log").fill("nowhere to be found")
    expect(page.locator(".log-hits")).to_contain_text("0 lines found")


def test_a_log_is_downloaded_as_it_is(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done(r"printf 'a\rb\n\033[31mred\033[0m\n'")
    page = open_page(f"/jobs/{job}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.path().read_bytes() == b"a\rb\n\033[31mred\033[0m\n"
    assert download.value.suggested_filename.endswith(".log")


def test_keys_move_the_log(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done("seq -f 'line %09.0f' 1 100000")
    page = open_page(f"/jobs/{job}")
    expect(log(page)).to_contain_text("line 000100000")
    page.keyboard.press("0")
    expect(log(page)).to_contain_text("line 000000001")
    page.keyboard.press("Shift+G")
    expect(log(page)).to_contain_text("line 000100000")


def is_at_end(page: Page) -> bool:
    return bool(log(page).evaluate("el => el.scrollHeight - el.clientHeight - el.scrollTop < 5 && el.scrollTop > 0"))


def test_a_failed_job_begins_with_its_error_and_its_log_opens_at_the_end(
    live_server: LiveServer, open_page: Open
) -> None:
    crash = r"import sys; print('\\x1b[32mgreen\\x1b[0m 10%\\rgreen 20%'); sys.exit('RuntimeError: it broke')"
    job = live_server.done(f'seq -f "line %g" 1 400; python -c "{crash}"', name="broken")
    for page in (open_page(f"/jobs/{job}", width=width) for width in (1400, 400)):
        expect(page.locator(".job-main > :visible").first.get_by_role("heading")).to_have_text("RuntimeError: it broke")
        expect(log(page).locator(".line").last).to_have_text("RuntimeError: it broke")
        until(partial(is_at_end, page), "the end of the log")
        page.keyboard.press("0")
        expect(log(page).locator(".line").first).to_be_in_viewport()
        page.keyboard.press("Shift+G")
        until(partial(is_at_end, page), "the end of the log, by its key")
    page.set_viewport_size({"width": 500, "height": 500})
    until(lambda: is_at_end(page), "the end of the log in a smaller window")
    page.get_by_label("Search the log").fill("green")
    expect(page.locator(".log-hit")).to_have_text("green 20%")
    page.get_by_label("Search the log").fill("line 200")
    page.locator(".log-hit").click()
    expect(log(page).locator(".is-hit")).to_be_in_viewport()


def test_the_metrics_of_a_job_are_shown_and_what_is_not_finite_is_a_gap(
    live_server: LiveServer, open_page: Open
) -> None:
    values = ["1", "0.8", '"NaN"', '"Infinity"', "0.4", "0.3"]
    lines = "".join(f'{{"step": {step}, "loss": {value}, "rate": 7}}\\n' for step, value in enumerate(values))
    job = live_server.done(f"printf '{lines}' > $DUCKROW_METRICS", gpus=0, mem="1G", cpus=1)
    page = open_page(f"/jobs/{job}")
    metrics = page.get_by_role("region", name="Metrics")
    expect(metrics.get_by_role("button", name="loss 0.3")).to_have_attribute("aria-pressed", "true")
    expect(metrics.locator(".chart-line")).to_have_attribute("d", re.compile(r"^M[^ML]+ [^ML]+L[^ML]+M[^ML]+L[^ML]+$"))
    metrics.get_by_role("button", name="rate 7").click()
    expect(metrics.get_by_role("button", name="rate 7")).to_have_attribute("aria-pressed", "true")
    expect(fact(page, "Needs")).to_have_text("1 CPU, 1 GB of memory")


def test_what_is_not_there_has_a_page_of_its_own(
    live_server: LiveServer, open_page: Open, complaints: list[str]
) -> None:
    page = open_page("/jobs/987654")
    expect(page.get_by_role("heading")).to_have_text(["There is no job 987654"])
    page.get_by_role("link", name="To the queue").click()
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    for word in ("0", "987654", "nobody"):
        page.goto(f"{live_server.url}/sweeps/{word}")
        expect(page.get_by_role("heading")).to_have_text([f"There is no sweep {word}"])
    page.get_by_role("link", name="All sweeps").click()
    expect(page).to_have_url(f"{live_server.url}/sweeps")
    assert all("404" in complaint for complaint in complaints)
    complaints.clear()
