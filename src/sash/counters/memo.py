"""A bounded memory of counts, so that a message is counted once however often it is sent again."""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock

import msgspec

from sash.core.message import Message
from sash.core.tokens import TokenCount


class Memo:
    """
    Counts by what was counted, what was not asked for lately forgotten first.

    Holds digests and numbers, never the words: a process that serves many must not keep
    what they said.
    """

    def __init__(self, size: int = 1 << 16) -> None:
        self._size = size
        self._young: dict[bytes, TokenCount] = {}
        self._old: dict[bytes, TokenCount] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: bytes) -> TokenCount | None:
        """The count kept under this key."""
        count = self._young.get(key)
        if count is None and (count := self._old.get(key)) is not None:
            self.keep(key, count)
        return count

    def keep(self, key: bytes, count: TokenCount) -> TokenCount:
        """Remember a count, and give it back."""
        with self._lock:
            # Two generations: to forget one by one from the front of a dict takes longer with each.
            if len(self._young) >= self._size:
                self._young, self._old = {}, self._young
            self._young[key] = count
        return count


def said(message: Message) -> bytes:
    """A digest of what a message says: equal only for messages that cost the same."""
    if message.source and not message.edited:
        digest = blake2b(message.source, digest_size=16)
        digest.update(f"{message.role} {message.wire}".encode())
        return digest.digest()
    try:
        content = msgspec.msgpack.encode((message.role, message.blocks))
    except UnicodeEncodeError:
        # Half of a surrogate pair: no encoder of JSON or msgpack takes it.
        content = repr((message.role, message.blocks)).encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=16).digest()
