"""Threads are found by name; what is left out is as it was stored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sash
from sash.core.policy import Policy
from sash.core.tokens import TokenCount
from sash.counters import registry
from sash.counters.seeds import WORDS_ONLY, Chars4
from sash.errors import InvalidPolicy, StoreUnavailable, UnknownWire
from sash.store import MemoryStore
from tests.builders import words
from tests.thread.speaking import SMALL, numbers, opened, talk


def test_a_thread_is_there_again_with_all_that_it_was_set_up_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/sash.db"
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    with sash.open("issue-42", store=url, model="gpt-5", policy=SMALL, system="be kind", tools=[tool]) as thread:
        talk(thread, 12)
        sent = thread.prepared().body
    with sash.open("issue-42", store=url) as again:
        assert again.prepared().body == sent
        assert again.setup.model == "gpt-5"
        assert again.request()["tools"] == [tool]
        assert again.request()["messages"][0] == {"role": "system", "content": "be kind"}
        assert [event.kind for event in again.events()].count("configure") == 0


def test_what_is_given_again_and_is_another_changes_the_thread() -> None:
    store = MemoryStore()
    opened(store, model="gpt-5")
    again = opened(store, model="claude-opus-4")
    assert again.setup.model == "claude-opus-4"
    assert [event.kind for event in again.events()] == ["configure"]


def test_a_thread_that_was_closed_lets_go_of_its_own_store_only(tmp_path: Path) -> None:
    store = MemoryStore()
    opened(store).close()
    assert opened(store).seq == 0
    thread = opened(f"sqlite:///{tmp_path}/sash.db")
    thread.close()
    with pytest.raises(StoreUnavailable):
        thread.append({"role": "user", "content": "hi"})


def test_tenants_have_threads_of_the_same_name() -> None:
    store = MemoryStore()
    one, two = opened(store, tenant="a"), opened(store, tenant="b")
    one.append({"role": "user", "content": words(3)})
    assert (one.seq, two.seq) == (1, 0)


def test_mistakes_are_refused_before_anything_is_stored() -> None:
    store = MemoryStore()
    with pytest.raises(InvalidPolicy):
        opened(store, policy={"history_tokens": 3})
    with pytest.raises(UnknownWire):
        opened(store, wire="smoke signals")
    with pytest.raises(LookupError, match="no counter"):
        opened(store, policy=Policy(counter="exact:abacus"))
    assert store.threads("") == []


_AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from sash.core.policy import Policy
from sash.store import MemoryStore
from sash.thread import open_thread

sys.setswitchinterval(1e-6)
store, together = MemoryStore(), Barrier(8)

def opened(number):
    together.wait()
    thread = open_thread(f"t{number % 3}", store=store, policy=Policy(counter="chars4"), system="be kind")
    return len(thread.prepared().body)

with ThreadPoolExecutor(8) as pool:
    assert len(set(pool.map(opened, range(8)))) == 1
"""


@pytest.mark.parametrize("attempt", range(3))
def test_the_first_threads_of_a_process_may_be_opened_at_once(attempt: int) -> None:
    subprocess.run([sys.executable, "-c", _AT_ONCE], check=True, timeout=60)


class Sixteenth(Chars4):
    """What the counter of that name may be one day."""

    version = "2"

    def count(self, text: str) -> TokenCount:
        return TokenCount(len(text) // 16, exact=not text)


def test_a_thread_that_is_counted_in_another_way_tells_of_all_its_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    thread = opened(store)
    talk(thread, 20)
    assert numbers(thread, "evicted")
    monkeypatch.setitem(registry._SEEDS, "chars4", (Sixteenth(), WORDS_ONLY))
    monkeypatch.setattr(registry, "_made", registry._made.__wrapped__)
    again = opened(store)
    assert numbers(again, "evicted") == []
    assert again.turns()[0].reason == "history was not full enough for it to leave"
