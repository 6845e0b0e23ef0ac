"""What the page says of itself, and how it behaves where there is little room."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.test_page import WORDS, opened, thread_with
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


def test_only_a_compaction_that_changed_something_stays_told(page: Page, server: Running) -> None:
    thread = thread_with(server, 1)
    opened(page, server, thread)
    page.get_by_role("button", name="Compact").click()
    expect(page.locator("#notes")).to_contain_text("no turn had to leave")
    expect(page.locator("#turns .marker")).to_have_count(0)
    thread = thread_with(server, 3, historyTokens=20_000)
    left = server.post(f"/v1/threads/{thread}/compact")["boundary"] - 1
    opened(page, server, thread)
    expect(page.locator("#turns .marker")).to_have_text(f"1 compaction: {left} turn{'s' * (left > 1)} left the window")
    thread = thread_with(server, 0)
    page.goto(f"{server.url}/#/{thread}")
    expect(page.locator("#turns .empty")).to_contain_text("Say something below")


def test_nothing_sticks_out_of_the_narrowest_screen(page: Page, server: Running) -> None:
    thread = thread_with(server, 0)
    for number in range(9):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "read_many_files", "arguments": '{"x": 1}'},
        }
        said = [
            {"role": "user", "content": "Read them"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": WORDS * 40},
            {"role": "assistant", "content": "Done"},
        ]
        server.post(f"/v1/threads/{thread}/messages", {"messages": said, "wire": "openai-chat"})
    page.set_viewport_size({"width": 320, "height": 700})
    opened(page, server, thread)
    expect(page.locator("details.tool .chip").first).to_have_text("shortened")
    for place in ("html", "#main", "#turns", ".strip"):
        assert page.locator(place).evaluate("e => e.scrollWidth - e.clientWidth") <= 0, place


def test_a_window_that_nobody_knows_is_a_note_and_no_error(page: Page, server: Running) -> None:
    thread = thread_with(server, 1)
    opened(page, server, thread)
    entry = page.locator(f".threads a[href='#/{thread}']")
    expect(entry.locator(".num")).to_have_text(re.compile(r"^~\d+ %$"))
    expect(entry.locator(".flag")).to_have_count(0)
    entry.locator(".num").hover()
    expect(page.locator("#hint")).to_have_text("Nobody knows the window of echo: 128k tokens stand in")
    server.ask("PATCH", f"/v1/threads/{thread}", {"window": 9_000})
    page.reload()
    expect(entry.locator(".num")).to_have_text(re.compile(r"^\d+ %$"))


def test_what_if_uses_only_what_was_changed(page: Page, server: Running) -> None:
    thread = thread_with(server, 4)
    opened(page, server, thread)
    page.keyboard.press("4")
    use = page.get_by_role("button", name="Use these")
    expect(use).to_be_disabled()
    mark = page.get_by_role("slider").last
    before = mark.input_value()
    mark.fill("90")
    expect(use).to_be_enabled()
    mark.fill(before)
    expect(use).to_be_disabled()
    mark.fill("90")
    with page.expect_request(lambda asked: asked.method == "PATCH") as change:
        use.click()
    assert change.value.post_data_json == {"keepShare": 0.9}
    expect(use).to_be_disabled()


def test_a_phone_is_not_told_of_keys_nor_of_a_list_beside(phone: Page, page: Page, server: Running) -> None:
    thread = thread_with(server, 1)
    for shown, keys in ((phone, 0), (page, 1)):
        shown.goto(server.url)
        expect(shown.locator(".who-answers")).to_be_visible()
        expect(shown.locator(".empty kbd").first).to_be_visible(visible=bool(keys))
        expect(shown.locator(".empty")).not_to_contain_text("on the left")
        opened(shown, server, thread)
        expect(shown.locator(".ask .keys")).to_be_visible(visible=bool(keys))
