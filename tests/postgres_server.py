"""A real PostgreSQL, one for the session: tests of several layers keep theirs in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.components import missing
from tests.store.server import NoServer, Server, started


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Started for this session alone. Without any the test is skipped, but never in CI."""
    try:
        with started() as running:
            yield running
    except NoServer as error:
        missing(str(error))
