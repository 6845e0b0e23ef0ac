"""A real browser on a real server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from sash import Policy
from sash.server.setup import ServerSetup
from tests.components import missing
from tests.server.serving import Running, running

# A busy machine is slow to draw, and that is not what these tests are about.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that answers with an echo and slides soon."""
    store = f"sqlite:///{tmp_path_factory.mktemp('page') / 'threads.db'}"
    policy = Policy(history_tokens=600, pin_tokens=200)
    with running(ServerSetup(port=0, store=store, provider="echo", policy=policy, drain_seconds=1.0)) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium. Where it is missing the tests are skipped, but never in CI."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as driver:
        # As root it has no sandbox of its own; what it shows here we wrote ourselves.
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of its own, which fails the test if a script of it fails or anything is fetched from elsewhere."""
    opened = browser.new_page(viewport={"width": 1440, "height": 900})
    opened.set_default_timeout(30_000)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    opened.on("console", lambda said: wrong.append(f"console: {said.text}") if said.type == "error" else None)
    opened.on("dialog", lambda dialog: dialog.accept("here"))
    opened.on(
        "request", lambda asked: wrong.append(asked.url) if not asked.url.startswith("http://127.0.0.1:") else None
    )
    yield opened
    opened.close()
    assert not wrong


@pytest.fixture(scope="session")
def pictures() -> Path | None:
    """Where screenshots for the documentation go, when somebody asks for them."""
    asked = os.environ.get("SASH_PICTURES")
    return Path(asked) if asked else None
