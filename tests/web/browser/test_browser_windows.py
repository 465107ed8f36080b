"""Many windows of one browser, each with a log that grows: all of them are served, over few connections."""

from __future__ import annotations

import re

from tests.web.browser.conftest import LOG_IN, PATIENCE_MS, Complaints
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Browser, Page, Request, expect

CONNECTIONS = 6  # that a browser has to a server, for all its windows


class Streams(set[str]):
    """The streams that the windows of a browser hold, by the window and the address."""

    def listen(self, page: Page) -> None:
        page.on("request", lambda request: self.add(self._key(request)) if self._is_stream(request) else None)
        for end in ("requestfailed", "requestfinished"):
            page.on(end, lambda request: self.discard(self._key(request)))

    def _key(self, request: Request) -> str:
        return f"{id(request.frame)} {request.url}"

    def _is_stream(self, request: Request) -> bool:
        return re.search(r"/(events|stream)(\?|$)", request.url) is not None


def test_more_windows_than_connections_with_a_running_job_each_are_all_served_over_two_streams(
    live_server: LiveServer, browser: Browser, session: str, complaints: Complaints
) -> None:
    job = live_server.running(live_server.training(rate=0.1, steps=6000, pause_s=0.5))  # all of them draw each line
    streams = Streams()
    with browser.new_context(reduced_motion="reduce") as context:  # or all of them would draw it all the time
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(LOG_IN.format(url=live_server.url, session=session))
        pages = [context.new_page() for _ in range(CONNECTIONS + 1)]
        for page in pages:
            complaints.listen(page)
            streams.listen(page)
            page.goto(f"{live_server.url}/jobs/{job}")
        for page in pages:
            expect(page.get_by_role("log")).to_contain_text("epoch 5")
            expect(page.locator("html")).to_have_attribute("data-connection", "live")
        assert len(streams) <= 2, streams
        lines = pages[-1].get_by_role("log").locator(".line")  # it grows, without a stream
        expect(lines.nth(lines.count())).to_be_attached()
        first, *others = pages
        first.close()  # the one that listened, and told the others
        live_server.api("/jobs/actions", {"action": "kill", "ids": [job]})
        for page in others:
            expect(page.locator(".job-title .is-state")).to_have_text("killed")
