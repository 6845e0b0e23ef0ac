"""A provider refuses a request as too long: the thread learns what it takes, and gives way."""

from __future__ import annotations

from itertools import pairwise

from sash.core.policy import Policy
from sash.errors import RequestTooLong
from sash.store import MemoryStore
from tests.builders import words
from tests.thread.speaking import opened, talk

UNKNOWN = Policy(counter="chars4")
"""Of a model that nobody knows: its window is taken for 128,000."""
LLAMA = "request (12931 tokens) exceeds the available context size (4096 tokens), try increasing it"


def test_what_the_model_takes_is_remembered_and_the_next_request_fits() -> None:
    store = MemoryStore()
    thread = opened(store, policy=UNKNOWN)
    talk(thread, 129)
    thread.append({"role": "user", "content": "and now?"})
    frame = thread.record_overflow(LLAMA)
    assert frame is not None
    assert frame.reason == "overflow"
    for each in (thread, opened(store, policy=None)):
        assert (each.context().window, each.context().window_known) == (4_096, True)
        assert each.prepared().tokens.value < 4_096
    assert thread.verify().ok
    talk(thread, 100)
    assert thread.prepared().tokens.value < 4_096
    assert thread.frames()[-1].reason != "overflow"
    assert thread.verify().ok


def test_an_error_of_ours_tells_the_same_as_its_words() -> None:
    thread = opened(policy=UNKNOWN)
    talk(thread, 129)
    thread.record_overflow(RequestTooLong("too long", tokens=12_931, limit=4_096))
    assert thread.context().window == 4_096


def test_a_provider_that_counts_more_is_believed_from_then_on() -> None:
    thread = opened(policy=Policy(counter="chars4", window=20_000))
    talk(thread, 117)
    before = thread.prepared().tokens.value
    thread.record_overflow(f"prompt is too long: {int(before * 1.75)} tokens > 20000 maximum")
    assert thread.context().window == 20_000
    assert 1.7 < thread.window.fold.factor <= 1.76
    assert thread.prepared().tokens.value < 18_000
    assert thread.verify().ok


def test_without_any_number_each_refusal_goes_down_further() -> None:
    thread = opened(policy=Policy(counter="chars4", window=128_000, keep_share=1.0))
    talk(thread, 129)
    sizes = [thread.prepared().tokens.value]
    for _ in range(4):
        thread.record_overflow("Input is too long for requested model.")
        sizes.append(thread.prepared().tokens.value)
    assert all(later < earlier for earlier, later in pairwise(sizes))
    assert thread.context().window < sizes[0]
    assert thread.verify().ok


def test_room_for_the_answer_is_kept_free_from_then_on() -> None:
    thread = opened(policy=Policy(counter="chars4", window=8_192))
    talk(thread, 50)
    thread.record_overflow("input length and `max_tokens` exceed context limit: 5200 + 4000 > 8192")
    assert thread.prepared().tokens.value + 4_000 < 8_192


def test_what_was_learned_of_a_model_is_not_held_against_another() -> None:
    thread = opened(model="one", policy=UNKNOWN)
    talk(thread, 129)
    thread.record_overflow(LLAMA)
    thread.configure(model="two")
    assert thread.context().window == 128_000
    thread.record_overflow(LLAMA)
    thread.configure(policy=Policy(counter="chars4", window=32_000))
    assert thread.context().window == 32_000
    assert thread.verify().ok


def test_a_rewind_or_an_undo_takes_back_the_slide_and_not_the_lesson() -> None:
    thread = opened(policy=UNKNOWN)
    talk(thread, 15)
    thread.mark("here")
    talk(thread, 100)
    thread.record_overflow(LLAMA)
    thread.rewind("here")
    assert thread.context().window == 4_096
    assert thread.context().turns == 15
    assert thread.verify().ok
    other = opened(policy=UNKNOWN)
    talk(other, 129)
    other.record_overflow(LLAMA)
    turns = other.context().turns
    other.undo()
    assert other.context().window == 4_096
    assert other.context().turns > turns
    other.append({"role": "user", "content": words(10)})
    assert other.prepared().tokens.value < 4_096
    assert other.verify().ok


def test_nothing_said_yet_learns_too() -> None:
    thread = opened(policy=UNKNOWN)
    assert thread.record_overflow(LLAMA) is None
    assert thread.context().window == 4_096
