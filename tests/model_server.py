"""A real model behind its real HTTP server, with its real limit of 4,096 tokens. One for the session, one thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sash.errors import MissingExtra
from sash.providers.local import Local, LocalServer
from tests.components import missing

MODEL = "SmolLM2-135M-Instruct.Q4_1"


@pytest.fixture(scope="session")
def model_server() -> Iterator[LocalServer]:
    """Speaks `/v1/chat/completions`, `/v1/responses` and `/v1/messages` below its `url`; about 100 tokens a second."""
    try:
        server = LocalServer(Local()._file)
    except MissingExtra as error:
        missing(str(error))
    yield server
    del server
