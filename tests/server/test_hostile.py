"""Bodies, headers and words of those who mean no good."""

from __future__ import annotations

import gzip
import io
import logging
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

import msgspec
import pytest
import zstandard

from sash.errors import ProviderDown
from sash.providers.events import Event
from sash.server.logs import JsonLines
from sash.server.setup import ServerSetup
from tests.server.serving import Running, running
from tests.server.speaking import Scripted, finished, said, using

SMALL = ServerSetup(port=0, store="memory:", provider="echo", max_body_bytes=100_000, drain_seconds=1.0)
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(SMALL) as started:
        started.post("/v1/threads", {"threadId": "here"}, status=201)
        yield started


def refused(server: Running, content: bytes, headers: dict[str, str] | None = None) -> tuple[int, str]:
    answer = server.ask("POST", "/v1/threads/here/turns", content=content, headers=JSON | (headers or {}))
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"input": 1}',
        b'{"input": ""}',
        b'{"input": "x", "apiBase": "http://169.254.169.254"}',
        b'{"input": "x", "base_url": "http://evil.example"}',
        b'{"input": "\xff"}',
        b'{"input": "x"} trailing',
        b"\xef\xbb\xbf{}",
        b'{"input": [{"type": "text", "text": ' + b"[" * 50_000,
    ],
)
def test_what_is_no_request_is_refused(server: Running, content: bytes) -> None:
    assert refused(server, content) == (400, "INVALID_ARGUMENT")


def test_a_body_over_the_limit_is_refused_however_it_is_sent(server: Running) -> None:
    large = msgspec.json.encode({"input": "x" * 200_000})
    assert refused(server, large)[0] == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(40):
            yield b'{"input": "' + b"x" * 5_000

    answer = server.client.post("/v1/threads/here/turns", content=chunks(), headers=JSON)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstandard.compress)]
)
def test_a_bomb_is_refused_and_an_honest_body_unpacked(server: Running, encoding: str, pack: Any) -> None:
    bomb = pack(b'{"input": "' + b"x" * 50_000_000)
    assert len(bomb) < 100_000
    assert refused(server, bomb, {"content-encoding": encoding})[0] == 413
    honest = pack(b'{"input": "packed words", "stream": false}')
    answer = server.ask("POST", "/v1/threads/here/turns", content=honest, headers=JSON | {"content-encoding": encoding})
    assert answer.json()["responseText"] == "packed words"
    for broken in (honest[:-3], b"not packed", honest + b"more"):
        assert refused(server, broken, {"content-encoding": encoding})[0] == 400


def test_an_unknown_encoding_and_plain_text_are_refused(server: Running) -> None:
    assert refused(server, b"{}", {"content-encoding": "br"})[0] == 415
    answer = server.ask(
        "POST", "/v1/threads/here/turns", content=b'{"input":"x"}', headers={"content-type": "text/plain"}
    )
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "name", ["' OR 1=1 --", "../../etc/passwd", "a\x00b", "%00", "~0", "~99999999999999999999", "~x"]
)
def test_strange_ids_find_nothing(server: Running, name: str) -> None:
    from urllib.parse import quote

    for path in (f"/v1/threads/{quote(name, safe='')}", f"/v1/turns/{quote(name, safe='')}"):
        assert server.ask("GET", path).status_code in (400, 404)


def test_what_is_said_comes_back_byte_for_byte_and_never_as_a_page(server: Running) -> None:
    words = "<script>alert(1)</script> \x1b[31m javascript:x \u202e \u0000 \U0001f600"
    events = said(server, "here", words)
    assert "".join(event.fields["text"] for event in events if event.name == "message_delta") == words
    answer = server.ask("GET", "/v1/threads/here/history")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["turns"][-1]["requestText"] == words


def test_no_secret_is_in_a_log_an_error_or_a_metric(caplog: pytest.LogCaptureFixture) -> None:
    canaries = [f"canary{number}" for number in range(8)]

    async def failing(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        asked = request["messages"][-1]["content"]
        if "fail" in asked:
            raise ProviderDown(f"the upstream said {canaries[0]}")
        if "break" in asked:
            raise RuntimeError(canaries[1])
        yield finished(canaries[2])

    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("sash")
    logger.addHandler(handler)
    logger.setLevel("DEBUG")
    seen: list[str] = []
    try:
        with running(SMALL) as server:
            using(server, Scripted(failing))
            server.post("/v1/threads", {"threadId": canaries[3], "title": canaries[4]}, status=201)
            shown = {"authorization": f"Bearer sash_{canaries[5]}"}
            seen.append(server.ask("GET", "/v1/threads", headers=shown).text)
            for words in (f"fail {canaries[6]}", f"break {canaries[6]}", f"fine {canaries[6]}"):
                said(server, canaries[3], words, headers={"idempotency-key": canaries[7] + words[:4]})
            seen.append(server.ask("GET", "/metrics").text)
            seen.append(server.ask("GET", "/v1/threads/here").text)
            seen.append(server.ask("GET", "/health/readiness").text)
    finally:
        logger.removeHandler(handler)
        logger.setLevel("NOTSET")
    seen.append(lines.getvalue())
    assert '"event":"request"' in seen[-1]
    assert "turn failed" in seen[-1]
    for canary in canaries:
        assert canary not in "".join(seen), canary
    assert all(line.startswith("{") for line in seen[-1].splitlines())
