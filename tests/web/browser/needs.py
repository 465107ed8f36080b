"""What these tests need of the machine. A laptop need not have it, and they are skipped; CI must, and they fail."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

# The first has no windows of its own, and loads a page for two thirds of what the others take.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


def missing(what: str, how: str) -> NoReturn:
    sentence = f"the tests of the page need {what}: {how}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(sentence)
    pytest.skip(sentence, allow_module_level=True)


try:
    from playwright.sync_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Error,
        Locator,
        Page,
        Request,
        Route,
        expect,
        sync_playwright,
    )
except ImportError:
    missing("Playwright", "pip install playwright")

__all__ = [
    "CHROMIUM",
    "Browser",
    "BrowserContext",
    "ConsoleMessage",
    "Dialog",
    "Error",
    "Locator",
    "Page",
    "Request",
    "Route",
    "expect",
    "missing",
    "sync_playwright",
]
