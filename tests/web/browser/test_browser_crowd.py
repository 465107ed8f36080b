"""A queue of 100,000 jobs in a browser: found, sorted, paged and steered, while the page itself stays small."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.conftest import until
from tests.fake_nvml import NoCompiler
from tests.web.browser.conftest import PATIENCE_MS, Complaints
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Browser, Page, expect, missing

MANY = 100_000
SOME = 12_000  # more than the server acts on at once
PER_PAGE = 50
MOST_ELEMENTS = 2500


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A separate server: removing all these jobs again would take longer."""
    try:
        live_server = LiveServer(tmp_path_factory.mktemp("crowd"))
    except NoCompiler as error:
        missing("fake GPUs", str(error))
    lines = [f"echo {'early' if n < SOME else 'late'}-{n:06d}" for n in range(MANY)]
    (live_server.duckrow.work / "commands.txt").write_text("\n".join(lines))
    with live_server.open():
        live_server.duckrow("submit", "--begin", "tomorrow", "--cpu", "--file", "commands.txt")
        yield live_server
    live_server.duckrow.kill_everything()


@pytest.fixture
def page(browser: Browser, crowd: LiveServer, complaints: Complaints) -> Iterator[Page]:
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        complaints.listen(page)
        page.goto(crowd.link)
        yield page


def held(live_server: LiveServer) -> int:
    return int(live_server.duckrow.sql("SELECT count(*) FROM jobs WHERE held")[0][0])


def test_a_hundred_thousand_jobs_are_paged_sorted_found_and_steered(crowd: LiveServer, page: Page) -> None:
    rows, pager, ids = page.locator("tbody tr"), page.locator(".pager"), page.locator("tbody .col-id")
    expect(pager).to_contain_text("1\u201350 of 100,000")
    page.get_by_role("button", name="Next →").click()
    expect(ids.first).to_have_text("51")
    for first in ("1", str(MANY)):
        page.get_by_role("button", name="Id", exact=True).click()
        expect(ids.first).to_have_text(first)
    page.goto(f"{crowd.url}/?page=2000")
    expect(ids.last).to_have_text(str(MANY))
    expect(page.get_by_role("button", name="Next →")).to_be_disabled()

    page.goto(crowd.url)
    search = page.get_by_label("Search jobs")
    search.fill("late-099999")
    expect(ids).to_have_text([str(MANY)])
    search.fill("early-")
    expect(pager).to_contain_text("of 12,000")
    page.get_by_role("button", name=re.compile("^Waiting")).click()
    expect(rows).to_have_count(PER_PAGE)

    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Select all 12,000").click()
    page.get_by_role("button", name="Hold").click()
    expect(page.get_by_text("Held 12,000 jobs.")).to_be_visible()
    assert held(crowd) == SOME
    page.get_by_role("button", name="Undo").click()
    until(lambda: held(crowd) == 0, "the jobs to be released")

    search.fill("late-0999")
    expect(pager).to_contain_text("of 100")
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Select all 100").click()
    page.get_by_role("button", name="Hold").click()
    expect(page.locator("tbody .col-state").first).to_have_text("queued, held")
    assert held(crowd) == 100
    page.get_by_role("button", name="Release").click()
    expect(page.locator("tbody .col-state").first).to_have_text("queued")
    assert held(crowd) == 0
    assert page.locator("*").count() < MOST_ELEMENTS
