"""From a provider's complaint to an error of ours."""

from __future__ import annotations

from typing import Any

import msgspec

from sash.errors import KeyRefused, ProviderBusy, ProviderDown, ProviderError, RequestRefused, RequestTooLong
from sash.providers.overflow import overflow_of

MOST_SHOWN = 400
"""Characters of a provider's complaint that an error shows."""
_KEY = frozenset({401, 403})
_TOO_LONG = frozenset({400, 413, 422})
_BUSY = frozenset({429, 503, 529})
_LATER = frozenset({408, 409, 425})
_FAILED = 500
_BUSY_KINDS = ("overloaded", "rate_limit", "too_many_requests", "capacity", "unavailable")


def refusal(host: str, status: int, complaint: str, *, retry_after_seconds: float | None = None) -> ProviderError:
    """What an answer with such a status means."""
    said = f"{host} answered {status}" + (f": {shown(complaint)}" if complaint else "")
    if status in _TOO_LONG and (found := overflow_of(complaint)):
        return RequestTooLong(said, status=status, tokens=found.tokens, limit=found.limit, answer=found.answer)
    if status in _KEY:
        return KeyRefused(f"{said}; look at the key in the environment", status=status)
    if status in _BUSY:
        return ProviderBusy(said, status=status, retry_after_seconds=retry_after_seconds, worth_retrying=True)
    if status >= _FAILED or status in _LATER:
        return ProviderDown(said, status=status, retry_after_seconds=retry_after_seconds, worth_retrying=True)
    return RequestRefused(said, status=status)


def complaint_in_stream(complaint: object) -> ProviderError:
    """What an error means that comes after the status said that all is well."""
    said = _words(complaint)
    if found := overflow_of(said):
        return RequestTooLong(shown(said), tokens=found.tokens, limit=found.limit, answer=found.answer)
    if any(kind in said.lower() for kind in _BUSY_KINDS):
        return ProviderBusy(shown(said), worth_retrying=True)
    return ProviderDown(f"the answer ended with an error: {shown(said)}", worth_retrying=True)


def complaint_of(body: str) -> str:
    """The sentence in an error's body, whatever its shape; nothing of a web page."""
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return "" if body.lstrip().startswith("<") else body.strip()
    return _words(decoded)


def _words(complaint: Any) -> str:
    """Kind and message of an error; providers nest them differently."""
    if isinstance(complaint, list) and complaint:
        return _words(complaint[0])
    if not isinstance(complaint, dict):
        return str(complaint) if complaint is not None else ""
    inner = complaint.get("error")
    if isinstance(inner, dict | list | str) and inner:
        return _words(inner)
    parts = [complaint.get(field) for field in ("type", "code", "message", "detail")]
    found = [str(part) for part in parts if isinstance(part, str | int) and part]
    return ": ".join(dict.fromkeys(found))


def shown(complaint: str) -> str:
    """A stranger's words on one line, of bounded length, without what moves a terminal's cursor."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in complaint[: 4 * MOST_SHOWN]).split())
    return line if len(line) <= MOST_SHOWN else line[: MOST_SHOWN - 1] + "…"
