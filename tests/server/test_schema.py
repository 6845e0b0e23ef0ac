"""The whole API called by its own description: whatever comes in, nothing of ours breaks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from sash.server.app import every_route
from sash.server.openapi import described
from sash.server.setup import ServerSetup
from tests.server.serving import Running, running
from tests.server.speaking import said

OURS = r"^(/v1/(about|threads|turns|search)|/health|/metrics|/openapi)"
EXAMPLES = int(os.environ.get("SASH_SCHEMA_EXAMPLES", "6"))

SETUP = ServerSetup(port=0, store="memory:", provider="echo", drain_seconds=1.0)
schema = schemathesis.openapi.from_dict(described(every_route())).include(path_regex=OURS)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """One with a thread in it that has a past, so that addresses lead somewhere."""
    with running(SETUP) as started:
        started.post("/v1/threads", {"threadId": "talked", "historyTokens": 3000, "policy": "best"}, status=201)
        for number in range(6):
            said(started, "talked", f"turn {number} " + "some words " * 100)
        yield started


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_that_the_description_allows_or_forbids_breaks_the_server(case: Any, server: Running) -> None:
    if "thread" in (case.path_parameters or {}):
        case.path_parameters["thread"] = "talked"
    if case.path.endswith("/turns"):
        # Whole, so that each is over before the next.
        case.body = {**case.body, "stream": False} if isinstance(case.body, dict) else case.body
    if case.method == "DELETE" and case.path == "/v1/threads/{thread}":
        case.path_parameters["thread"] = "not-there"
    response = case.call(base_url=server.url)
    case.validate_response(response, checks=(not_a_server_error, response_schema_conformance, content_type_conformance))
