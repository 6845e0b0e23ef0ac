"""What is written from right to left is shown so, beside what is not."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.page.test_page import opened, thread_with
from tests.server.serving import Running

HEBREW = (
    "\u05de\u05d9 \u05de\u05d1\u05d9\u05d0 \u05d0\u05ea \u05d4\u05e4\u05e0\u05e1\u05d9\u05dd \u05dc\u05de\u05d6\u05d7?"
)
ENGLISH = "Who brings the lanterns?"
FROM_THE_RIGHT = """e => {
  const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
  let last = null;
  while (texts.nextNode()) last = texts.currentNode;
  const range = document.createRange();
  range.selectNodeContents(last);
  const line = range.getClientRects()[0], box = e.getBoundingClientRect();
  return box.right - line.right < line.left - box.left;
}"""
"""Whether the last text in it begins at its right side."""


def test_what_is_written_from_right_to_left_begins_at_the_right(page: Page, server: Running) -> None:
    thread = thread_with(server, 0, title=HEBREW)
    for words in (HEBREW, ENGLISH):
        said = [{"role": "user", "content": words}, {"role": "assistant", "content": words}]
        server.post(f"/v1/threads/{thread}/messages", {"messages": said, "wire": "openai-chat"})
    server.post(f"/v1/threads/{thread}/facts", {"text": HEBREW})
    opened(page, server, thread)
    for number, from_the_right in ((1, True), (2, False)):
        for said_by in range(2):
            said_here = page.locator(f"#turn-{number} .said").nth(said_by)
            assert said_here.evaluate(FROM_THE_RIGHT) is from_the_right, (number, said_by)
    for place in (".head h1", ".threads a[aria-current] .title"):
        assert page.locator(place).evaluate(FROM_THE_RIGHT), place
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator(".fact")).to_be_visible()
    assert page.locator(".fact .grow").evaluate(FROM_THE_RIGHT)
    box = page.get_by_label("Your message")
    for words, direction in ((HEBREW, "rtl"), (ENGLISH, "ltr")):
        box.fill(words)
        assert box.evaluate("e => getComputedStyle(e).direction") == direction
