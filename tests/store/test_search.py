"""Searching: any text is taken literally, and everybody finds only their own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sash.store import Matching, Store
from sash.store.words import passage
from tests.store.building import entry, said, texts_of, thread_of

SAID = (
    'he said "stop" and left',
    "to be or NOT to be",
    "use col:x here",
    "an a-b test",
    "I don't know",
    "all * of them",
    "see src/auth.c and foo.bar@example.org",
    "snake_case_name and CamelCase",
    "Straße ÜBER naïve",
    "会議は明日です。設計を見直す",
    "100% of $5.00, -1e5",
    "NEAR(q z) {x} ^y ( ' ; -- \\",
)


@pytest.mark.parametrize(
    ("text", "wanted", "shown"),
    [
        ("category " * 90 + "the cat sat", "cat", "… category category the cat sat"),
        (
            "filler " * 90 + "in src/foo_bar.py it broke",
            "foo-bar broke",
            "… filler filler filler in src/foo_bar.py it broke",
        ),
        ("red " * 9 + "filler " * 90 + "the violin is RED.", "violin red", "… filler filler filler the violin is RED."),
        ("Straßen " * 20 + "Große Straße", "STRASSE", "… Straßen Straßen Straßen Große Straße"),
        ("a" * 500 + " cat", "cat", "… cat"),
        ("one\n\n  two", "two", "one two"),
        ("nothing of it", "elsewhere", "nothing of it"),
        ("the cat. " * 300 + "and then the zebra came", "the zebra", "… the cat. the cat. and then the zebra came"),
        ("", "cat", ""),
    ],
)
def test_what_is_shown_of_a_message_is_where_the_words_stand(text: str, wanted: str, shown: str) -> None:
    assert passage(text, wanted, before=30, most=60) == shown


@given(text=st.text(max_size=300), wanted=st.text(max_size=20), before=st.integers(0, 40), more=st.integers(1, 60))
def test_whatever_is_looked_for_no_more_is_shown_than_asked(text: str, wanted: str, before: int, more: int) -> None:
    assert len(passage(text, wanted, before=before, most=before + more)) <= before + more + 4


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('"', []), ('"stop"', [0]), ("stop", [0]), ("NOT", [1]), ("col:x", [2]), ("a-b", [3]), ("don't", [4]),
        ("*", []), ("of*", [10, 5]), ("auth.c", [6]), ("src/auth.c", [6]), ("foo.bar@example.org", [6]), ("foo.b", []),
        ("snake_case", [7]), ("camelcase", [7]), ("STRASSE", [8]), ("über", [8]), ("明日", [9]), ("設計", [9]),
        ("計設", []), ("$5.00", [10]), ("-1e5", [10]), ("NEAR(q", [11]), ("a AND b", []), ("", []), ("   ", []),
        ("\0", []), ("\ud800", []), ("be or", [1]), ("know I", [4]), ("OR", [1]), ("text:stop", []), ("'", []),
        ("') OR 1=1 --", []), ("x:*", [11, 2]), ("%", []), ("_", []),
    ],
)  # fmt: skip
def test_a_text_finds_the_messages_that_hold_it(store: Store, tenant: str, text: str, where: list[int]) -> None:
    thread = thread_of(store, tenant, *SAID)
    found = store.search(tenant, text)
    assert [hit.seq - 1 for hit in found] == where
    assert all((hit.thread, hit.name, hit.text) == (thread.id, "thread", SAID[hit.seq - 1]) for hit in found)


@pytest.mark.parametrize(
    ("match", "text", "where"),
    [
        ("all", "be to", [1]),
        ("phrase", "be to", []),
        ("phrase", "to be or", [1]),
        ("any", "stop明日 know stop", [4, 0]),
    ],
)
def test_words_are_asked_for_together_or_apart(
    store: Store, tenant: str, match: Matching, text: str, where: list[int]
) -> None:
    thread_of(store, tenant, *SAID)
    assert [hit.seq - 1 for hit in store.search(tenant, text, match=match)] == where


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(text=st.text(st.characters(), max_size=30))
def test_no_text_makes_a_search_fail(store: Store, tenant: str, text: str) -> None:
    row = store.find(tenant, "any") or thread_of(store, tenant, "some words", name="any")
    for match in ("all", "any", "phrase"):
        store.search(tenant, text, match=match)
    store.append(tenant, row.id, entry(said(text)))
    found = store.search(tenant, text, match="phrase")
    assert not found or texts_of(store, tenant, row.id)[found[0].seq - 1] == found[0].text


def test_the_newest_is_found_first_in_all_threads_or_in_one(store: Store, tenant: str) -> None:
    first = thread_of(store, tenant, "needle 1", "hay", name="first").id
    second = thread_of(store, tenant, "needle 2", name="second").id
    store.append(tenant, first, entry(said("needle 3", turn=9, role="assistant")))
    assert [hit.text for hit in store.search(tenant, "needle")] == ["needle 3", "needle 2", "needle 1"]
    assert [hit.text for hit in store.search(tenant, "needle", limit=2)] == ["needle 3", "needle 2"]
    assert [hit.text for hit in store.search(tenant, "needle", thread=second)] == ["needle 2"]
    newest = store.search(tenant, "needle", thread=first)[0]
    assert (newest.thread, newest.name, newest.seq, newest.turn, newest.role) == (first, "first", 3, 9, "assistant")


def test_words_far_apart_in_a_long_message_are_found_together(store: Store, tenant: str) -> None:
    text = "alpha " + "filler " * 25_000 + "omega " + "中" * 3_000 + "x" * 5_000
    thread_of(store, tenant, text)
    assert len(store.search(tenant, "omega alpha")) == 1
    assert len(store.search(tenant, "filler omega", match="phrase")) == 1
    assert store.search(tenant, "alpha omega", match="phrase") == []
    assert len(store.search(tenant, "x" * 5_000)) == 1
