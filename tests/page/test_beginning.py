"""A thread that is begun, and one that is not there yet when somebody acts on it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.test_page import ASKED, opened, thread_with
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


def test_a_thread_that_is_being_read_can_be_compacted(page: Page, server: Running) -> None:
    first, second = thread_with(server, 2), thread_with(server, 5, historyTokens=20_000)
    opened(page, server, first)
    page.route(f"**/v1/threads/{second}/explain", lambda _: None)
    page.evaluate("id => { location.hash = `#/${id}`; }", second)
    expect(page.locator(".waiting")).to_be_visible()
    with page.expect_response("**/compact"):
        page.keyboard.press("c")
    page.unroute_all()
    expect(page.locator("#notes div")).to_contain_text("Compacted: ")
    expect(page.locator("#notes .error")).to_have_count(0)
    assert ASKED[0] in page.locator("#turns").inner_text()


def test_compact_tells_what_it_did(page: Page, server: Running) -> None:
    opened(page, server, thread_with(server, 1))
    page.keyboard.press("c")
    expect(page.locator("#notes div")).to_have_text("Compacted: no turn had to leave.")
    opened(page, server, thread_with(server, 5, historyTokens=20_000))
    page.keyboard.press("c")
    expect(page.locator("#notes div").last).to_contain_text("tokens freed; the window begins at turn ")
