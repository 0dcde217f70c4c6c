"""A real Chromium that may read files and nothing else: every other request is aborted and counted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = "chromium"
# A container has no user namespaces and little shared memory; there is no screen.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
DESKTOP, PHONE = (1280, 900), (390, 844)
DRAWN = "document.documentElement.dataset.charts === 'drawn'"
DRAW_MILLISECONDS = 20_000


@dataclass
class Opened:
    """An open page, the requests that it tried beside files, and the errors that it threw or logged."""

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, headless. A module's own, because Playwright's loop may not run beside a kernel's."""
    executable = shutil.which(CHROMIUM)
    if executable is None:
        pytest.skip("no Chromium is installed here")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """`open_page(path, size=DESKTOP, script=True)`: the page without network, all charts drawn."""
    contexts = []

    def opened(path: Path, size: tuple[int, int] = DESKTOP, script: bool = True) -> Opened:
        viewport = {"width": size[0], "height": size[1]}
        contexts.append(browser.new_context(viewport=viewport, java_script_enabled=script))
        found = Opened(contexts[-1].new_page())

        def route(request: Any) -> None:
            if request.request.url.startswith("file:"):
                request.continue_()
            else:
                found.requests.append(request.request.url)
                request.abort()

        found.page.route("**/*", route)
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("console", lambda m: found.errors.append(m.text) if m.type == "error" else None)
        found.page.goto(path.absolute().as_uri())
        if script and found.page.locator(".chart").count():
            found.page.wait_for_function(DRAWN, timeout=DRAW_MILLISECONDS)
        return found

    yield opened
    for context in contexts:
        context.close()
