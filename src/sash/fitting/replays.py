"""
Folding a history that comes whole with every call, without folding it anew each time.

A client sends all of its history again and again, each time a little longer. What was
folded before is found by comparing bytes, which is several times faster than hashing
them, and only what is new is read.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import Any

import msgspec

from sash.core.fold import Fold
from sash.core.message import Message
from sash.core.policy import Limits, Policy
from sash.core.size import Size, size_of
from sash.core.tokens import Counter
from sash.wire import read_list

ENTRIES = 64
MEMORY = 256_000_000
"""Bytes of histories that are remembered at the most."""


class _Known(msgspec.Struct, frozen=True):
    """A history that was folded before."""

    setup: tuple[Any, ...]
    prefix: bytes
    """Its list of messages, without the closing bracket."""
    fold: Fold


class Replays:
    """Folds of histories seen lately. Bounded, locked, only pure results: it may be emptied at any time."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._memory = self._made = 0
        self._lock = Lock()
        self._sizes = _Sizes()

    def fold(self, listed: bytes, wire: str, *, policy: Policy, limits: Limits, counter: Counter) -> Fold:
        """The fold of a JSON list of messages."""
        listed = listed.rstrip()
        setup = (wire, policy, limits, counter.id, counter.version)
        known = self._longest(listed, setup)
        if known is None:
            fold, new = Fold(policy, limits, counter), listed
        else:
            fold, new = known.fold.copy(), b"[" + listed[len(known.prefix) + 1 :]
        messages = read_list(new, wire, first=len(fold)) if new != b"[" else ()
        if known is not None and new != b"[" and not messages:
            # A comma after which nothing comes: read from the start, it is refused as it would have been at first.
            read_list(listed, wire)
        setting = blake2b(f"{wire} {counter.id} {counter.version}".encode(), digest_size=16).digest()
        for message in messages:
            fold.add(message, self._sizes.size(message, counter, setting))
        if messages and not fold.placing.calls_open:
            # With a call open, what is sent next may still change what stands here.
            self._remember(_Known(setup, listed[: listed.rindex(b"]")].rstrip(), fold.copy()), known)
        return fold

    def _longest(self, listed: bytes, setup: tuple[Any, ...]) -> _Known | None:
        best, found = None, -1
        with self._lock:
            for key, known in self._known.items():
                length = len(known.prefix)
                longer = best is None or length > len(best.prefix)
                ends_there = listed[length : length + 1] == b"," or listed[length:] == b"]"
                if longer and ends_there and known.setup == setup and listed.startswith(known.prefix):
                    best, found = known, key
            if best is not None:
                self._known.move_to_end(found)
        return best

    def _remember(self, known: _Known, grown_from: _Known | None) -> None:
        with self._lock:
            for key in [key for key, other in self._known.items() if other is grown_from]:
                self._memory -= len(self._known.pop(key).prefix)
            self._made += 1
            self._known[self._made] = known
            self._memory += len(known.prefix)
            while len(self._known) > ENTRIES or self._memory > MEMORY:
                self._memory -= len(self._known.popitem(last=False)[1].prefix)


class _Sizes:
    """Sizes of messages seen lately, by what they say: a message is counted once."""

    def __init__(self, most: int = 1 << 16) -> None:
        self._most = most
        self._young: dict[bytes, Size] = {}
        self._old: dict[bytes, Size] = {}
        self._lock = Lock()

    def size(self, message: Message, counter: Counter, setting: bytes) -> Size:
        """The size of a message, counted now or remembered."""
        # A digest, never the words: what is remembered must stay small, and nobody's business.
        key = blake2b(message.source, digest_size=16, key=setting).digest()
        size = self._young.get(key) or self._old.get(key)
        if size is None:
            size = size_of(message, counter)
            with self._lock:
                # Two generations: to forget one by one from the front of a dict takes longer with each.
                if len(self._young) >= self._most:
                    self._young, self._old = {}, self._young
                self._young[key] = size
        return size


REPLAYS = Replays()
"""The process's own."""
