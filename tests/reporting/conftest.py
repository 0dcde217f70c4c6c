"""A real Chromium that may read files and nothing else: every other request is aborted and counted."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
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
DRAW_MILLISECONDS = 60_000
LAB_SECONDS, LAB_MILLISECONDS = 180, 180_000


@dataclass
class Opened:
    """An open page, the requests that it tried beside files, and the errors that it threw or logged."""

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def run_all_cells(self) -> None:
        """Run → Run All Cells of JupyterLab, as a person does."""
        self.page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
        self.page.locator(".lm-Menu-itemLabel", has_text="Run All Cells").first.click()

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


@dataclass
class Lab:
    """A running JupyterLab over a project's directory."""

    url: str
    root: Path
    home: Path


@pytest.fixture(scope="module")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a free port of the loopback, with settings of its own; its kernels have a home of their own."""
    base = tmp_path_factory.mktemp("lab")
    root = base / "project"
    root.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{k}_DIR": str(base / k.lower()) for k in ("CONFIG", "DATA", "RUNTIME")}
    own |= {f"JUPYTERLAB_{k}_DIR": str(base / k.lower()) for k in ("SETTINGS", "WORKSPACES")}
    command = [
        sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}", "--IdentityProvider.token=", f"--ServerApp.root_dir={root}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with (base / "log").open("w") as log:
        environment = {**os.environ, **own, "WORKBENCH_HOME": str(base / "home")}
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, server)
            yield Lab(url, root, base / "home")
        finally:
            server.terminate()
            server.wait()


def _wait_for(url: str, server: subprocess.Popen) -> None:
    end = time.monotonic() + LAB_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/api").close()
            return
        except urllib.error.URLError:
            assert server.poll() is None and time.monotonic() < end, "JupyterLab did not start"
            time.sleep(0.1)


@pytest.fixture
def open_notebook(browser: Any, lab: Lab) -> Iterator[Callable[[str], Opened]]:
    """`open_notebook(path)`: a notebook below the lab's root, its kernel idle; only the loopback can be asked."""
    contexts = []

    def opened(path: str) -> Opened:
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 1000}))
        found = Opened(contexts[-1].new_page())

        def route(request: Any) -> None:
            if request.request.url.startswith((lab.url, "blob:", "data:")):
                request.continue_()
            else:
                found.requests.append(request.request.url)
                request.abort()

        found.page.route("**/*", route)
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.goto(f"{lab.url}/lab/tree/{path}?reset")
        found.page.locator("#jp-main-statusbar").get_by_text("Idle").first.wait_for(timeout=LAB_MILLISECONDS)
        return found

    yield opened
    for context in contexts:
        context.close()
