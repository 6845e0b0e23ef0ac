"""
Where a handle stands in its thread: what it knows of it, how it catches up, and how it writes.

The store is the truth. What is kept here is thrown away whenever a write fails, and read
again: from the newest checkpoint, so that opening costs what is in the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from sash.core.event import Event, Kind
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.left import Left
from sash.errors import Conflict
from sash.store import Appended, Entry, FrameRow, Key, Posting
from sash.thread.edits import DECIDING, EDITS, Edits, edits_of
from sash.thread.log import Log, messages_of
from sash.thread.recollection import StoredMemory
from sash.thread.replay import Replay
from sash.thread.said import Said
from sash.thread.saved import Saved, read, read_digest, written, written_digest
from sash.window import Setup, Window

CHECKPOINT_EVERY = 16
"""Events after which a checkpoint is written although no frame was made."""
SHARE = 8
"""A window of so many times more messages is written so many times less often: its state costs a share of them."""
LAST = 2**63 - 1
"""Larger than the number of any event."""
ATTEMPTS = 16
"""How often a write is tried again because somebody else was faster."""

MOVES: frozenset[Kind] = frozenset({"message", "rewind", "undo", "redact"})
"""After these a thread says something else than before."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """Events that are about to be written, and what they have led to."""

    events: tuple[Event, ...]
    replay: Replay
    """The thread after them."""
    frames: tuple[tuple[int, Frame], ...] = ()
    """Each with the number of the event that led to it."""
    covered: int | None = None
    postings: tuple[Posting, ...] = ()
    checkpoint: bool = False
    """Whether the state is to be written even without a frame."""


Make = Callable[[Replay, int], Draft]
"""Makes a draft of the newest state and the number of its last event; may change the state."""


class Written(msgspec.Struct, frozen=True):
    """What was written."""

    draft: Draft
    appended: Appended


class Tail:
    """The newest state of a thread that a handle knows of."""

    def __init__(self, log: Log, origin: Callable[[], Setup]) -> None:
        self.log, self.memory = log, StoredMemory(log)
        self.moved = False
        """Somebody else has said something since this handle last did."""
        self.origin = origin
        """Reads the setup that the thread began with."""
        self._replay: Replay | None = None
        self._seq = 0
        self._checkpointed = 0
        self._digested = (-1, 0)
        """The frame whose digest was stored last, and the event after which it was."""
        self._own = 0
        self._foreseen = -1
        """The frame whose successor was looked for."""

    @property
    def seq(self) -> int:
        """The newest event that is known."""
        return self._seq

    def current(self) -> Replay:
        """The thread as it stands now, with what others have written since."""
        replay = self._replay
        if replay is None:
            return self._load()
        last = self.log.store.last_seq(self.log.tenant, self.log.thread)
        if last == self._seq:
            return replay
        news = list(self.log.events(since=self._seq, until=last))
        self._note(news)
        if any(event.kind in EDITS for event in news):
            return self._load()
        self._replay = None
        self._seq = _applied(replay, news, edits_of(news), self._seq)
        self._replay = replay
        return replay

    def forget(self) -> None:
        """What is known may not be what is stored: it is read again when it is needed."""
        self._replay = None

    def folded(
        self, *, until: int | None = None, then: Event | None = None, anew: bool = False
    ) -> tuple[Replay, Frame | None]:
        """
        The thread folded up to some event, and the frame that one more event would lead to.

        Goes on from the newest checkpoint that nothing has changed since; with `anew` from the first event on.
        """
        deciding = [*self.log.events(until=until, kinds=DECIDING), *([then] if then is not None else [])]
        edits = edits_of(deciding)
        near = None if anew else self._nearest(LAST if until is None else until, deciding, edits)
        seq, replay = near or (0, Replay(Window(self.origin()), self._turn, self.memory))
        replay.edits = edits
        numbers = self.log.numbered()
        for event in self.log.events(since=seq, until=until):
            if edits.stands(event):
                replay.apply(event, edits)
            replay.window.fold.number_from(numbers.get(event.seq, 0))
        frame = None if then is None else replay.apply(then, edits)
        replay.edits = None
        return replay, frame

    def _turn(self, number: int, until: int, edits: Edits | None) -> list[Event]:
        """The messages of a turn that stand, up to some event."""
        if edits is None:
            edits = edits_of(self.log.events(until=until, kinds=DECIDING))
        return [event for event in self.log.turn(number) if event.seq <= until and edits.stands(event)]

    def refolded(self, event: Event) -> Draft:
        """A draft of an event after which the log is not simply longer."""
        replay, frame = self.folded(until=event.seq - 1, then=event)
        assert frame is not None
        standing = replay.window.fold.summaries
        covered = standing[-1].end if standing else 0
        return Draft(events=(event,), replay=replay, frames=((event.seq, frame),), covered=covered)

    def _nearest(self, until: int, deciding: list[Event], edits: Edits) -> tuple[int, Replay] | None:
        """The newest checkpoint up to an event that is still what folding gives, and the thread as it stood there."""
        for thread, seq in self.log.checkpoints(until=until):
            if edits.upto(seq) == edits_of(event for event in deciding if event.seq <= seq):
                saved = read(self.log.store.checkpoint(self.log.tenant, thread, seq))
                replay = None if saved is None else self._from(saved, thread, seq)
                if replay is not None:
                    return seq, replay
        return None

    def _load(self) -> Replay:
        known = self._seq
        head = self.log.store.head(self.log.tenant, self.log.thread)
        if known and head.last_seq > known:
            self._note(self.log.events(since=known, until=head.last_seq, kinds=MOVES))
        saved = read(head.checkpoint)
        replay = None if saved is None else self._resumed(saved, head.checkpoint_seq, head.last_seq)
        self._digested = (-1, 0)
        if replay is not None and saved is not None:
            self._digested = saved.checkpoint.fold.frame.number, saved.digest_seq
        if replay is None:
            replay, _ = self.folded(until=head.last_seq)
            if head.frame is not None:
                # Numbers are never given again, also where folding again makes fewer frames than were made once.
                replay.window.fold.number_from(head.frame.number)
        self._replay, self._seq = replay, head.last_seq
        self._own = self._own or head.last_seq
        self._checkpointed = head.checkpoint_seq
        return replay

    def _resumed(self, saved: Saved, seq: int, last: int) -> Replay | None:
        """The thread from a checkpoint on; None where that is no help."""
        news = list(self.log.events(since=seq, until=last)) if last > seq else []
        if any(event.kind in EDITS for event in news):
            return None
        replay = self._from(saved, self.log.thread, seq)
        if replay is not None:
            _applied(replay, news, edits_of(news), seq)
        return replay

    def _from(self, saved: Saved, thread: int, seq: int) -> Replay | None:
        """The thread as it stood at a checkpoint; None where it was counted in another way than it would be now."""
        replay = Replay.resumed(saved, Said(self.log, saved.seal), self._turn, self.memory)
        if replay.counted_by() != saved.checkpoint.counter:
            return None
        replay.window.fold.left = Left(lambda: self._digest(thread, saved.digest_seq, seq))
        return replay

    def _digest(self, thread: int, written_after: int, seq: int) -> msgspec.Raw:
        """The digest of what had left at a checkpoint; folded again, where others have gone on and dropped it since."""
        stored = read_digest(self.log.store.checkpoint_rest(self.log.tenant, thread, written_after))
        return self.folded(until=seq, anew=True)[0].window.fold.left.written() if stored is None else stored

    def _note(self, news: Iterable[Event]) -> None:
        self.moved = self.moved or any(event.kind in MOVES for event in news)

    def write(self, make: Make, *, allowed: Callable[[Replay], bool] | None = None, key: Key | None = None) -> Written:
        """
        Writes what a function makes of the newest state; again, if somebody else was faster.

        `allowed` says whether it may be written although others have said something since
        this handle last did; else that is a `Conflict`.
        """
        for _ in range(ATTEMPTS):
            replay, seq = self.current(), self._seq
            if self.moved and allowed is not None and not allowed(replay):
                self.moved, own = False, self._own
                self._own = seq
                raise Conflict(thread=self.log.thread, expected_seq=own, last_seq=seq)
            # From here on the state runs ahead of what is stored.
            self._replay = None
            try:
                draft = make(replay, seq)
                entry = self._entry(draft, seq)
                appended = self._append(entry, seq, key)
            finally:
                self.memory.clear()
            if appended is None:
                continue
            self.moved = False
            if not appended.repeated:
                self._replay, self._seq = draft.replay, appended.last_seq
                self._own = appended.last_seq
                if entry.checkpoint is not None:
                    self._checkpointed = appended.last_seq
                    if entry.rest is not None:
                        self._digested = draft.replay.window.frame.number, appended.last_seq
                self._foreseen = self._foreseen if entry.ahead is None else draft.replay.window.frame.number
            return Written(draft, appended)
        raise Conflict(thread=self.log.thread, expected_seq=self._seq, last_seq=self._seq)

    def _append(self, entry: Entry, seq: int, key: Key | None) -> Appended | None:
        """Stores an entry; None where somebody else was faster."""
        try:
            return self.log.store.append(self.log.tenant, self.log.thread, entry, expected_seq=seq, key=key)
        except Conflict:
            return None

    def _entry(self, draft: Draft, seq: int) -> Entry:
        replay = draft.replay
        frames = tuple(
            FrameRow(number=frame.number, after_seq=after, body=msgspec.json.encode(frame))
            for after, frame in draft.frames
        )
        last = seq + len(draft.events)
        body, rest = self._state(replay, last) if self._is_due(draft, last) else (None, None)
        return Entry(
            events=draft.events,
            frames=frames,
            checkpoint=body,
            rest=rest,
            postings=draft.postings,
            covered=draft.covered,
            ahead=self._ahead(replay.window.fold),
        )

    def _is_due(self, draft: Draft, last: int) -> bool:
        """Whether the state is written: with each frame, and now and then between, so that little is folded again."""
        if draft.frames or draft.checkpoint:
            return True
        since, fold = last - self._checkpointed, draft.replay.window.fold
        if since < CHECKPOINT_EVERY or since * SHARE < sum(map(len, fold.turns.values())):
            return False
        # A request that could not be sent as it stands is put together anew: rather a little later.
        return not fold.placing.calls_open or since >= 2 * CHECKPOINT_EVERY

    def _state(self, replay: Replay, last: int) -> tuple[bytes, bytes | None]:
        """The state, and the digest where it is not stored already: it is the same until the next frame."""
        number, written_after = self._digested
        anew = number != replay.window.frame.number
        checkpoint, seal = replay.checkpoint(digest=anew), replay.window.seal()
        body = written(checkpoint, seal, digest_seq=last if anew else written_after)
        return body, written_digest(checkpoint.fold.digest) if anew else None

    def _ahead(self, fold: Fold) -> int | None:
        """
        Above the soft mark, the first turn that the next slide would keep, 0 where it would evict none; else None.

        Stored with what crossed the mark, so that whoever writes summaries finds it due, in whatever
        process. Looked for once for each frame: planning a slide costs what is in the window.
        """
        near = fold.taken > fold.limits.soft and not fold.placing.calls_open
        if not near or fold.frame.number == self._foreseen:
            return None
        planned = fold.plan("high mark")
        return planned.frame.boundary if planned is not None and planned.frame.boundary > fold.frame.boundary else 0


def drafted(replay: Replay, event: Event) -> Draft:
    """A draft of one event that says more than was said before it."""
    frame = replay.apply(event)
    return Draft(events=(event,), replay=replay, frames=() if frame is None else ((event.seq, frame),))


def _applied(replay: Replay, events: Iterable[Event], edits: Edits, seq: int) -> int:
    messages = messages_of(events := list(events))
    for event in events:
        replay.apply(event, edits, message=messages.get(event.seq - 1))
        seq = event.seq
    return seq
