"""`sash key`: keys are made, listed without what they are, and revoked by what the list shows."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sash.cli.key import ShownKey, ShownKeys
from sash.server.keys import Doorkeeper
from sash.store import open_store
from tests.cli.front_door import here

STORE = ("--store", "sqlite:///keys.db")


def made(tmp_path: Path, *words: str) -> str:
    return here("key", "new", *STORE, *words, home=tmp_path).out.strip()


def listed(tmp_path: Path, *words: str) -> tuple[ShownKey, ...]:
    ran = here("key", "list", "--json", *STORE, *words, home=tmp_path)
    assert ran.code == 0, ran.err
    return msgspec.json.decode(ran.out, type=ShownKeys).keys


def lets_in(tmp_path: Path, key: str) -> str | None:
    store = open_store(f"sqlite:///{tmp_path}/keys.db")
    try:
        return Doorkeeper(store).tenant_of(key)
    finally:
        store.close()


def test_keys_are_listed_without_what_they_are(tmp_path: Path) -> None:
    keys = [made(tmp_path, "--tenant", "alice", "--label", "laptop"), made(tmp_path, "--label", "mine")]
    assert [(key.tenant, key.label, key.revoked) for key in listed(tmp_path)] == [
        ("alice", "laptop", False),
        ("", "mine", False),
    ]
    assert [key.label for key in listed(tmp_path, "--tenant", "alice")] == ["laptop"]
    table = here("key", "list", *STORE, home=tmp_path)
    assert "laptop" in table.out
    assert listed(tmp_path)[0].id in table.out
    assert not any(key.removeprefix("sash_")[:8] in table.out for key in keys)


def test_a_key_that_was_lost_is_revoked_by_its_id(tmp_path: Path) -> None:
    key, other = made(tmp_path, "--tenant", "alice"), made(tmp_path)
    assert lets_in(tmp_path, key) == "alice"
    ran = here("key", "revoke", listed(tmp_path, "--tenant", "alice")[0].id, *STORE, home=tmp_path)
    assert (ran.code, ran.err.strip()) == (0, "revoked")
    assert lets_in(tmp_path, key) is None
    assert lets_in(tmp_path, other) == ""
    assert [key.revoked for key in listed(tmp_path)] == [True, False]


def test_a_key_that_is_not_there_is_refused_and_not_shown(tmp_path: Path) -> None:
    made(tmp_path, "--tenant", "alice")
    secret = "sash_" + "x" * 43
    for words in ((secret,), ("0123456789ab",), (listed(tmp_path)[0].id, "--tenant", "bob")):
        ran = here("key", "revoke", *words, *STORE, home=tmp_path)
        assert ran.code != 0
        assert "`sash key list`" in ran.err
        assert secret not in ran.err
    assert not listed(tmp_path)[0].revoked
