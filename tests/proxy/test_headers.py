"""What passes, what stays here, and who called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sash import InvalidUpstream
from sash.server.proxy.courier import retry_after
from sash.server.proxy.headers import back, caller_of, onward
from sash.server.proxy.setup import Upstreams, upstream_at


def test_what_the_provider_asks_for_goes_on_byte_for_byte() -> None:
    kept = [(b"anthropic-version", b"2023-06-01"), (b"anthropic-beta", b"a,b ;c"), (b"x-api-key", b"sk-ant-1")]
    dropped = [
        (b"host", b"127.0.0.1:7274"),
        (b"content-length", b"5"),
        (b"connection", b"keep-alive, x-mine"),
        (b"x-mine", b"1"),
        (b"x-sash-thread", b"a"),
        (b"cookie", b"session=1"),
        (b"accept-encoding", b"gzip"),
    ]
    assert onward([*dropped, *kept], decoded=False) == kept


def test_a_key_of_ours_goes_no_further() -> None:
    assert onward([(b"authorization", b"Bearer sash_abc"), (b"x-api-key", b"sash_abc")], decoded=False) == []


def test_an_answer_loses_what_was_said_for_one_hop_only() -> None:
    given = [
        (b"Server", b"a"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Connection", b"close"),
        (b"X-Request-Id", b"r"),
        (b"retry-after", b"2"),
    ]
    assert back(given) == [(b"x-request-id", b"r"), (b"retry-after", b"2")]


def test_two_keys_are_two_callers_and_a_caller_is_no_key() -> None:
    one, other = [(b"authorization", b"Bearer sk-1")], [(b"authorization", b"Bearer sk-2")]
    assert caller_of(one) == caller_of(one) != caller_of(other)
    assert caller_of(one, "tenant") != caller_of(one)
    assert caller_of([(b"authorization", b"a"), (b"x-api-key", b"b")]) != caller_of(
        [(b"authorization", b"ax-api-keyb")]
    )
    assert "sk-1" not in caller_of(one)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([(b"retry-after-ms", b"250")], 0.25),
        ([(b"Retry-After", b"2")], 2.0),
        ([(b"retry-after", b"86400")], 86_400.0),
        ([(b"retry-after", b"-1")], None),
        ([(b"retry-after", b"soon")], None),
        ([], None),
    ],
)
def test_patience_is_asked_for_in_several_ways(headers: list[tuple[bytes, bytes]], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_patience_may_be_asked_for_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True).encode()
    asked = retry_after([(b"retry-after", later)])
    assert asked is not None
    assert 3_500 < asked <= 3_600


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "gopher://x", "api.openai.com", "http://", "http://a:b@c", "http://a/?b", "http://a:99999"],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidUpstream) as raised:
        upstream_at(url, "openai")
    assert "a:b" not in str(raised.value)


def test_addresses_are_written_as_the_sdks_write_them() -> None:
    there = Upstreams(
        openai="http://a:1/v1/", anthropic="http://b/v1", models=(("qwen*", "http://c/api/v1"),)
    ).resolved()
    assert there.choose("openai").target("/v1/chat/completions") == "http://a:1/v1/chat/completions"
    assert there.choose("anthropic").target("/v1/messages", b"beta=true") == "http://b/v1/messages?beta=true"
    assert there.choose("openai", "qwen3").target("/v1/responses") == "http://c/api/v1/responses"
    assert there.choose("anthropic", "qwen3").target("/v1/messages") == "http://c/api/v1/messages"
    assert there.choose("openai", "gpt-5").origin == "http://a:1"
