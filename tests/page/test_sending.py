"""What happens to what somebody types: it is sent once, and never lost."""

from __future__ import annotations

from pathlib import Path

import msgspec
from playwright.sync_api import Browser, expect

from sash.server.setup import ServerSetup
from tests.page.test_page import opened, thread_with
from tests.server.serving import running


def test_what_was_typed_is_kept_when_the_server_cannot_be_reached(browser: Browser, tmp_path: Path) -> None:
    # A page of its own: a browser tells its console of every connection that fails.
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    setup = ServerSetup(port=0, store=f"sqlite:///{tmp_path / 'threads.db'}", provider="echo", drain_seconds=1.0)
    with running(setup) as server:
        thread = thread_with(server, 1)
        opened(page, server, thread)
        expect(page.locator(".strip .cell")).to_have_count(1)
        setup = msgspec.structs.replace(setup, port=int(server.url.rpartition(":")[2]))
    box = page.get_by_label("Your message")
    box.fill("Is anybody there?")
    box.press("Enter")
    expect(page.locator("#notes div")).to_have_text("The server cannot be reached; what you typed is still in the box.")
    expect(box).to_have_value("Is anybody there?")
    expect(page.locator("#turns .turn")).to_have_count(1)
    with running(setup):
        box.press("Enter")
        expect(page.locator("#turn-2 .said").last).to_contain_text("Is anybody there?")
        expect(box).to_have_value("")
        page.close()
    assert not wrong
