"""
Folding a history that comes whole with every call, without folding it anew each time.

A client sends all of its history again and again, each time a little longer. What was
folded before is found by comparing bytes, which is several times faster than hashing
them, and only what is new is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any

import msgspec

from sash.core.fold import Fold
from sash.core.message import Message
from sash.core.policy import Limits, Policy
from sash.core.recall import Archive
from sash.core.size import Size, size_of
from sash.core.summary import Summary
from sash.core.tokens import Counter
from sash.errors import InvalidMessage
from sash.window.outgoing import Outgoing
from sash.wire import json_text, read_list

ENTRIES = 64
MEMORY = 256_000_000
"""Bytes of histories that are remembered at the most."""


class _Known:
    """A history that was folded before."""

    def __init__(
        self,
        setup: tuple[Any, ...],
        listed: Listed,
        fold: Fold,
        outgoing: dict[str, Outgoing],
    ) -> None:
        self.setup, self.fold = setup, fold
        self.packed = listed.packed
        """Where it came as objects: the same in the form that objects are compared in."""
        self.outgoing = outgoing
        """The last request on each wire: the next one grows from it."""
        self._json = listed.json
        self.length = listed.json.rindex(b"]")
        """Of its list of messages, without the closing bracket."""
        while self._json[self.length - 1 : self.length].isspace():
            self.length -= 1
        self.memory = len(listed.json) + len(listed.packed)

    @property
    def prefix(self) -> bytes:
        """Its list of messages, without the closing bracket."""
        if len(self._json) > self.length:
            self._json = self._json[: self.length]
        return self._json

    def grown_by(self, new: bytes) -> bytes:
        """Its list with the items of another."""
        return b"".join([memoryview(self._json)[: self.length], b"," + new[1:] if len(new) > 2 else b"]"])


class Listed(msgspec.Struct, frozen=True):
    """A history as JSON."""

    json: bytes
    packed: bytearray = msgspec.field(default_factory=bytearray)
    known: _Known | None = None
    """What it grew from, where that is certain."""


class Replayed(msgspec.Struct, frozen=True):
    """The fold of a history, and the last request that was made of it on each wire."""

    fold: Fold
    before: Mapping[str, Outgoing] = {}
    kept: dict[str, Outgoing] = {}
    """Where this call's own request is kept for the next."""


class KeptSummaries(msgspec.Struct, frozen=True):
    """Summaries of somebody's histories, kept elsewhere."""

    owner: str
    """Whose they are: what is remembered of a history with them is nobody else's."""
    choose: Callable[[Fold, bytes], Summary | None]
    """The one that stands under the newest frame of a history. Asked once for each frame."""


class Replays:
    """Folds of histories seen lately. Bounded, locked, only pure results: it may be emptied at any time."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._memory = self._made = 0
        self._lock = Lock()
        self._sizes = _Sizes()

    def listed(self, given: list[Any]) -> Listed:
        """
        The JSON of a list of messages: of one that grew, only what is new is written.

        The objects are the caller's and may have been changed since: so what they say is
        compared, every time, and nothing is believed because it is the same object.
        """
        packed = json_text.packed(given)
        known = self._longest_packed(packed)
        if known is not None:
            try:
                new, plain = json_text.written(given[len(known.fold) :])
                return Listed(known.grown_by(new), packed if plain else bytearray(), known)
            except InvalidMessage:
                # The whole is refused too, and then with the place where it is wrong.
                pass
        whole, plain = json_text.written(given)
        return Listed(whole, packed if plain else bytearray())

    def _longest_packed(self, packed: bytearray) -> _Known | None:
        best = None
        with self._lock:
            for known in self._known.values():
                longer = best is None or len(known.packed) > len(best.packed)
                if known.packed and longer and packed.startswith(known.packed):
                    best = known
        return best

    def fold(
        self,
        listed: Listed,
        wire: str,
        *,
        policy: Policy,
        limits: Limits,
        counter: Counter,
        summaries: KeptSummaries | None = None,
    ) -> Replayed:
        """The fold of a JSON list of messages."""
        whole, owner = listed.json.rstrip(), "" if summaries is None else summaries.owner
        setup = (wire, policy, limits, counter.id, counter.version, owner)
        known = (
            listed.known if listed.known is not None and listed.known.setup == setup else self._longest(whole, setup)
        )
        if known is None:
            fold, new = Fold(policy, limits, counter), whole
            fold.memory = Archive() if policy.recall_tokens else None
        else:
            fold, new = known.fold.copy(), b"[" + whole[known.length + 1 :]
        messages = read_list(new, wire, first=len(fold)) if new != b"[" else ()
        if known is not None and new != b"[" and not messages:
            # A comma after which nothing comes: read from the start, it is refused as it would have been at first.
            read_list(whole, wire)
        setting = blake2b(f"{wire} {counter.id} {counter.version}".encode(), digest_size=16).digest()
        for message in messages:
            fold.add(message, self._sizes.size(message, counter, setting))
        if summaries is not None and fold.frame.number and (known is None or fold.frame is not known.fold.frame):
            fold.summarized(summaries.choose(fold, whole))
        kept: dict[str, Outgoing] = {} if known is None or messages else known.outgoing
        if messages and not fold.placing.calls_open:
            # With a call open, what is sent next may still change what stands here.
            # Put together once for all requests of this frame, also those of copies.
            fold.digest_text()
            self._remember(_Known(setup, listed, fold.copy(), kept), known)
        return Replayed(fold, known.outgoing if known is not None else {}, kept)

    def _longest(self, listed: bytes, setup: tuple[Any, ...]) -> _Known | None:
        best, found = None, -1
        with self._lock:
            for key, known in self._known.items():
                length = known.length
                longer = best is None or length > best.length
                ends_there = listed[length : length + 1] == b"," or listed[length : length + 2] == b"]"
                if longer and ends_there and known.setup == setup and listed.startswith(known.prefix):
                    best, found = known, key
            if best is not None:
                self._known.move_to_end(found)
        return best

    def _remember(self, known: _Known, grown_from: _Known | None) -> None:
        with self._lock:
            for key in [key for key, other in self._known.items() if other is grown_from]:
                self._memory -= self._known.pop(key).memory
            self._made += 1
            self._known[self._made] = known
            self._memory += known.memory
            while len(self._known) > ENTRIES or self._memory > MEMORY:
                self._memory -= self._known.popitem(last=False)[1].memory


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
