"""The way past one table, as docs/scaling.md prints it: run on a real PostgreSQL that has something in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from sash.errors import NotFound
from sash.store import Entry, Posting, Share, Store, open_store
from sash.thread import open_thread
from tests.gates.tree import ROOT
from tests.store.building import entry, said, slid, texts_of, thread_of
from tests.store.server import APP, Server
from tests.thread.speaking import SMALL, talk

PARTITIONED = ("log", "posting", "words")
SQL = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "scaling.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def before(postgres: Server) -> dict[str, Any]:
    """A database in which things were said, then cut into parts."""
    name = postgres.filled()
    store = open_store(postgres.url(name=name))
    threads = [
        thread_of(store, tenant, f"the harbour {n}", "the storm", name=f"t{n}") for n in range(12) for tenant in "ab"
    ]
    long = open_thread("long", store=store, tenant="a", policy=SMALL)
    talk(long, 15)
    asked = long.prepared().body
    store.close()
    script, grants, *_ = SQL
    with psycopg.connect(postgres.url(name=name), autocommit=True) as connection:
        connection.execute(script.encode())
        connection.execute(grants.replace("sash_app", APP).encode())
    return {"name": name, "threads": threads, "asked": asked}


@pytest.fixture
def store(before: dict[str, Any], postgres: Server) -> Iterator[Store]:
    made = open_store(postgres.app_url(before["name"]))
    yield made
    made.close()


def test_nothing_is_lost_and_the_next_request_is_the_same(before: dict[str, Any], store: Store) -> None:
    for row in before["threads"]:
        assert texts_of(store, row.tenant, row.id) == [f"the harbour {row.name[1:]}", "the storm"]
    thread = open_thread("long", store=store, tenant="a")
    assert thread.prepared().body == before["asked"]
    talk(thread, 5)
    assert thread.verify().ok
    assert len(store.search("a", "storm", limit=100)) == 12
    assert store.health().problems == ()


def test_every_verb_goes_on_and_tenants_stay_apart(store: Store) -> None:
    thread = thread_of(store, "c", "one", "two", "three")
    store.append(
        "c",
        thread.id,
        Entry(
            events=(said("four", turn=4),),
            frames=(slid(1, 2, after_seq=4),),
            postings=(Posting("one", 1, 1),),
            checkpoint=b"s",
        ),
    )
    fork = store.create("c", "fork", b"{}", shares=[Share(thread.id, 2)])
    store.append("c", fork.id, entry(said("another way")))
    assert store.postings("c", thread.id, ["one"]) == [Posting("one", 1, 1)]
    store.redact("c", thread.id, 1, b"{}")
    assert store.search("c", "one") == []
    store.delete("c", thread.id)
    assert [event.text for event in store.events("c", thread.id, shared=True)] == ["", "two"]
    with pytest.raises(NotFound):
        store.thread("a", fork.id)
    assert store.search("a", "another") == []
    assert store.delete_tenant("c") == 1
    assert store.search("c", "two") == []


def test_a_query_of_a_thread_looks_at_one_part(before: dict[str, Any], postgres: Server) -> None:
    with psycopg.connect(postgres.url("postgres", before["name"]), autocommit=True) as session:
        for table in PARTITIONED:
            kind = session.execute("SELECT relkind FROM pg_class WHERE oid = %s::regclass", [table]).fetchone()
            assert kind == ("p",)
            asked = f"EXPLAIN SELECT * FROM {table} WHERE tenant = 'a' AND thread = 1 AND seq > 0"
            plan = "\n".join(line for (line,) in session.execute(asked.encode()))
            assert len(set(re.findall(rf"\b{table}_\d+\b", plan))) == 1, plan
        parts = session.execute("SELECT count(DISTINCT tableoid) FROM log").fetchone()
        assert parts is not None
        assert parts[0] > 4


def test_the_second_lock_holds_and_views_show_what_they_did(before: dict[str, Any], postgres: Server) -> None:
    with psycopg.connect(postgres.app_url(before["name"]), autocommit=True) as session:
        for table in (*PARTITIONED, "messages", "exchanges", "turns", "events"):
            assert session.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,), table
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT 1 FROM log_0")
        session.execute("SELECT set_config('sash.tenant', '=b', false)")
        assert session.execute("SELECT DISTINCT tenant FROM log").fetchall() == [("b",)]
        assert session.execute("SELECT count(*) FROM messages").fetchone() == (24,)
        assert session.execute("SELECT count(*) FROM exchanges").fetchone() == (24,)
