"""A thread that is begun, and one that is not there yet when somebody acts on it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.server.serving import Running


@pytest.mark.parametrize("by", ["n", "New", "New thread"])
def test_what_is_typed_after_beginning_a_thread_is_its_message(page: Page, server: Running, by: str) -> None:
    held: list[Route] = []
    page.route(
        "**/v1/threads", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    page.goto(server.url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    before = len(server.get("/v1/threads?limit=500")["threads"])
    if by == "n":
        page.keyboard.press("n")
    else:
        page.get_by_role("button", name=by, exact=True).click()
    # Any of these letters is a key of the page.
    page.keyboard.type("nucmp1234")
    box = page.get_by_label("Your message")
    expect(box).to_be_focused()
    expect(box).to_have_value("nucmp1234")
    page.keyboard.press("Enter")
    expect(page.locator("#turns .turn")).to_have_count(1)
    assert len(held) == 1
    assert len(server.get("/v1/threads?limit=500")["threads"]) == before
    held.pop().continue_()
    expect(page.locator("#turn-1 .said").last).to_contain_text("nucmp1234")
    expect(page.locator(".threads [aria-current=page]")).to_contain_text("nucmp1234")
    assert len(server.get("/v1/threads?limit=500")["threads"]) == before + 1
    page.unroute_all()
