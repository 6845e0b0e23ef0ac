"""What the page says of itself, and how it behaves where there is little room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.test_page import opened, thread_with
from tests.server.serving import Running


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """One that is touched, and has no keyboard."""
    held = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    yield held.new_page()
    held.close()


def test_escape_ends_a_search_with_its_results(page: Page, server: Running) -> None:
    thread = thread_with(server, 1)
    opened(page, server, thread)
    find = page.get_by_label("Search all threads")
    find.fill("lanterns")
    found = page.locator(f".threads a[href='#/{thread}/1']")
    expect(found.first).to_be_visible()
    find.press("Escape")
    expect(find).to_have_value("")
    expect(found).to_have_count(0)
    expect(page.locator(".threads [aria-current=page]")).to_be_visible()
