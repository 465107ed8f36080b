"""Pictures of every view, light and dark, wide and narrow, to be looked at; and what can be measured of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.browser.album import HEIGHT, WIDTH, Album
from tests.web.browser.conftest import Open
from tests.web.browser.contrast import THEMES, too_faint, turn
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import Page, expect
from tests.web.browser.scenery import Scenery, busy_day

CURVE_MS = 45_000  # until there is a curve worth a picture that is kept
SIZES = {"wide": 1400, "narrow": 400}
ARE_KEPT = bool(os.environ.get("DUCKROW_PICTURES"))
PIECE: Any = {"x": 0, "y": 0, "width": 400, "height": 400}  # is enough to see that something is drawn


@pytest.fixture(scope="module")
def scenery(shared_server: LiveServer) -> Iterator[Scenery]:
    shared_server.clear()
    with busy_day(shared_server) as scenery:
        yield scenery


def test_every_view_is_drawn_light_and_dark_wide_and_narrow(
    scenery: Scenery, open_page: Open, shared_server: LiveServer, pictures: Path
) -> None:
    """And no text of any of them has too little contrast with what is behind it."""
    faint: list[str] = []
    first, *_ = views(scenery).values()
    page = open_page(first)
    for name, path in views(scenery).items():
        if path != first:
            page.goto(shared_server.url + path)
        wait_until_drawn(page, name)
        for theme in THEMES:
            turn(page, theme)
            for size, width in SIZES.items():
                page.set_viewport_size({"width": width, "height": 860})
                file = pictures / f"{name}-{theme}-{size}.png"
                page.screenshot(path=file, clip=None if ARE_KEPT else PIECE)
                assert file.stat().st_size > 5_000, f"{file} is empty"
                faint += [f"{name}, {theme}, {size}: {text}" for text in too_faint(page)]
    assert not faint, "\n".join(faint)


def test_the_best_run_is_seen_at_a_glance(
    scenery: Scenery, open_page: Open, shared_server: LiveServer, pictures: Path
) -> None:
    page = open_page("/machine", width=WIDTH, height=HEIGHT)
    album = Album(page, pictures)
    expect(page.locator(".residents li")).to_have_count(4)
    expect(page.locator(".gpu .chart-line").first).to_have_attribute("d", re.compile("^M.*L"))
    if ARE_KEPT:
        page.wait_for_timeout(CURVE_MS)  # in time: for a picture
    album("machine", height=520)
    page.get_by_role("link", name="Timeline").click()
    page.get_by_role("button", name="10 min").click()
    expect(page.get_by_role("button", name="10 min")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".bar").first).to_be_visible()
    album("timeline", height=430)
    page.goto(f"{shared_server.url}/sweeps/{scenery.sweep}?metric=loss")
    page.get_by_label("Coloured by").select_option("metric")
    expect(page.get_by_role("region", name="Best run")).to_contain_text("lr=0.5")
    expect(page.locator(".sweep-curves .chart-line")).to_have_count(16)
    album("sweep")


def views(scenery: Scenery) -> dict[str, str]:
    return {
        "queue": "/",
        "job": f"/jobs/{scenery.live}",
        "waiting": f"/jobs/{scenery.waiting}",
        "machine": "/machine",
        "timeline": "/timeline?span=10m",
        "sweeps": "/sweeps",
        "sweep": f"/sweeps/{scenery.sweep}?metric=loss",
        "add": "/add",
    }


def wait_until_drawn(page: Page, name: str) -> None:
    """Each view has something that comes last."""
    last = {
        "queue": "tbody tr",
        "job": ".log-text .line",
        "waiting": ".why li",
        "machine": ".gpu .chart-line",
        "timeline": ".bar",
        "sweeps": "tbody tr",
        "sweep": ".sweep-curves .chart-line",
        "add": "textarea",
    }
    expect(page.locator(last[name]).first).to_be_attached()
    expect(page.locator(".numbers")).not_to_be_empty()
