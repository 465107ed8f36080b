"""Signing in, losing the server and finding it again, tabs that nobody sees, and a page that only shows."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.conftest import until
from tests.web.browser.conftest import PATIENCE_MS, Complaints, Open
from tests.web.browser.live_server import LiveServer, address_of
from tests.web.browser.needs import Browser, Page, Route, expect


def test_a_browser_that_is_not_known_is_told_how_to_get_in(browser: Browser, live_server: LiveServer) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{live_server.url}/")
        expect(page.get_by_text("duckrow web --url", exact=True)).to_be_visible()
        link = live_server.duckrow("web", "--url").stdout.strip()
        page.goto(link)  # into the open tab: the page is not loaded again
        expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
        assert page.url == f"{live_server.url}/"
        page.reload()
        expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
        assert context.cookies() == []
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_text("duckrow web --url", exact=True)).to_be_visible()
        expect(page.get_by_role("alert")).to_contain_text("This link no longer works")


def test_a_new_tab_gets_in_by_another_one_of_the_same_browser(live_server: LiveServer, browser: Browser) -> None:
    (job,) = live_server.waiting()
    link = live_server.duckrow("web", "--url").stdout.strip()
    with browser.new_context() as context, browser.new_context() as elsewhere:
        page = context.new_page()
        page.goto(link)
        with context.expect_page() as opened:
            page.get_by_role("link", name="patient").click(modifiers=["ControlOrMeta"])
        expect(opened.value.get_by_role("heading", name="patient")).to_be_visible()
        typed = context.new_page()
        typed.goto(f"{live_server.url}/jobs/{job}")
        expect(typed.get_by_role("heading", name="patient")).to_be_visible()
        other_browser = elsewhere.new_page()
        other_browser.goto(f"{live_server.url}/jobs/{job}")
        expect(other_browser.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_lost_connection_is_shown_and_heals_by_itself(
    live_server: LiveServer, open_page: Open, complaints: list[str]
) -> None:
    live_server.waiting()
    page = open_page()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('online'))")  # makes it try at once
    expect(page.get_by_role("status").filter(has_text="connection is lost")).to_be_visible()
    live_server.waiting()
    page.context.set_offline(False)
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_text("connection is lost")).to_be_hidden()
    complaints.clear()  # of the requests that found nobody


def test_a_late_no_to_the_old_secret_does_not_log_out_the_new_one(
    live_server: LiveServer, open_page: Open, complaints: list[str]
) -> None:
    page = open_page("/machine")
    expect(page.get_by_role("article")).to_have_count(2)
    before = page.evaluate(SECRET)
    held: list[Route] = []
    page.route("**/api/v1/devices", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/api/v1/devices"):
        pass  # the view asks each two seconds
    page.evaluate(
        "(hash) => { location.hash = hash }", urlsplit(live_server.duckrow("web", "--url").stdout.strip()).fragment
    )
    page.wait_for_function(f"(before) => {SECRET} !== before", arg=before)
    held[0].fulfill(status=401, json={"error": {"sentence": "You are not logged in.", "hint": None}})
    with page.expect_response(lambda answer: answer.url.endswith("/devices") and answer.ok):
        pass  # the next one, with the new secret
    expect(page.locator("html")).to_have_attribute("data-connection", "live")
    complaints.clear()


SECRET = "sessionStorage.getItem('duckrow.session')"


def test_a_view_that_cannot_be_loaded_says_so(live_server: LiveServer, open_page: Open, complaints: list[str]) -> None:
    page = open_page()
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    page.route("**/timeline/view.js", lambda route: route.abort())
    page.get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("heading", name="This view could not be loaded")).to_be_visible()
    page.unroute("**/timeline/view.js")
    page.get_by_role("button", name="Reload").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    complaints.clear()  # of the file that did not come


HIDDEN = """(isHidden) => {
  Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
COUNT_STREAMS = """
  window.streams = [];
  const real = window.fetch;
  window.fetch = (where, options) => {
    if (options?.headers?.Accept === "text/event-stream") window.streams.push(options.signal);
    return real(where, options);
  };
"""


def test_a_tab_that_nobody_sees_asks_nothing_and_holds_no_stream(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.running(live_server.training(steps=3000, pause_s=0.05))
    page = open_page(f"/jobs/{job}", own=True)
    page.add_init_script(COUNT_STREAMS)
    page.reload()
    expect(page.get_by_role("log")).to_contain_text("epoch 3")
    page.evaluate(HIDDEN, True)
    assert page.evaluate("streams.length > 1 && streams.every((signal) => signal.aborted)")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    until(lambda: nothing_is_asked(page, asked, 300), "the answers to what was under way")
    before = page.locator(".log-text .line").count()
    live_server.waiting()
    assert nothing_is_asked(page, asked, 2500), asked  # longer than any view waits between two looks
    page.evaluate(HIDDEN, False)
    expect(page.locator(".log-text .line").nth(before + 5)).to_be_attached()
    lines = page.locator(".log-text .line").all_text_contents()
    assert len(lines) == len(set(lines)), "a line has come twice"


def nothing_is_asked(page: Page, asked: list[str], ms: float) -> bool:
    """For so long; `asked`: where requests are noted."""
    asked.clear()
    page.wait_for_timeout(ms)  # in time: nothing must happen
    return not asked


def test_a_page_that_is_read_only_has_no_buttons(
    browser: Browser, live_server: LiveServer, complaints: Complaints
) -> None:
    (job,) = live_server.waiting()
    with live_server.page("--read-only", "--base-path", "/ducks") as link, browser.new_context() as context:
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        complaints.listen(page)
        page.goto(link)
        url = address_of(link)
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.get_by_text("read-only")).to_be_visible()
        for path in (f"/jobs/{job}", "/machine", "/sweeps", "/timeline", "/add", "/"):
            page.goto(url + path)
            page.get_by_role("heading").first.wait_for(state="attached")
            page.wait_for_load_state("load")
            names = page.get_by_role("button").all_inner_texts()
            assert not {"Kill", "Pause", "Drain", "Remove…", "Add devices…", "Hold", "Add"} & set(names), path
        page.get_by_role("link", name="patient").click()
        expect(page).to_have_url(f"{url}/jobs/{job}")
        page.get_by_role("link", name="Machine").click()
        expect(page.get_by_role("article")).to_have_count(2)


def test_the_theme_follows_the_system_until_it_is_chosen(live_server: LiveServer, open_page: Open) -> None:
    page = open_page(dark=True)
    html = page.locator("html")
    expect(html).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Light or dark").click()
    expect(html).to_have_attribute("data-theme", "light")
    page.reload()
    expect(html).to_have_attribute("data-theme", "light")
    expect(html).to_have_attribute("data-connection", "live")  # by then it also listens to keys
    page.keyboard.press("Shift+D")
    expect(html).to_have_attribute("data-theme", "dark")


def test_nothing_is_wider_than_a_phone(live_server: LiveServer, open_page: Open) -> None:
    job = live_server.done(f"echo {'wide' * 100}", name="a" * 90, project="p" * 90)
    sweep = live_server.sweep("wide", lr="0.1 0.2 0.3 10", seed="0 1")  # a column for each rate
    page = open_page("/", width=360)
    last = {
        "/": "tbody tr",
        "/machine": ".gpu",
        "/timeline": ".bar",
        "/sweeps": "tbody tr",
        "/add": "textarea",
        f"/jobs/{job}": ".log-text .line",
        f"/sweeps/{sweep}": ".sweep-curves .chart-line",
    }
    for path, drawn in last.items():
        page.goto(live_server.url + path)
        expect(page.locator(drawn).first).to_be_attached()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
