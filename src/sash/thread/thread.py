"""A thread: one conversation that lasts. The handle users hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from threading import Event as Flag
from types import TracebackType
from typing import Literal, Protocol, get_args

import msgspec

from sash.arguments import MOMENT, SOURCES, SWITCH, TEXT, WHOLE, having, one_of, takes
from sash.core.commands import compact_mark, compacts
from sash.core.facts import Fact
from sash.core.fold import BeforeSlide
from sash.core.frame import Frame, Reason
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.core.summary import Summary
from sash.core.tokens import TokenCount
from sash.core.turn import wrote
from sash.errors import InvalidMessage, NotFound
from sash.store import Key, Store, ThreadRow
from sash.summarize import Summarizer
from sash.thread.acts import (
    NO_CHANGE,
    Change,
    Compacted,
    Remembered,
    change_of,
    event_of,
)
from sash.thread.forking import forked
from sash.thread.keeping import forgotten, remembered
from sash.thread.log import Log, message_of
from sash.thread.marks import marked, rewound
from sash.thread.origin import Origin, log_of, origin_of
from sash.thread.pins import pinned, unpinned
from sash.thread.reading import Reading
from sash.thread.redaction import empty_facts, empty_summaries, retold, tombstone
from sash.thread.replay import Replay
from sash.thread.revisions import edited, reverted
from sash.thread.saying import Appended, Spoken, is_over, key_of, read_messages, said
from sash.thread.summarizing import publish, read_thread, write_summary
from sash.thread.tail import Draft, Make, Tail, Written, drafted
from sash.thread.taking import Taken, take
from sash.thread.tools import Answering, call_of
from sash.thread.undoing import undone
from sash.thread.usage import overflowed, refusal_in, report_of, tokens_read
from sash.window import OnFrame, announce


class Summaries(Protocol):
    """Whoever writes summaries beside a thread."""

    def wake(self) -> None: ...
    def stop(self) -> None: ...


class Thread(Reading):
    """
    One conversation: a log that nothing is lost from, and the window on it.

    `append` decides, `request` only reads. Everything is stored before a call returns. May be
    used from several threads at once; other processes may hold the same thread.
    """

    def __init__(
        self, log: Log, origin: Origin, *, name: str, wire: str, owned: bool = False, last_seq: int = 0
    ) -> None:
        super().__init__(log, origin, name=name, wire=wire)
        self._owned, self._last_seq = owned, last_seq
        self.on_frame: OnFrame | None = None
        """Is told of each frame once it is stored. An error of its own is logged, and nothing else."""
        self.before_slide: BeforeSlide | None = None
        """Is shown a slide that could wait before it is made, and holds it by answering False; None lets it be made."""
        self.worker: Summaries | None = None
        """Writes summaries beside it, where a summarizer was given."""

    def __repr__(self) -> str:
        # What is known without reading: whoever is shown a handle has not asked for anything yet.
        return f"<Thread {self.name!r}, {max(self._tail.seq, self._last_seq)} events>"

    def __enter__(self) -> Thread:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store, where it was opened for this thread alone, and of whoever writes its summaries."""
        if self.worker is not None:
            self.worker.stop()
        if self._owned:
            self.store.close()

    # What is said.

    @takes(wire=TEXT, at=MOMENT, key=TEXT)
    def append(
        self, message_or_messages: object, *, wire: str | None = None, at: float | None = None, key: str | None = None
    ) -> Appended:
        """
        Adds one message or several, as their provider writes them, and slides the window where it must.

        Never fails for size. `at` is when it was said, in seconds since 1970. With a `key` it is
        safe to send twice. Raises `Conflict` when somebody else has moved the thread on.
        """
        messages = read_messages(message_or_messages, wire or self.wire)
        once = None if key is None else key_of(key, messages)

        def make(replay: Replay, seq: int) -> Draft:
            return said(replay, seq, [Spoken(message, at) for message in messages], veto=self.before_slide)

        def allowed(replay: Replay) -> bool:
            # A new turn may follow what somebody else said, unless they are in the middle of it.
            return wrote(messages[0]) and is_over(replay)

        with self._lock:
            if once is not None and (known := self.store.appended(self.tenant, self.id, once)) is not None:
                return self._repeated(known.first_seq, known.last_seq)
            written = self._write(make, allowed=allowed, key=once)
            if written.appended.repeated:
                return self._repeated(written.appended.first_seq, written.appended.last_seq)
            frames = written.draft.frames
            turns = [event.turn for event in written.draft.events if event.kind == "message"]
            return Appended(
                seq=written.appended.last_seq,
                first_seq=written.appended.first_seq,
                turn=turns[-1],
                frame=frames[-1][1] if frames else None,
            )

    def take(self, session: Iterable[Spoken]) -> Taken:
        """Adds what a session says beyond what is here: all or nothing; safe to do twice, or when it has grown."""
        with self._lock:
            return take(self._tail, self._write, self.name, tuple(session), veto=self.before_slide)

    def _repeated(self, first: int, last: int) -> Appended:
        said = [event for event in self._log.events(since=first - 1, until=last) if event.kind == "message"]
        return Appended(seq=last, first_seq=first, turn=said[-1].turn, repeated=True)

    @takes(wire=TEXT)
    def record_usage(self, usage: object, *, wire: str | None = None) -> TokenCount:
        """
        What the provider says the last request took: from now on counts follow it.

        Takes the response's `usage`. Gives what history takes now, as it is counted from here on.
        """
        read = tokens_read(usage, wire or self.wire)

        def make(replay: Replay, seq: int) -> Draft:
            return drafted(replay, event_of("usage", report_of(replay.window, read), seq=seq + 1))

        with self._lock:
            return self._write(make).draft.replay.window.fold.total

    def record_overflow(self, complaint: object) -> Frame | None:
        """
        The provider refused the last request as too long: learns from it, and slides, so that the next one fits.

        Takes the error, or its words. What the model takes, where it was told, is remembered until
        the model or the policy's window changes. Gives the frame that this leads to.
        """
        refusal = refusal_in(complaint)
        with self._lock:
            return _newest(self._write(lambda replay, seq: overflowed(replay, seq, refusal)))

    # Commands.

    @takes(dry_run=SWITCH, reason=one_of(*get_args(Reason)))
    def compact(self, *, dry_run: bool = False, reason: Reason = "compact") -> Frame | None:
        """
        Slides now. With `dry_run` the frame that this would make; None where nothing would change.

        `overflow` is the reason where the provider has refused the request as too long.
        """

        def make(replay: Replay, seq: int) -> Draft:
            return drafted(replay, event_of("compact", Compacted(reason), seq=seq + 1))

        with self._lock:
            fold = self._tail.current().window.fold
            if dry_run:
                planned = fold.plan("compact", low=compact_mark(fold))
                return None if planned is None else planned.frame
            # What changes nothing is not written down: what came before it could be undone, and it would then slide.
            return _newest(self._write(make)) if compacts(fold) else None

    def undo(self) -> Frame:
        """Takes back the newest slide, compact, rewind, pin, unpin, forget or summary of the user's."""
        with self._lock:
            return _frame(self._write(lambda replay, seq: undone(replay, seq, self._tail, self.name)))

    @takes(turn=WHOLE)
    def pin(self, turn: int) -> Frame | None:
        """Keeps a turn in the window; one that had left comes back. `PinsFull` beyond `pin_tokens`."""
        with self._lock:
            if turn in self._tail.current().window.fold.pinned:
                return None
            return _newest(self._write(lambda replay, seq: pinned(replay, seq, turn, self._log)))

    @takes(turn=WHOLE)
    def unpin(self, turn: int) -> Frame | None:
        """Lets a turn leave again; one that only its pin has kept leaves at once."""
        with self._lock:
            return _newest(self._write(lambda replay, seq: unpinned(replay, seq, turn)))

    @takes(label=TEXT)
    def mark(self, label: str = "") -> int:
        """Marks this place, so that `rewind` can come back to it. Gives the number of the event."""
        with self._lock:
            return self._write(lambda replay, seq: marked(replay, seq, label)).appended.last_seq

    @takes(label=TEXT)
    def rewind(self, label: str | None = None) -> Frame:
        """
        Goes back to the newest mark, or the newest one with that label; the mark stays.

        What was said since leaves the window for good, unless that is undone; the log keeps it. A
        mark inside a step goes back to where that step began.
        """
        with self._lock:
            return _frame(self._write(lambda replay, seq: rewound(replay, seq, self._tail, label)))

    @takes(name=TEXT, at=WHOLE)
    def fork(self, name: str | None = None, *, at: int | None = None) -> Thread:
        """
        A new thread that goes on from here, or from right after some event; both then go their own ways.

        The past is shared and not copied. The new thread has the frame, the facts and the pins of that place.
        """
        with self._lock:
            self._tail.current()
            place = self._tail.seq if at is None else at
            row = forked(self._tail, self._origin, name or self._free_name(place), at=place)
        return handle_on(self.store, row, wire=self.wire)

    def _free_name(self, at: int) -> str:
        names = (f"{self.name}@{at}{f'.{number}' if number else ''}" for number in count())
        return next(name for name in names if self.store.find(self.tenant, name) is None)

    @takes(model=TEXT, sources=SOURCES)
    def configure(
        self,
        *,
        model: str | None = None,
        policy: Policy | None = None,
        system: object = None,
        tools: object = None,
        sources: Sequence[Source] | None = None,
    ) -> Frame | None:
        """
        Changes what is given and leaves the rest as it is stored.

        Another model counts its own way; a smaller window slides, a larger one brings nothing back.
        """
        change = change_of(self.wire, model=model, policy=policy, system=system, tools=tools, sources=sources)
        return self.apply_change(change)

    def apply_change(self, change: Change) -> Frame | None:
        """Goes on with another setup, where it is another one."""

        def make(replay: Replay, seq: int) -> Draft:
            recalled = replay.window.setup.policy.recall_tokens
            draft = drafted(replay, event_of("configure", change, seq=seq + 1))
            if replay.window.setup.policy.recall_tokens and not recalled:
                # What was said so far can be found from now on too.
                draft = msgspec.structs.replace(draft, postings=replay.memory.missing())
            return draft

        with self._lock:
            setup = self._tail.current().window.setup
            if change == NO_CHANGE:
                return None
            changed = change.of(setup)
            if changed == setup:
                return None
            changed.choice()
            return _newest(self._write(make))

    # What is kept apart, and what a model asks for.

    @takes(text=TEXT, by=one_of("user", "model"), turn=WHOLE)
    def remember(self, text: str, *, by: Literal["user", "model"] = "user", turn: int | None = None) -> Fact:
        """
        Keeps a statement apart from the history, where no slide takes it away.

        What a model says it has read (`by="model"`) is marked so, and takes the place of nothing that the
        user said. `turn` is where it came from; left out, the newest. `FactsFull` beyond `facts_tokens`.
        """
        if not text.strip():
            raise InvalidMessage("a fact has no words; say what is to be remembered", field="text")
        with self._lock:
            written = self._write(lambda replay, seq: remembered(replay, seq, Remembered(text, by), turn))
            return written.draft.replay.window.fold.facts[-1]

    @takes(text=TEXT)
    def forget(self, text: str) -> Frame | None:
        """
        Takes a fact back: the one with these words, or the only one that begins with them.

        It is told no more, which is a frame where it stood at the head of the window; the log keeps it, and
        `undo` takes that frame back.
        """
        if not text.strip():
            raise InvalidMessage("a fact has words; say which is to be forgotten", field="text")
        with self._lock:
            return _newest(self._write(lambda replay, seq: forgotten(replay, seq, text)))

    @takes(wire=TEXT)
    def answer(self, call: object, *, wire: str | None = None) -> str | None:
        """
        The answer to a model's call of one of `sash.tools`; None where the tool is somebody else's.

        Takes the call as the response holds it. What the model asked wrongly is an answer that says so.
        """
        return Answering(self).answer(call_of(call, wire or self.wire))

    # What stands for the turns that left.

    def retry_summary(self) -> None:
        """A summary that waits for its next attempt, or was given up, is tried again at once, as often as a new one."""
        self.store.retry_summary(self.tenant, self.id)
        if self.worker is not None:
            self.worker.wake()

    @takes(
        summarizer=having("a sash.Summarizer", "summarize", kind=Summarizer),
        anew=SWITCH,
        live=SWITCH,
        most_characters=WHOLE,
        at=MOMENT,
    )
    def summarize(
        self,
        summarizer: Summarizer,
        *,
        anew: bool = False,
        live: bool = False,
        most_characters: int | None = None,
        cancelled: Flag | None = None,
        at: float | None = None,
    ) -> Summary:
        """
        Asks for a summary of what has left now, and waits for it; with `anew` from the turns themselves.

        `live`: of all that was answered, also of what stays in the window, for a `flat` prompt. Raises
        `ProviderError` or `SummaryRejected`, and then everything is as it was. The summary enters with the
        next frame; `compact` makes one. Setting `cancelled` in another thread ends it with `CancelledError`.
        """
        tail = Tail(self._log, self._tail.origin)
        reading = read_thread(tail, live=live)
        summary = write_summary(
            tail, summarizer, reading, anew=anew, most_characters=most_characters, cancelled=cancelled
        )
        return publish(tail, summary, reading, lease=None, at=at)

    @takes(text=TEXT)
    def edit_summary(self, text: str) -> Frame:
        """The user's own words take the place of the summary; no model changes them later."""
        with self._lock:
            return _frame(self._write(lambda replay, seq: edited(replay, seq, text)))

    @takes(revision=WHOLE)
    def revert_summary(self, revision: int) -> Frame:
        """An older revision of the summary is in force again."""
        with self._lock:
            return _frame(self._write(lambda replay, seq: reverted(replay, seq, revision, self._log)))

    def delete(self) -> None:
        """
        Removes the thread with all that belongs to it, also what a search would find. Nothing brings it back.

        What forks of it begin with stays with them.
        """
        with self._lock:
            self.store.delete(self.tenant, self.id)

    @takes(seq=WHOLE)
    def redact(self, seq: int) -> Frame:
        """
        Removes the words of a message for good: a tombstone stays, and what derives from them is made anew.

        Here and in every fork that shares the message. Its number, role and calls stay, so that
        the rest stands.
        """
        with self._lock:
            self._tail.current()
            event = self._log.event(seq)
            if event.kind != "message":
                raise NotFound("message", seq)
            self._log.redact(event, tombstone(message_of(event)))
            frame = self._retold(seq, event.turn)
            for other in self._log.others_with(seq):
                with suppress(NotFound):
                    kin = handle_on(self.store, self.store.thread(self.tenant, other), wire=self.wire)
                    kin._retold(seq, event.turn)  # noqa: SLF001  # its own kind
            return frame

    def _retold(self, seq: int, turn: int) -> Frame:
        empty_facts(self._log, turn)
        empty_summaries(self._log, turn)
        self._tail.forget()
        return _frame(self._write(lambda replay, last: retold(replay, last, seq, self._tail)))

    # How it is done.

    def _write(self, make: Make, *, allowed: Callable[[Replay], bool] | None = None, key: Key | None = None) -> Written:
        written = self._tail.write(make, allowed=allowed, key=key)
        for _, frame in written.draft.frames if not written.appended.repeated else ():
            announce(frame, self.on_frame, thread=self.name)
        if self.worker is not None:
            self.worker.wake()
        return written


def handle_on(store: Store, row: ThreadRow, *, wire: str, owned: bool = False) -> Thread:
    """A handle on a stored thread."""
    origin = origin_of(store, row)
    log = log_of(store, row, origin)
    return Thread(log, origin, name=row.name, wire=wire, owned=owned, last_seq=row.last_seq)


def _newest(written: Written) -> Frame | None:
    return written.draft.frames[-1][1] if written.draft.frames else None


def _frame(written: Written) -> Frame:
    return written.draft.frames[-1][1]
