"""A tab is left open, and its server ends. Whoever answers at the port then gets nothing that opens anything."""

from __future__ import annotations

import urllib.error
import urllib.request
from urllib.parse import urlsplit

from tests.conftest import DEADLINE_S, until
from tests.other_users import needs_other_users
from tests.web.browser.attacker import Loot, attacker
from tests.web.browser.live_server import LiveServer, address_of, by_number
from tests.web.browser.needs import Browser, BrowserContext, Error, Page, expect

# What the scripts of a page that is still open can get of the other tabs.
ASK = """async () => {
  const told = [];
  const others = new BroadcastChannel("duckrow.session");
  others.onmessage = ({ data }) => told.push(data);
  others.postMessage("ask");
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return [told, {...sessionStorage}, {...localStorage}, document.title];
}"""
RELOAD = "setTimeout(() => location.reload(), 0)"  # not waited for: what the page then does tells
KEPT = "sessionStorage.getItem('duckrow.session')"


def logged_in(context: BrowserContext, link: str) -> Page:
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    return page


def reload(page: Page) -> None:
    try:
        page.evaluate(RELOAD)
    except Error:  # it has just done so by itself: the server there does not answer as ours did
        pass


def opens(url: str, word: str) -> bool:
    """Whether this word lets anybody in, in whatever way it is presented."""
    headers = {"X-Duckrow": word, "Authorization": f"Bearer {word}", "Cookie": f"session={word}; duckrow={word}"}
    request = urllib.request.Request(f"{by_number(url)}/api/v1/status", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S):
            return True
    except urllib.error.HTTPError as error:
        if error.code == 401:
            return False
        raise


def that_open(loot: Loot, url: str) -> set[str]:
    return {word for word in loot.words if opens(url, word)}


@needs_other_users
def test_whoever_takes_the_port_of_a_server_that_ended_gets_nothing_of_worth(
    live_server: LiveServer, browser: Browser
) -> None:
    with browser.new_context() as context:
        with live_server.page() as link:
            page = logged_in(context, link)
            session = str(page.evaluate(KEPT))
            assert opens(address_of(link), session)
        port = urlsplit(link).port or 0
        with attacker(port) as loot:
            until(lambda: session in loot.words, "the tab to try again, and so to hand over its secret")
            reload(page)  # now the tab runs the attacker's scripts
            until(lambda: loot.pages >= 1, "what they found")
            with live_server.page() as another:
                logged_in(context, another)
                found = loot.pages
                reload(page)
                until(
                    lambda: loot.pages > found, "what they found while a tab of the same browser is logged in elsewhere"
                )
                assert that_open(loot, address_of(another)) == set()
            assert (
                that_open(loot, live_server.url) == set()
            )  # a server of the same folder, which was there all the time
        # The owner's server is back at its port, and the tab with the attacker's scripts is still open.
        with live_server.page("--port", str(port)) as back:
            again = logged_in(context, back)  # by no service worker that was left behind
            session = str(again.evaluate(KEPT))
            assert opens(address_of(back), session)
            asked = page.evaluate(ASK)
            assert session not in str(asked)
            assert that_open(loot, address_of(back)) == set()
            page.goto(f"{address_of(link)}/")
            expect(page).to_have_title("trap")  # the old name is theirs in this browser, and worth nothing
            page.goto(f"{address_of(back)}/machine")
            expect(page.get_by_role("article")).to_have_count(2)


@needs_other_users
def test_a_page_of_another_user_on_this_machine_is_sent_nothing(live_server: LiveServer, browser: Browser) -> None:
    """Think of a colleague's TensorBoard, at another port of the same machine."""
    with browser.new_context() as context, attacker(0) as loot:
        page = logged_in(context, live_server.duckrow("web", "--url").stdout.strip())
        page.goto(f"http://127.0.0.1:{loot.port}/")
        until(lambda: loot.pages == 1, "what it found")
        assert that_open(loot, live_server.url) == set()
        assert not [line for line in loot if "duckrow" in line.lower()]


def test_after_a_restart_tabs_say_log_in_again_and_one_link_brings_all_of_them_back(
    live_server: LiveServer, browser: Browser
) -> None:
    with browser.new_context() as context:
        with live_server.page() as link:
            pages = [logged_in(context, link), context.new_page()]
            pages[1].goto(address_of(link) + "/machine")
            expect(pages[1].get_by_role("article")).to_have_count(2)
            pages[0].bring_to_front()
        with live_server.page("--port", str(urlsplit(link).port)):
            for page in pages:
                expect(page.locator("#connection")).to_contain_text("Log in again: `duckrow web --url`")
            live_server.waiting()
            pages[0].goto(live_server.duckrow("web", "--url").stdout.strip())
            expect(pages[0].locator("tbody tr")).to_have_count(1)
            pages[1].reload()  # at the old name: it leads to the new one
            expect(pages[1].get_by_role("article")).to_have_count(2)
            assert pages[1].url == pages[0].url + "machine"


def test_by_number_all_tabs_are_back_with_one_link(live_server: LiveServer, browser: Browser) -> None:
    """For browsers that do not know names below `localhost`."""
    with browser.new_context() as context:
        with live_server.page() as link:
            pages = [logged_in(context, by_number(link) + f"#{urlsplit(link).fragment}"), context.new_page()]
            pages[1].goto(by_number(link) + "machine")
            expect(pages[1].get_by_role("article")).to_have_count(2)
        with live_server.page("--port", str(urlsplit(link).port)) as back:
            for page in pages:
                expect(page.locator("#connection")).to_contain_text("Log in again")
            pages[0].goto(by_number(back) + f"#{urlsplit(back).fragment}")  # the page is not loaded again
            for page in pages:
                expect(page.locator("#connection")).to_be_hidden()
