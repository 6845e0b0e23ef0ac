"""Every test of the contract runs on every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest

from sash.store import Store, open_store
from tests.store import server

STORES = ("memory", "sqlite", "postgres")


@pytest.fixture(scope="session")
def _opened() -> Iterator[dict[str, Store]]:
    opened: dict[str, Store] = {}
    yield opened
    for store in opened.values():
        store.close()


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for databases of which no power cut is expected."""
    [base, *_] = [*server.memory_folder(), None]
    with TemporaryDirectory(prefix="sash-", dir=base) as folder:
        yield Path(folder)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Store]:
    """A store; on PostgreSQL it is shared, and tests keep apart by their tenants."""
    if request.param == "postgres":
        running: server.Server = request.getfixturevalue("postgres")
        opened: dict[str, Store] = request.getfixturevalue("_opened")
        if "postgres" not in opened:
            opened["postgres"] = open_store(running.app_url())
        yield opened["postgres"]
        return
    made = open_store("memory:" if request.param == "memory" else f"sqlite:///{scratch}/threads.db")
    yield made
    made.close()


@pytest.fixture
def tenant() -> str:
    """Somebody whom nobody has heard of."""
    return f"tenant-{uuid4()}"


@pytest.fixture
def other() -> str:
    """Somebody else."""
    return f"other-{uuid4()}"
