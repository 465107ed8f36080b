"""A browser that has signed in, and a live server with a queue; both are shared, what a test has left is cleared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEADLINE_S
from tests.fake_nvml import NoCompiler
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import CHROMIUM, Browser, Page, expect, missing, sync_playwright

PATIENCE_MS = DEADLINE_S * 1000

Open = Callable[..., Page]

# Chromium's own windows are pages too, and load two for the field that nobody types into: 0.7 s of a core for each
# window of ours. The last list on the command line counts, so what Playwright would switch off stands here again.
UNUSED = (
    "WebUIOmniboxPopup WebUIOmniboxAimPopup "
    "AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable "
    "LensOverlay MediaRouter OptimizationHints PaintHolding PreconnectToSearch ThirdPartyStoragePartitioning"
).split()
SWITCHES = ["--no-sandbox", f"--disable-features={','.join(UNUSED)}"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        missing("Chromium", "apt install chromium")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def shared_server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    try:
        live_server = LiveServer(tmp_path_factory.mktemp("live-server"))
    except NoCompiler as error:
        missing("fake GPUs", str(error))
    with live_server.open():
        yield live_server
    live_server.duckrow.kill_everything()


@pytest.fixture(scope="package")
def session(browser: Browser, shared_server: LiveServer) -> str:
    """What a tab that has used the link keeps."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(shared_server.link)
        expect(page).to_have_title("Queue · duckrow")
        return str(page.evaluate("sessionStorage.getItem('duckrow.session')"))


LOG_IN = "if (location.origin === '{url}') sessionStorage.setItem('duckrow.session', '{session}')"


@pytest.fixture
def live_server(shared_server: LiveServer) -> LiveServer:
    shared_server.clear()
    return shared_server


class Complaints(list[str]):
    """What a browser had to say against a page."""

    def listen(self, page: Page) -> None:
        page.on("console", lambda message: self.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.append(f"{error}"))
        page.on("dialog", lambda dialog: self.append(f"a dialog: {dialog.message}"))
        page.on(
            "response", lambda answer: self.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
        )


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """The console stays free of errors; a test that provokes some clears them."""
    heard = Complaints()
    yield heard
    assert not heard


@pytest.fixture
def open_page(browser: Browser, shared_server: LiveServer, session: str, complaints: Complaints) -> Iterator[Open]:
    """Opens a view: `open_page("/machine", width=400, dark=True)`."""
    contexts = []

    def opened(path: str = "/", *, width: int = 1400, dark: bool = False, height: int = 860) -> Page:
        size: Any = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light")
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(LOG_IN.format(url=shared_server.url, session=session))
        contexts.append(context)
        page = context.new_page()
        complaints.listen(page)
        page.goto(shared_server.url + path)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: DUCKROW_PICTURES, to be looked at and kept."""
    wanted = os.environ.get("DUCKROW_PICTURES")
    folder = Path(wanted) if wanted else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
