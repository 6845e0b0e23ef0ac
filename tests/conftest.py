"""What tests of several layers share."""

from __future__ import annotations

from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import settings

from tests.model_server import model_server
from tests.postgres_server import postgres

__all__ = ["model_server", "postgres"]

# Like hypothesis' own `ci` (the same examples in each run, no deadline), with as many as the time of all tests allows.
settings.register_profile("sash", settings.get_profile("ci"), max_examples=60)

UNTRACED = {
    *("cli", "counters", "gates", "page", "providers", "proxy", "server", "settings", "store", "summarize"),
    "transcripts",
}
"""Tests of what stands above the core: measuring its coverage in them would double their time and cover nothing new."""


UNTRACED_FILES = {"core/test_presets.py", "fit/test_transcripts.py"}
"""Thousands of histories that cover nothing new; and what real sessions cover must be covered without them."""


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """
    One measurement in a worker, so that `no_cover` holds there too.

    pytest-cov starts its second while the first still runs; paused, it would only make way for that one.
    """
    measuring = Coverage.current()
    if hasattr(session.config, "workerinput") and measuring is not None:
        measuring.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    top = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(top)
        if place.parts[0] in UNTRACED or place.as_posix() in UNTRACED_FILES:
            item.add_marker(pytest.mark.no_cover)
