"""
Folding a history that comes whole with every call, without folding it anew each time.

A client sends all of its history again and again, each time a little longer. What was
folded before is found by comparing bytes, which is several times faster than hashing
them, and only what is new is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any

import msgspec

from sash.core.fold import Fold
from sash.core.limits import Limits
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.recall import Archive
from sash.core.size import Size, size_of
from sash.core.summary import Summary
from sash.core.tokens import Counter
from sash.errors import InvalidMessage
from sash.window.outgoing import Outgoing
from sash.wire import json_text, read_list, refuse_strangers

ENTRIES = 64
MEMORY = 256_000_000
"""Bytes of histories that are remembered at the most."""
PIECES = 64
"""In so many pieces a list that grows is kept before they are put together."""


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
        before, last = (listed.before, listed.last) if len(listed.before) < PIECES else ((), listed.json)
        end = last.rindex(b"]")
        while last[end - 1 : end].isspace():
            end -= 1
        self.pieces: tuple[memoryview, ...] = (*before, memoryview(last)[:end])
        """Its list of messages, without the closing bracket."""
        self.length = sum(map(len, self.pieces))
        self.memory = self.length + len(self.packed)

    def begins(self, listed: bytes) -> bool:
        """Whether another list begins with this one."""
        after = listed[self.length : self.length + 2]
        if after[:1] != b"," and after != b"]":
            return False
        at = 0
        for piece in self.pieces:
            if not listed.startswith(piece, at):
                return False
            at += len(piece)
        return True


class Listed:
    """A history as a JSON list."""

    def __init__(self, json: bytes, packed: bytearray | None = None, known: _Known | None = None) -> None:
        self.known = known
        """What it grew from, where that is certain: then only what is new was written."""
        self.packed = bytearray() if packed is None else packed
        """The same in the form that objects are compared in, where it came as objects."""
        self._new = json
        self.before: tuple[memoryview, ...] = () if known is None else known.pieces
        self.last: bytes = json
        if known is not None:
            # Before nothing stands no comma.
            self.last = b"," + json[1:] if len(json) > 2 else b"]"

    @cached_property
    def json(self) -> bytes:
        """All of it."""
        return b"".join((*self.before, self.last))

    def since(self, known: _Known) -> bytes:
        """What comes after the history that it grew from, as a list that is not opened where nothing does."""
        if known is self.known:
            return self._new if len(self._new) > 2 else b"["
        return b"[" + self.json.rstrip()[known.length + 1 :]


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
                return Listed(new, packed if plain else None, known)
            except InvalidMessage:
                # The whole is refused too, and then with the place where it is wrong.
                pass
        whole, plain = json_text.written(given)
        return Listed(whole, packed if plain else None)

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
        owner = "" if summaries is None else summaries.owner
        setup = (wire, policy, limits, counter.id, counter.version, owner)
        known = listed.known
        if known is None or known.setup != setup:
            known = self._longest(listed.json.rstrip(), setup)
        if known is None:
            fold, new = Fold(policy, limits, counter), listed.json.rstrip()
            fold.memory = Archive() if policy.recall_tokens else None
        else:
            fold, new = known.fold.copy(), listed.since(known)
        messages = read_list(new, wire, first=len(fold)) if new != b"[" else ()
        if known is not None and new != b"[" and not messages:
            # A comma after which nothing comes: read from the start, it is refused as it would have been at first.
            read_list(listed.json.rstrip(), wire)
        refuse_strangers(messages, wire, first=len(fold))
        setting = hash((wire, counter.id, counter.version))
        for message, size in zip(messages, self._sizes.of(messages, counter, setting), strict=True):
            fold.add(message, size)
        if summaries is not None and fold.frame.number and (known is None or fold.frame is not known.fold.frame):
            fold.summarized(summaries.choose(fold, listed.json.rstrip()))
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
                longer = best is None or known.length > best.length
                if longer and known.setup == setup and known.begins(listed):
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
        self._young: dict[int, Size] = {}
        self._old: dict[int, Size] = {}
        self._lock = Lock()

    def of(self, messages: Sequence[Message], counter: Counter, setting: int) -> list[Size]:
        """The size of each message, counted now or remembered."""
        # A hash, never the words: what is remembered must stay small, and nobody's business. Python's own is keyed
        # anew in each process, takes half as long as the counting and has 64 bits; the length is compared as well.
        sizes: list[Size] = []
        new: dict[int, Size] = {}
        young, old = self._young, self._old
        for message in messages:
            source = message.source
            key = hash(source) ^ setting
            size = young.get(key) or old.get(key)
            if size is None or size.body != len(source):
                size = new[key] = size_of(message, counter)
            sizes.append(size)
        self._keep(new)
        return sizes

    def _keep(self, new: dict[int, Size]) -> None:
        with self._lock:
            # Two generations: to forget one by one from the front of a dict takes longer with each.
            if len(self._young) + len(new) > self._most:
                self._young, self._old = dict(islice(new.items(), self._most)), self._young
            else:
                self._young.update(new)


REPLAYS = Replays()
"""The process's own."""
