"""Headers on their way through: what passes, what stays here, and what is said of us."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from sash.server.keys import PREFIX

Raw = tuple[bytes, bytes]

_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_STAYS_IN = _HOP | {b"host", b"content-length", b"expect", b"cookie", b"origin", b"referer", b"accept-encoding"}
"""Of a request. A browser's own headers speak of this server and not of the provider."""
_STAYS_OUT = _HOP | {b"content-length", b"server", b"date", b"alt-svc", b"strict-transport-security"}
"""Of an answer: the server writes its own length, name and date; the rest is promised for the provider's address."""
_CREDENTIALS = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key")


def onward(headers: Iterable[Raw], *, decoded: bool) -> list[Raw]:
    """
    The headers that go on to the provider, as they came.

    `decoded`: the body goes on plain, so its encoding is not spoken of any more.
    """
    headers = list(headers)
    dropped = _STAYS_IN | _named_by_connection(headers)
    if decoded:
        dropped = dropped | {b"content-encoding"}
    return [
        (name, value)
        for name, value in headers
        if name not in dropped and not name.startswith((b"x-sash-", b"sec-")) and not _is_ours(name, value)
    ]


def back(headers: Iterable[Raw]) -> list[Raw]:
    """The headers of an answer that go back to the client."""
    lowered = [(name.lower(), value) for name, value in headers]
    dropped = _STAYS_OUT | _named_by_connection(lowered)
    return [(name, value) for name, value in lowered if name not in dropped and not name.startswith(b"x-sash-")]


def owners_key(asked: Iterable[Raw], sent: Iterable[Raw], kind: str) -> list[Raw]:
    """
    The key of the server's owner, from the environment: for whoever showed a key of ours and no other.

    So a team shares one provider key that none of its members holds.
    """
    ours = any(name in (*_CREDENTIALS, b"x-sash-key") and _holds_ours(value) for name, value in asked)
    if not ours or any(name in _CREDENTIALS for name, _ in sent):
        return []
    if kind == "anthropic":
        key = os.environ.get("ANTHROPIC_API_KEY", "")
        return [(b"x-api-key", key.encode())] if key else []
    key = os.environ.get("OPENAI_API_KEY", "")
    return [(b"authorization", b"Bearer " + key.encode())] if key else []


def value_of(headers: Iterable[Raw], name: bytes) -> str:
    """The first header of that name, in lower case; empty where there is none."""
    for known, value in headers:
        if known.lower() == name:
            return value.decode("latin-1").strip()
    return ""


def caller_of(headers: Iterable[Raw], tenant: str = "") -> str:
    """
    Whose request it is: a digest of the tenant and of the credentials that it shows.

    What is learned or kept stays with it: two keys are two callers. The credentials
    themselves are stored nowhere.
    """
    shown = blake2b(tenant.encode(), digest_size=16, person=b"sash-caller")
    for name, value in headers:
        if name in _CREDENTIALS:
            shown.update(b"%d:%b%d:%b" % (len(name), name, len(value), value))
    return shown.hexdigest()


def _named_by_connection(headers: Iterable[Raw]) -> frozenset[bytes]:
    """Headers that are meant for this hop only, because `Connection` names them."""
    return frozenset(_names(value for name, value in headers if name == b"connection"))


def _names(values: Iterable[bytes]) -> Iterator[bytes]:
    for value in values:
        yield from (word.strip().lower() for word in value.split(b","))


def _is_ours(name: bytes, value: bytes) -> bool:
    return name in _CREDENTIALS and _holds_ours(value)


def _holds_ours(value: bytes) -> bool:
    return value.strip().split(b" ")[-1].startswith(PREFIX.encode())
