"""A scripted upstream and a proxy in front of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proxy.running import Served, served, setup_for
from tests.proxy.upstream import ScriptedUpstream


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    scripted = ScriptedUpstream()
    yield scripted
    scripted.close()
    assert scripted.faults == []


@pytest.fixture
def proxy(upstream: ScriptedUpstream) -> Iterator[Served]:
    with served(setup_for(upstream)) as running:
        yield running
