"""Servers for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.serving import Running, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """One for all tests of a module: each makes threads of its own."""
    with running() as started:
        yield started
