"""The pictures that docs/web.md shows: pieces of the page, all of one size."""

from __future__ import annotations

from pathlib import Path

from tests.web.browser.needs import Page

WIDTH, HEIGHT = 1240, 680


class Album:
    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.folder = folder

    def __call__(self, name: str, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.page.screenshot(path=self.folder / f"{name}.png", clip={"x": 0, "y": 0, "width": width, "height": height})
