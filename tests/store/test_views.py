"""The tables that seeds 003 and 004 ask for by name, in SQL, as printed there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from sash.store import Entry, Store, open_store
from sash.thread import open_thread
from tests.store.building import entry, noted, said, slid, thread_of
from tests.store.server import Server

WINDOW = """
SELECT * FROM messages
WHERE agent_id = $1
  AND in_sliding_window = TRUE
ORDER BY created_at;
"""
ARCHIVE = """
SELECT * FROM messages
WHERE agent_id = $1
  AND in_sliding_window = FALSE
ORDER BY created_at;
"""

Rows = list[dict[str, Any]]
Ask = Callable[..., Rows]


@pytest.fixture(params=["sqlite", "postgres"])
def asked(request: pytest.FixtureRequest, scratch: Path, tenant: str) -> Iterator[tuple[Store, Ask]]:
    """A store, and a way to ask its database something as a stranger would."""
    if request.param == "sqlite":
        store = open_store(f"sqlite:///{scratch}/threads.db")
        connection = apsw.Connection(f"{scratch}/threads.db", flags=apsw.SQLITE_OPEN_READONLY)

        def ask(sql: str, *values: object) -> Rows:
            cursor = connection.execute(sql, {str(number): value for number, value in enumerate(values, 1)})
            return [dict(zip([name for name, *_ in cursor.description_full], row, strict=True)) for row in cursor]

        yield store, ask
        connection.close()
        store.close()
    else:
        running: Server = request.getfixturevalue("postgres")
        store = open_store(running.app_url())
        with psycopg.connect(running.app_url(), autocommit=True) as session:
            session.execute("SELECT set_config('sash.tenant', %s, false)", [f"={tenant}"])

            def ask_raw(sql: str, *values: object) -> Rows:
                with psycopg.RawCursor(session) as cursor:
                    cursor.execute(sql, values)
                    names = [column.name for column in cursor.description or ()]
                    return [dict(zip(names, row, strict=True)) for row in cursor]

            yield store, ask_raw
        store.close()


def talked(store: Store, tenant: str) -> int:
    """Four turns of two messages; the frame after the sixth message evicted turn 2 and carried turn 1."""
    thread = store.create(tenant, "agent", b"").id
    store.append(tenant, thread, entry(said("be kind", role="system", turn=-1)))
    for turn in (1, 2, 3):
        answer = said(f"answer {turn}", role="assistant", turn=turn)
        added: tuple[Any, ...] = (said(f"question {turn}", turn=turn), answer)
        frames = (slid(1, 3, after_seq=7, carried=[1]),) if turn == 3 else ()
        store.append(tenant, thread, Entry(events=added, frames=frames))
    store.append(tenant, thread, entry(noted("mark", turn=3), said("question 4", turn=4)))
    return thread


def test_the_two_queries_of_seed_003_run_as_printed(asked: tuple[Store, Ask], tenant: str) -> None:
    store, ask = asked
    talked(store, tenant)
    window, archive = ask(WINDOW, "agent"), ask(ARCHIVE, "agent")
    assert [row["content"] for row in window] == [
        "be kind", "question 1", "answer 1", "question 3", "answer 3", "question 4",
    ]  # fmt: skip
    assert [row["content"] for row in archive] == ["question 2", "answer 2"]
    columns = {"id", "agent_id", "role", "content", "token_count", "created_at", "in_sliding_window", "evicted_at",
               "exchange_id"}  # fmt: skip
    assert columns <= set(window[0])
    assert all(row["evicted_at"] is None for row in window)
    moments = {row["id"]: row["created_at"] for row in window}
    assert {row["evicted_at"] for row in archive} == {moments[7]}
    assert [row["role"] for row in archive] == ["user", "assistant"]


def test_before_the_first_slide_all_is_in_the_window(asked: tuple[Store, Ask], tenant: str) -> None:
    store, ask = asked
    thread_of(store, tenant, "one", "two", name="agent")
    assert [row["content"] for row in ask(WINDOW, "agent")] == ["one", "two"]
    assert ask(ARCHIVE, "agent") == []


def test_what_was_rewound_is_in_no_window_and_comes_back_with_an_undo(asked: tuple[Store, Ask], tenant: str) -> None:
    store, ask = asked
    thread = open_thread("agent", store=store, tenant=tenant)
    thread.append([{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}])
    thread.mark()
    thread.append([{"role": "user", "content": "two"}, {"role": "assistant", "content": "2"}])
    thread.rewind()
    thread.append({"role": "user", "content": "three"})
    assert [row["content"] for row in ask(WINDOW, "agent")] == ["one", "1", "three"]
    archive = ask(ARCHIVE, "agent")
    assert [row["content"] for row in archive] == ["two", "2"]
    assert all(row["evicted_at"] > row["created_at"] for row in archive)
    thread.undo()
    assert [row["content"] for row in ask(WINDOW, "agent")] == ["one", "1", "two", "2", "three"]


def test_times_in_the_views_follow_the_sequence_whatever_clocks_say(asked: tuple[Store, Ask], tenant: str) -> None:
    store, ask = asked
    thread_of(store, tenant, *(str(number) for number in range(300)), name="agent")
    rows = ask(WINDOW, "agent")
    assert [row["content"] for row in rows] == [str(number) for number in range(300)]
    assert len({row["created_at"] for row in rows}) == 300


def test_an_exchange_is_a_turn_from_its_first_to_its_last_message(asked: tuple[Store, Ask], tenant: str) -> None:
    store, ask = asked
    talked(store, tenant)
    rows = ask("SELECT * FROM exchanges WHERE agent_id = $1 ORDER BY id", "agent")
    assert [(row["id"], row["start_msg_id"], row["end_msg_id"], row["token_count"]) for row in rows] == [
        (1, 2, 3, 18), (2, 4, 5, 18), (3, 6, 7, 18), (4, 9, 9, 10),
    ]  # fmt: skip
    assert [row["evicted_at"] is None for row in rows] == [True, False, True, True]


def test_threads_have_a_summary_and_turns_know_whether_they_are_internal(asked: tuple[Store, Ask], tenant: str) -> None:
    store, ask = asked
    thread = talked(store, tenant)
    assert [row["summary"] for row in ask("SELECT summary FROM threads WHERE id = $1", thread)] == [""]
    store.append(tenant, thread, entry(noted("summary", text="old"), noted("summary", text="what was said")))
    assert [row["summary"] for row in ask("SELECT summary FROM threads WHERE id = $1", thread)] == ["what was said"]
    turns = ask("SELECT * FROM turns WHERE thread_id = $1 ORDER BY id", thread)
    assert [(row["number"], bool(row["is_internal"])) for row in turns] == [
        (1, False), (2, False), (3, False), (4, False), (None, True), (None, True),
    ]  # fmt: skip
    visible = ask("SELECT number FROM turns WHERE thread_id = $1 AND is_internal = 0 ORDER BY id", thread)
    assert [row["number"] for row in visible] == [1, 2, 3, 4]
    kinds = ask("SELECT type FROM events WHERE thread_id = $1 ORDER BY id", thread)
    assert [row["type"] for row in kinds][7:] == ["mark", "message", "summary", "summary"]
