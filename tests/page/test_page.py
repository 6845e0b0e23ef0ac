"""The page as its user meets it: in a browser, on a server, with threads."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from sash.cli.age import age
from tests.server.serving import Running

ASKED = (
    "Who brings the lanterns to the pier?",
    "Always write dates as 14 June, never as 6/14.",
    "Which boats are coming, and who steers them?",
    "How much will the band cost us this year?",
    "Can we have fireworks over the water?",
    "Write the invitation for the choir.",
    "What did we say about parking?",
    "List the stalls again, with their owners.",
)
WORDS = "the harbour master wants to know how many boats, stalls and lanterns there will be before the tide turns "


def thread_with(server: Running, turns: int, title: str = "Harbour festival", **setup: Any) -> str:
    """A thread with so many turns of some 60 tokens, its id."""
    thread: str = server.post("/v1/threads", {"title": title, **setup}, status=201)["threadId"]
    for number in range(turns):
        text = f"{ASKED[number % len(ASKED)]} {WORDS * (1 + number % 3)}"
        server.post(f"/v1/threads/{thread}/turns", {"input": text, "stream": False})
    return thread


def opened(page: Page, server: Running, thread: str) -> Locator:
    """The thread in the browser; its turns."""
    page.goto(f"{server.url}/#/{thread}")
    turns = page.locator("#turns .turn")
    expect(turns.first).to_be_visible()
    return turns


def boundary(page: Page) -> int:
    """Number of the first turn below the divider."""
    after = page.locator("#turns .divider:not(.maybe) + .turn")
    return int((after.get_attribute("id") or "").removeprefix("turn-"))


def say(page: Page, text: str) -> None:
    """Write it into the box, send it, and wait until it is answered."""
    before = page.locator("#turns .turn").count()
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")
    expect(page.locator(f"#turn-{before + 1}")).to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_turns_are_sent_until_the_divider_moves(page: Page, server: Running) -> None:
    thread = thread_with(server, 1)
    turns = opened(page, server, thread)
    expect(page.locator(".divider")).to_have_count(0)
    while not page.locator(".divider").count():
        assert turns.count() < 20, "the window never slid"
        say(page, WORDS * 3)
    first = boundary(page)
    assert first > 1
    expect(page.locator("#turn-1")).to_have_class("turn evicted")
    expect(page.locator(f"#turn-{first}")).to_have_class("turn live")
    while boundary(page) == first:
        assert turns.count() < 30, "the window slid only once"
        say(page, WORDS * 3)
    expect(page.locator(".divider")).to_have_count(1)
    assert server.get(f"/v1/threads/{thread}/explain")["boundary"] == boundary(page)


def test_compact_moves_the_divider_and_undo_moves_it_back(page: Page, server: Running) -> None:
    opened(page, server, thread_with(server, 5))
    before = page.locator(".divider").count() and boundary(page)
    page.get_by_role("button", name="Compact").click()
    expect(page.locator("#notes")).to_contain_text("Compacted")
    compacted = boundary(page)
    assert compacted > before
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#notes")).to_contain_text(re.compile(r"Taken back: the compact of frame \d+ was undone\."))
    assert (page.locator(".divider").count() and boundary(page)) == before


def test_ages_are_told_as_the_command_line_tells_them(page: Page, server: Running) -> None:
    page.goto(server.url)
    script = "async (ages) => { const { age } = await import('./words.js'); return ages.map((at) => age(at)); }"
    now = time.time()
    ages = [now - seconds for seconds in (5, 50, 100, 3_500, 7_000, 170_000, 180_000, 5_000_000, 6_000_000, 1e8)]
    assert page.evaluate(script, ages) == [age(at, now) for at in ages]


def test_only_slides_are_counted_as_slides(page: Page, server: Running) -> None:
    thread = thread_with(server, 9, historyTokens=20_000)
    opened(page, server, thread)
    told = page.locator("#inspector .pane p.soft")
    expect(told).to_contain_text("The window has not slid yet: every request")
    server.post(f"/v1/threads/{thread}/compact")
    page.reload()
    expect(told).to_have_text(re.compile(r"^1 slide\. The last: somebody compacted; it freed ~?\d+ tokens\.$"))
    server.post(f"/v1/threads/{thread}/undo")
    page.reload()
    expect(told).to_have_text(re.compile(r"^1 slide\. The last: .* Since then: the compact of frame 1 was undone\.$"))
    expect(told).not_to_contain_text("-")


def test_a_pinned_turn_stays_in_the_window(page: Page, server: Running) -> None:
    thread = thread_with(server, 2)
    opened(page, server, thread)
    page.locator("#turn-1").get_by_role("button", name="pin").click()
    expect(page.locator("#turn-1").get_by_role("button", name="unpin")).to_be_visible()
    for number in range(8):
        server.post(f"/v1/threads/{thread}/turns", {"input": f"{number} {WORDS * 3}", "stream": False})
    page.reload()
    expect(page.locator("#turn-1")).to_have_class("turn carried")
    page.locator("#turn-1").get_by_role("button", name="unpin").click()
    expect(page.locator("#turn-1")).to_have_class("turn evicted")


def test_what_if_shows_another_window_and_changes_nothing(page: Page, server: Running) -> None:
    thread = thread_with(server, 9)
    opened(page, server, thread)
    before = server.get(f"/v1/threads/{thread}/frames")
    page.keyboard.press("4")
    expect(page.locator("#inspector table")).to_contain_text("first live turn")
    # As it is configured: the replay comes to what really happened.
    expect(page.locator(".pane .better, .pane .worse")).to_have_count(0)
    page.get_by_role("slider").first.fill("1")
    expect(page.locator(".divider.maybe")).to_have_count(1)
    assert page.locator(".sash.maybe").is_visible()
    page.keyboard.press("Escape")
    assert server.get(f"/v1/threads/{thread}/frames") == before
    page.get_by_role("tab", name="Window").click()
    expect(page.locator(".divider.maybe")).to_have_count(0)


def test_what_is_sent_is_shown_part_by_part(page: Page, server: Running) -> None:
    thread = thread_with(server, 9)
    opened(page, server, thread)
    page.get_by_role("tab", name="Sent").click()
    pieces = page.locator(".piece")
    expect(pieces.first).to_contain_text("earlier turns left this window")
    sent = server.get(f"/v1/threads/{thread}/request?wire=openai-chat&origins=true")
    assert pieces.count() == len(sent["parts"]) >= len(sent["request"]["messages"])
    expect(pieces.last).to_contain_text("assistant")


def test_facts_are_remembered_and_shown(page: Page, server: Running) -> None:
    opened(page, server, thread_with(server, 1))
    page.get_by_role("tab", name="Memory").click()
    page.get_by_label("A fact to remember").fill("The budget is 4,200 euro")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator(".fact")).to_contain_text("The budget is 4,200 euro")
    page.locator(".fact").get_by_role("button", name="forget").click()
    expect(page.locator(".fact")).to_have_count(0)


def test_a_fact_that_is_refused_can_be_written_shorter(browser: Browser, server: Running) -> None:
    # A page of its own: a browser tells its console of every refusal.
    page = browser.new_page()
    opened(page, server, thread_with(server, 1))
    page.get_by_role("tab", name="Memory").click()
    field = page.get_by_label("A fact to remember")
    field.fill(WORDS * 10)
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#notes .error")).to_contain_text("on the command line (--set facts_tokens=")
    expect(field).to_have_value(WORDS * 10)
    page.close()


def test_what_stands_for_the_turns_that_left_is_shown_with_its_turns(page: Page, server: Running) -> None:
    thread = thread_with(server, 9)
    opened(page, server, thread)
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator(".prose").first).to_contain_text("earlier turns left this window")
    server.ask("PUT", f"/v1/threads/{thread}/summary", {"text": "The festival is on Saturday [t2]."})
    page.reload()
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator("textarea.prose")).to_have_value("The festival is on Saturday [t2].")
    page.get_by_text("1 revision").click()
    page.locator("details .ref").first.click()
    expect(page.locator("#turn-2")).to_be_in_viewport()


def test_a_mark_is_rewound_to(page: Page, server: Running) -> None:
    thread = thread_with(server, 2)
    opened(page, server, thread)
    page.get_by_role("button", name="Mark").click()
    expect(page.locator("#turns .marker")).to_contain_text("here")
    say(page, "This goes away again.")
    page.get_by_role("button", name="rewind to here").click()
    expect(page.locator("#turn-3")).to_have_class("turn rewound")


HOSTILE = (
    "<script>window.broken = 1</script><img src=x onerror='window.broken = 2'>",
    "<svg onload='window.broken = 3'><a href='javascript:window.broken = 4'>x</a></svg>",
    "[click](javascript:window.broken=5) \u001b[31mred\u001b]8;;http://example.com\u0007 \u202eevil",
    "\u0000\u0008</pre></article><iframe src='//example.com'></iframe>",
)


def test_hostile_content_stays_text(page: Page, server: Running) -> None:
    thread: str = server.post("/v1/threads", {"title": HOSTILE[0]}, status=201)["threadId"]
    for number, hostile in enumerate(HOSTILE):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"x": hostile})},
        }
        said = [
            {"role": "user", "content": hostile},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": hostile},
            {"role": "assistant", "content": hostile},
        ]
        server.post(f"/v1/threads/{thread}/messages", {"messages": said, "wire": "openai-chat"})
    server.post(f"/v1/threads/{thread}/facts", {"text": HOSTILE[1]})
    turns = opened(page, server, thread)
    for place in range(turns.count()):
        turns.nth(place).locator("summary").click()
        turns.nth(place).locator("header").hover()
    for tab in ("Sent", "Memory", "What if", "Window"):
        page.get_by_role("tab", name=tab).click()
        expect(page.locator(".pane > *").first).to_be_visible()
    page.get_by_label("Search all threads").fill("script")
    expect(page.locator(".threads li").first).to_be_visible()
    assert page.evaluate("window.broken") is None
    assert page.locator("#turns script, #turns iframe, #turns img, #turns svg, #turns a[href^=javascript]").count() == 0
    shown = page.locator("#turns").inner_text()
    assert "<script>window.broken = 1</script>" in shown
    assert not set("\u001b\u0007\u0000\u202e") & set(shown)


def test_the_page_is_whole_on_a_phone_and_in_the_dark(page: Page, server: Running) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    opened(page, server, thread_with(server, 3))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Window").click()
    expect(page.locator("#inspector")).to_be_in_viewport()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, paper.removeprefix("rgb(").rstrip(")").split(","))) < 150


def test_a_thread_that_is_not_there_is_said_and_nothing_can_be_sent(browser: Browser, server: Running) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}/#/nowhere")
    expect(page.locator("h1")).to_have_text("There is no such thread")
    expect(page.locator("textarea")).to_have_count(0)
    expect(page.get_by_role("button", name="Compact")).to_have_count(0)
    page.close()


def test_a_long_text_is_folded_and_shown_whole_when_asked(page: Page, server: Running) -> None:
    made = server.post("/v1/threads", {}, status=201)["threadId"]
    words = "so many words " * 600 + "the very end"
    server.post(f"/v1/threads/{made}/messages", {"messages": [{"role": "user", "content": words}]})
    page.goto(f"{server.url}/#/{made}")
    said = page.locator(".said.user")
    expect(said).to_contain_text("show all")
    expect(said).not_to_contain_text("the very end")
    said.get_by_role("button").click()
    expect(said).to_contain_text("the very end")


CONTRAST = """
element => {
  const light = text => {
    const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const [r, g, b] = text.match(/[\\d.]+/g).map(part => linear(Number(part) / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  let behind = element, shown = 1;
  for (let at = element; at; at = at.parentElement) shown *= Number(getComputedStyle(at).opacity);
  while (/rgba\\(.*, 0\\)|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const both = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor].map(light);
  const [dark, bright] = both.sort((a, b) => a - b);
  return shown < 1 ? 0 : (bright + .05) / (dark + .05);
}
"""
"""How much a text stands out, as the guidelines for accessible pages count it; 0 where it is seen through."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_left_the_window_is_grey_and_can_be_read(page: Page, server: Running, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]  # one of the two
    thread = thread_with(server, 8, historyTokens=300)
    server.post(f"/v1/threads/{thread}/pins", {"turn": 1})
    opened(page, server, thread)
    for place in (".turn.evicted .said", ".turn.evicted header b", ".turn.evicted button", ".state.carried"):
        assert page.locator(place).first.evaluate(CONTRAST) >= 4.5, place


def test_code_is_set_as_code_and_an_error_stands_where_the_turn_ended(page: Page, server: Running) -> None:
    made = server.post("/v1/threads", {"window": 2_000}, status=201)["threadId"]
    code = "Try this:\n```python\ndef f():\n    return '<b>'\n```\nand then that."
    server.post(f"/v1/threads/{made}/messages", {"messages": [{"role": "user", "content": code}]})
    server.post(f"/v1/threads/{made}/turns", {"input": "too much " * 3_000, "stream": False})
    opened(page, server, made)
    said = page.locator("#turn-1 .said.user")
    expect(said.locator("pre")).to_have_text("def f():\n    return '<b>'")
    assert said.inner_text().split("\n")[-1] == "and then that."
    assert page.locator("#turn-2 > :last-child").evaluate("e => e.className") == "trouble"


def test_where_nothing_can_be_sent_the_pane_says_why(browser: Browser, server: Running) -> None:
    made = server.post("/v1/threads", {"window": 2_000}, status=201)["threadId"]
    server.post(f"/v1/threads/{made}/turns", {"input": "too much " * 3_000, "stream": False})
    page = browser.new_page()
    opened(page, server, made)
    page.get_by_role("tab", name="Sent").click()
    expect(page.locator("#inspector .trouble")).to_contain_text("of a window of 2,000")
    page.close()


def test_turns_are_reached_by_the_keyboard(page: Page, server: Running) -> None:
    opened(page, server, thread_with(server, 3))
    page.keyboard.press("k")
    page.keyboard.press("k")
    expect(page.locator("#turn-2")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#turn-3")).to_be_focused()
    page.keyboard.press("i")
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_label("Search all threads")).to_be_focused()


def test_the_keyboard_skips_to_the_conversation_and_walks_along_the_strip(page: Page, server: Running) -> None:
    thread = thread_with(server, 4)
    opened(page, server, thread)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#turns")).to_be_focused()
    # The thread is still the one that is shown.
    assert page.url.endswith(f"#/{thread}")
    expect(page.locator("#turn-4")).to_be_visible()
    cells = page.locator(".strip .cell")
    expect(page.locator(".strip .cell[tabindex='0']")).to_have_count(1)
    cells.last.focus()
    page.keyboard.press("ArrowLeft")
    expect(cells.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#turn-3")).to_be_focused()


def long_thread(server: Running) -> str:
    """A thread of seven hundred turns."""
    thread = thread_with(server, 0)
    said = [
        {"role": role, "content": f"{words} {n}"}
        for n in range(1, 701)
        for role, words in (("user", "Question"), ("assistant", "Answer"))
    ]
    server.post(f"/v1/threads/{thread}/messages", {"messages": said, "wire": "openai-chat"})
    return thread


def test_a_long_thread_opens_at_its_end_and_goes_back_on_demand(page: Page, server: Running) -> None:
    thread = long_thread(server)
    opened(page, server, thread)
    expect(page.locator("#turn-700")).to_be_visible()
    drawn = page.locator("article.turn").count()
    assert drawn < 100
    assert page.locator(".strip .cell").count() < 300
    expect(page.locator(".earlier")).to_contain_text(f"{700 - drawn} earlier turns")
    page.get_by_role("button", name="Show turns before").click()
    expect(page.locator(f"#turn-{700 - drawn}")).to_be_attached()
    # By its address, or from a search, any turn is reached.
    page.evaluate("id => { location.hash = `#/${id}/5`; }", thread)
    expect(page.locator("#turn-5")).to_be_in_viewport()
    expect(page.locator("#turn-5")).to_contain_text("Question 5")


def test_the_strip_of_a_long_thread_stays_on_a_small_screen(page: Page, server: Running) -> None:
    thread = long_thread(server)
    more = [{"role": "user", "content": "Question 1"}, {"role": "assistant", "content": "Answer 1"}]
    server.post(f"/v1/threads/{thread}/messages", {"messages": more, "wire": "openai-chat"})
    inside = """() => {
        const rail = document.querySelector(".strip .rail").getBoundingClientRect();
        return [...document.querySelectorAll(".strip .cell, .strip .sash:not([hidden])")]
          .every((each) => each.getBoundingClientRect().right <= rail.right + 4 && rail.right <= innerWidth);
    }"""
    for width in (390, 1440, 320):
        page.set_viewport_size({"width": width, "height": 800})
        opened(page, server, thread)
        page.wait_for_function(inside)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".strip .cell").count() > 40
    # A window that is made wider, or narrower, while one looks at it.
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(inside)


def test_pictures_of_the_main_views_can_be_taken(
    page: Page, server: Running, pictures: Path | None, tmp_path: Path
) -> None:
    thread = thread_with(server, 36, title="Planning the harbour festival", window=4_000, historyTokens=2_400)
    for name, tab in (("page-window", "Window"), ("page-sent", "Sent"), ("page-what-if", "What if")):
        opened(page, server, thread)
        page.get_by_role("tab", name=tab).click()
        page.locator(".divider").first.scroll_into_view_if_needed()
        page.wait_for_timeout(900)  # the frame slides to its place
        page.screenshot(path=(pictures or tmp_path) / f"{name}.png")
        assert (pictures or tmp_path).joinpath(f"{name}.png").stat().st_size > 20_000
