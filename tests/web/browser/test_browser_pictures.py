"""Pictures of every view, light and dark, wide and narrow; to be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tests.web.browser.conftest import Open
from tests.web.browser.desk import Desk
from tests.web.browser.needs import Page, expect
from tests.web.browser.scenery import Scenery, busy_day

SIZES = {"wide": 1400, "narrow": 400}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def test_every_view_is_drawn_light_and_dark_wide_and_narrow(desk: Desk, open_page: Open, pictures: Path) -> None:
    with busy_day(desk) as scenery:
        page = open_page("/machine")
        for name, path in views(scenery).items():
            page.goto(desk.url + path)
            wait_until_drawn(page, name)
            for size, width in SIZES.items():
                page.set_viewport_size({"width": width, "height": 860})
                for theme in THEMES:
                    page.emulate_media(color_scheme=theme)
                    file = pictures / f"{name}-{theme}-{size}.png"
                    page.screenshot(path=file)
                    assert file.stat().st_size > 5_000, f"{file} is empty"


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
