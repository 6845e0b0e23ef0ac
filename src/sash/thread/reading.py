"""What can be asked of a thread. Nothing here changes it."""

from __future__ import annotations

from threading import RLock
from typing import Any, get_args

import msgspec

from sash.arguments import LINES, TEXT, WHOLE, one_of, takes
from sash.core.event import Event
from sash.core.explanation import ExplainedTurn, Explanation
from sash.core.facts import Fact
from sash.core.frame import Frame
from sash.core.pressure import Pressure
from sash.core.summary import Summary
from sash.errors import NotFound
from sash.store import Found, Matching, Trouble
from sash.thread.edits import DECIDING, edits_of
from sash.thread.handles import block_of
from sash.thread.log import Log
from sash.thread.marks import Mark, marks_of
from sash.thread.origin import Origin
from sash.thread.past import past_of
from sash.thread.replay import Replay
from sash.thread.revisions import revisions_of
from sash.thread.tail import Tail
from sash.thread.verification import Verification, verified
from sash.window import Context, Prepared, Setup, Window, excerpt, text_of


class Reading:
    """A thread as it can be asked: what is sent, what there is to know, and what is found again."""

    def __init__(self, log: Log, origin: Origin, *, name: str, wire: str) -> None:
        self.name, self.tenant, self.wire = name, log.tenant, wire
        self.store = log.store
        self._log, self._origin = log, origin
        self._tail = Tail(log, origin.first_setup)
        self._lock = RLock()

    @property
    def tail(self) -> Tail:
        """Where this handle stands in its log, for what is built on threads."""
        return self._tail

    @property
    def id(self) -> int:
        """The store's number for it."""
        return self._log.thread

    @property
    def seq(self) -> int:
        """Number of its newest event."""
        with self._lock:
            self._tail.current()
            return self._tail.seq

    @property
    def setup(self) -> Setup:
        """The model, the policy and what stands beside the conversation."""
        with self._lock:
            return self._tail.current().window.setup

    @property
    def window(self) -> Window:
        """The window as it stands: a copy, so that what is done to it does nothing to the thread."""
        with self._lock:
            return self._tail.current().window.copy()

    @takes(wire=TEXT, at=WHOLE)
    def prepared(self, *, wire: str | None = None, at: int | None = None) -> Prepared:
        """The request with its exact bytes, its tokens, and the reason for everything in it."""
        with self._lock:
            return self._at(at).window.prepared(wire or self.wire)

    def request(self, *, wire: str | None = None, at: int | None = None) -> dict[str, Any]:
        """
        What to splat into the provider's SDK beside model and settings.

        Only reads. With `at` the request as it was right after that event. Raises
        `WindowOverflow` when what may not be left out is already too large.
        """
        return self.prepared(wire=wire, at=at).request

    def _at(self, seq: int | None) -> Replay:
        replay = self._tail.current()
        if seq is None or seq == self._tail.seq:
            return replay
        if not 0 <= seq < self._tail.seq:
            raise NotFound("event", seq)
        return self._tail.folded(until=seq)[0]

    def context(self) -> Context:
        """Where the tokens of the next request go."""
        with self._lock:
            return self._tail.current().window.context()

    def pressure(self) -> Pressure:
        """How full the window is."""
        return self.context().pressure

    @takes(before=WHOLE, limit=WHOLE)
    def turns(self, *, before: int | None = None, limit: int | None = None) -> tuple[ExplainedTurn, ...]:
        """
        The turns, oldest first: in the window, evicted or rewound, and why.

        All of them, which takes reading the whole log; or those `before` some number, or the last `limit` of these.
        """
        with self._lock:
            window = self._tail.current().window
            fold = window.fold
            end = fold.placing.taken + 1 if before is None else max(0, min(before, fold.placing.taken + 1))
            asked = range(0 if limit is None else max(0, end - limit), end)
            whole = before is None and limit is None
            turns = window.turns(past=past_of(self._log, fold, None if whole else asked), stored=True)
            return turns if whole else tuple(turn for turn in turns if turn.number in asked)

    def explain(self) -> Explanation:
        """Of every turn, result and frame: what became of it, by which rule, and how to get it back."""
        with self._lock:
            window = self._tail.current().window
            explained = window.explain(past=past_of(self._log, window.fold), stored=True)
        trouble = self.trouble()
        return msgspec.structs.replace(explained, trouble="" if trouble is None else trouble.told())

    def frames(self) -> tuple[Frame, ...]:
        """All frames, oldest first."""
        return tuple(frame for _, frame in self._log.frames())

    @takes(since=WHOLE, until=WHOLE)
    def events(self, *, since: int = 0, until: int | None = None) -> tuple[Event, ...]:
        """The log itself, between two events."""
        return tuple(self._log.events(since=since, until=until))

    @takes(turn=WHOLE)
    def said(self, turn: int) -> tuple[Event, ...]:
        """The messages of a turn, also of one that has left the window."""
        return tuple(self._log.turn(turn))

    def standing(self) -> tuple[Event, ...]:
        """The log without what was rewound."""
        with self._lock:
            edits = edits_of(self._log.events(kinds=DECIDING))
            return tuple(event for event in self._log.events() if edits.stands(event))

    def marks(self) -> tuple[Mark, ...]:
        """The marks that can be gone back to, oldest first."""
        return marks_of(self._log)

    def facts(self) -> tuple[Fact, ...]:
        """The statements that are kept apart and stand: given, or found in what the user wrote."""
        with self._lock:
            return tuple(fact for fact in self._tail.current().window.fold.facts if not fact.superseded_by)

    def summaries(self) -> tuple[Summary, ...]:
        """The revisions of its summary, oldest first: who wrote each, what it covers, and what it lost on the way."""
        return revisions_of(self._log)

    def trouble(self) -> Trouble | None:
        """How the last attempt at a summary failed; None where none did, or one has gone well since."""
        return next((found for found in self.store.troubles(self.tenant) if found.thread == self.id), None)

    @takes(handle=TEXT, lines=LINES, grep=TEXT)
    def expand(self, handle: str, *, lines: tuple[int, int] | None = None, grep: str | None = None) -> str:
        """The whole of a shortened block, or some of its lines: by number, or by a pattern."""
        return excerpt(text_of(block_of(handle, self._log)), lines=lines, grep=grep)

    @takes(text=TEXT, limit=WHOLE, match=one_of(*get_args(Matching)))
    def search(self, text: str, *, limit: int = 20, match: Matching = "all") -> tuple[Found, ...]:
        """The messages that hold a text, newest first. Nothing in it has a special meaning."""
        edits = edits_of(self._log.events(kinds=DECIDING))
        found = self._log.search(text, limit=limit, match=match)
        return tuple(msgspec.structs.replace(one, rewound=edits.out(one.seq)) for one in found)

    def verify(self) -> Verification:
        """Folds the log again, from its first event on, and compares all that was derived from it."""
        with self._lock:
            return verified(self._tail, redacted=self._origin.redacted)
