"""What a client is told when the provider fails."""

from __future__ import annotations

import math

from sash.errors import (
    AnswerBroken,
    KeyMissing,
    KeyRefused,
    ProviderBusy,
    ProviderError,
    RequestRefused,
    RequestTooLong,
)
from sash.server.fault import Fault


def upstream_fault(error: ProviderError) -> Fault:
    """One sentence of ours; what the provider wrote may hold anything, and stays in the error's own attributes."""
    kind = {"type": type(error).__name__}
    if isinstance(error, RequestTooLong):
        return Fault("INVALID_ARGUMENT", "the provider's model cannot read that much", status=413, details=kind)
    if isinstance(error, RequestRefused):
        return Fault("INVALID_ARGUMENT", str(error), details=kind)
    if isinstance(error, KeyMissing | KeyRefused):
        return Fault("UPSTREAM_UNAVAILABLE", "the server has no key that its provider takes", details=kind)
    if isinstance(error, ProviderBusy):
        pause = error.retry_after_seconds
        headers = {} if pause is None else {"retry-after": str(math.ceil(pause))}
        return Fault("UPSTREAM_UNAVAILABLE", "the provider has too much to do", details=kind, headers=headers)
    if isinstance(error, AnswerBroken):
        return Fault("UPSTREAM_UNAVAILABLE", "the provider's answer broke off or was none", details=kind)
    if "silent" in str(error) or "timed out" in str(error):
        return Fault("TIMEOUT", "the provider took too long", details=kind)
    return Fault("UPSTREAM_UNAVAILABLE", "the provider cannot be reached, or fails by itself", details=kind)
