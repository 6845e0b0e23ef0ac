"""What happens to what somebody types: it is sent once, and never lost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import anyio.to_thread
import msgspec
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from sash.providers import TextDelta
from sash.providers.events import Event
from sash.server.setup import ServerSetup
from tests.page.test_page import WORDS, opened, thread_with
from tests.server.serving import Running, running
from tests.server.speaking import Scripted, finished, using


class Dictated:
    """What a model says, word by word, when the test lets it."""

    def __init__(self) -> None:
        self._words: SimpleQueue[str | None] = SimpleQueue()

    def say(self, words: str) -> None:
        """It says this now."""
        self._words.put(words)

    def end(self) -> None:
        """Its answer is whole."""
        self._words.put(None)

    async def script(self, request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        """As a provider."""
        told = ""
        while (words := await anyio.to_thread.run_sync(self._words.get, abandon_on_cancel=True)) is not None:
            told += words
            yield TextDelta(words)
        yield finished(told)


@pytest.fixture
def dictated(server: Running) -> Iterator[Dictated]:
    """The model of the server, for one test."""
    known, usual = server.backend.answering._known, server.backend.answering.usual
    made = Dictated()
    using(server, Scripted(made.script))
    yield made
    made.end()
    server.backend.answering._known, server.backend.answering.usual = known, usual


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


def being_answered(page: Page, server: Running, dictated: Dictated) -> Locator:
    """The box of a thread in which an answer is being written."""
    opened(page, server, said_once(server))
    box = page.get_by_label("Your message")
    box.fill("Tell me all")
    box.press("Enter")
    dictated.say("Well, ")
    expect(page.locator("#turns .turn").last).to_contain_text("Well, ")
    return box


def test_enter_does_not_end_an_answer_that_is_being_written(page: Page, server: Running, dictated: Dictated) -> None:
    box = being_answered(page, server, dictated)
    box.fill("And then?")
    box.press("Enter")
    expect(page.locator(".ask .note")).to_contain_text("still being written")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    dictated.say("that is all.")
    dictated.end()
    expect(page.locator("#turn-2 .said").last).to_contain_text("Well, that is all.")
    expect(page.locator("#turn-2 .chip")).to_have_count(0)
    expect(box).to_have_value("And then?")
    expect(page.locator(".ask .note")).to_contain_text("Enter sends")


@pytest.mark.parametrize("by", ["Stop", "Escape"])
def test_stop_and_escape_end_an_answer(page: Page, server: Running, dictated: Dictated, by: str) -> None:
    box = being_answered(page, server, dictated)
    if by == "Stop":
        page.get_by_role("button", name="Stop").click()
    else:
        box.press("Escape")
    expect(page.locator("#turn-2 .chip")).to_have_text("cancelled")
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_a_double_click_on_send_does_not_stop_the_answer(page: Page, server: Running, dictated: Dictated) -> None:
    opened(page, server, said_once(server))
    page.get_by_label("Your message").fill("Tell me all")
    page.get_by_role("button", name="Send").dblclick()
    dictated.say("Well, well.")
    dictated.end()
    expect(page.locator("#turn-2 .said").last).to_contain_text("Well, well.")
    expect(page.locator("#turn-2 .chip")).to_have_count(0)


BELOW = "() => { const e = document.getElementById('turns'); return e.scrollHeight - e.clientHeight - e.scrollTop; }"
"""How far the list of turns is from its end, in pixels."""
TOP = "e => e.getBoundingClientRect().top"


def test_what_is_sent_is_followed_to_its_end(page: Page, server: Running) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server, thread_with(server, 20, historyTokens=20_000))
    box = page.get_by_label("Your message")
    for number in (21, 22):
        page.locator("#turns").evaluate("e => e.scrollTo({ top: 0, behavior: 'instant' })")
        page.wait_for_function(f"({BELOW})() > 500")
        box.fill("\n".join([WORDS] * 4))
        box.press("Enter")
        expect(page.locator(f"#turn-{number} .said").last).to_contain_text(WORDS.strip())
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        page.wait_for_function(f"({BELOW})() <= 1")


def test_an_answer_does_not_disturb_who_reads_further_up(page: Page, server: Running, dictated: Dictated) -> None:
    # As many turns as are shown at first: of the next one the first makes room.
    thread = thread_with(server, 0, historyTokens=20_000)
    said = [{"role": role, "content": WORDS} for _ in range(60) for role in ("user", "assistant")]
    server.post(f"/v1/threads/{thread}/messages", {"messages": said, "wire": "openai-chat"})
    opened(page, server, thread)
    box = page.get_by_label("Your message")
    box.fill("Tell me all")
    box.press("Enter")
    dictated.say("Well, ")
    turns = page.locator("#turns")
    expect(turns.locator(".turn").last).to_contain_text("Well, ")
    page.wait_for_function(f"({BELOW})() <= 1")
    turns.evaluate("e => e.scrollTo({ top: e.scrollTop - 300, behavior: 'instant' })")
    read = page.locator("#turn-58")
    place = read.evaluate(TOP)
    dictated.say("so it was. " * 200)
    expect(turns.locator(".turn").last).to_contain_text("so it was.")
    assert abs(read.evaluate(TOP) - place) < 1  # a list is scrolled by whole pixels
    dictated.end()
    expect(page.locator("#turn-61")).to_be_attached()
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    assert abs(read.evaluate(TOP) - place) < 1  # a list is scrolled by whole pixels


def said_once(server: Running) -> str:
    """A thread of one turn that nobody had to answer."""
    thread = thread_with(server, 0)
    said = [{"role": "user", "content": WORDS}, {"role": "assistant", "content": WORDS}]
    server.post(f"/v1/threads/{thread}/messages", {"messages": said, "wire": "openai-chat"})
    return thread
