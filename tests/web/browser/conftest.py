"""A browser that has signed in, and a live server with a queue; both are shared, what a test has left is cleared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import DEADLINE_S
from tests.fake_nvml import NoCompiler
from tests.web.browser.live_server import LiveServer
from tests.web.browser.needs import (
    CHROMIUM,
    Browser,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    expect,
    missing,
    sync_playwright,
)

PATIENCE_MS = DEADLINE_S * 1000

Open = Callable[..., Page]

ONLY_MODULES = "/static/duck.svg"
"""For tests of a module of the page alone: nothing of the page runs there."""

# Chromium's own windows are pages too, and load two for the field that nobody types into: 0.7 s of a core for each
# window of ours. The last list on the command line counts, so what Playwright would switch off stands here again.
UNUSED = (
    "WebUIOmniboxPopup WebUIOmniboxAimPopup "
    "AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable "
    "LensOverlay MediaRouter OptimizationHints PaintHolding PreconnectToSearch ThirdPartyStoragePartitioning"
).split()
# Another process that draws, without a GPU, takes a tenth of all that a page costs; one for each tab of a site a fifth.
SWITCHES = ["--no-sandbox", "--in-process-gpu", "--process-per-site", f"--disable-features={','.join(UNUSED)}"]


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
def session(shared_server: LiveServer) -> str:
    """What a tab that has used the link keeps."""
    return shared_server.session()


LOG_IN = "if (location.origin === '{url}') sessionStorage.setItem('duckrow.session', '{session}')"


@pytest.fixture
def live_server(shared_server: LiveServer) -> LiveServer:
    shared_server.clear()
    return shared_server


class Complaints(list[str]):
    """What a browser had to say against a page."""

    def listen(self, page: Page) -> None:
        for event, hears in self._ears().items():
            page.on(event, hears)

    def leave(self, page: Page) -> None:
        for event, hears in self._ears().items():
            page.remove_listener(event, hears)

    def _ears(self) -> dict[Any, Callable[..., None]]:
        return {
            "console": self._hear_console,
            "pageerror": self._hear_error,
            "dialog": self._hear_dialog,
        }

    def _hear_console(self, message: ConsoleMessage) -> None:
        """Also of answers that are errors. To hear of all sixty of a page is most of what a test itself takes."""
        if message.type in ("error", "warning"):
            self.append(f"{message.text} {message.location['url']}")

    def _hear_error(self, error: Error) -> None:
        self.append(f"{error}")

    def _hear_dialog(self, dialog: Dialog) -> None:
        self.append(f"a dialog: {dialog.message}")


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """The console stays free of errors; a test that provokes some clears them."""
    heard = Complaints()
    yield heard
    assert not heard


class Look(NamedTuple):
    width: int
    height: int
    theme: Any  # light, dark

    @property
    def viewport(self) -> Any:
        return {"width": self.width, "height": self.height}


class Windows:
    """Windows that tests use one after the other: a new one costs as much as what most tests do in it."""

    def __init__(self, browser: Browser, url: str, session: str) -> None:
        self._browser, self._url = browser, url
        self._log_in = LOG_IN.format(url=url, session=session)
        self._free: list[Page] = []

    def open(self, look: Look) -> Page:
        page = self._free.pop() if self._free else self._new()
        page.set_viewport_size(look.viewport)
        # What moves would be drawn sixty times a second, for as long as a job runs.
        page.emulate_media(color_scheme=look.theme, reduced_motion="reduce")
        return page

    def _new(self) -> Page:
        context = self._browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(self._log_in)
        return context.new_page()

    def leave(self, page: Page) -> None:
        """As it was when it was new: the next test finds nothing of this one."""
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.unroute_all(behavior="ignoreErrors")
        page.context.set_offline(False)
        page.goto(f"{self._url}{ONLY_MODULES}")  # nothing runs there that would store something again
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.mouse.move(0, 0)
        self._free.append(page)

    def close(self) -> None:
        for page in self._free:
            page.context.close()


@pytest.fixture(scope="package")
def windows(browser: Browser, shared_server: LiveServer, session: str) -> Iterator[Windows]:
    opened = Windows(browser, shared_server.url, session)
    yield opened
    opened.close()


@pytest.fixture
def open_page(windows: Windows, shared_server: LiveServer, complaints: Complaints) -> Iterator[Open]:
    """Opens a view: `open_page("/machine", width=400, dark=True)`.

    `own`: nobody else gets this window, because its clock or its scripts are changed for good.
    """
    used: list[tuple[Page, bool]] = []

    def opened(path: str = "/", *, width: int = 1400, dark: bool = False, height: int = 640, own: bool = False) -> Page:
        page = windows.open(Look(width, height, "dark" if dark else "light"))
        used.append((page, own))
        complaints.listen(page)
        page.goto(shared_server.url + path)
        return page

    yield opened
    for page, own in used:
        complaints.leave(page)
        if own or page.is_closed():
            page.context.close()
        else:
            windows.leave(page)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: DUCKROW_PICTURES, to be looked at and kept."""
    wanted = os.environ.get("DUCKROW_PICTURES")
    folder = Path(wanted) if wanted else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
