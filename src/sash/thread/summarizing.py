"""A thread's summary, written by a model from its log: what is read for it, and how it is published."""

from __future__ import annotations

from collections.abc import Collection
from threading import Event as Flag

import msgspec

from sash.core.event import Event
from sash.core.fold import Fold
from sash.core.summary import SUMMARY_SHARE, Summary
from sash.errors import Conflict, SummaryRejected, ThreadMoved
from sash.store import Entry, Lease
from sash.summarize import Asked, Evidence, SaidTurn, Summarizer, Words, Written
from sash.summarize.drift import lost_names
from sash.thread.edits import DECIDING, EDITS, edits_of
from sash.thread.log import Log, messages_of
from sash.thread.tail import Tail

ATTEMPTS = 16
"""How often publishing is tried again because somebody said something meanwhile."""
ALL_PASSES = 200
"""For a summary that is written anew: one that ends early would cover less than the one before."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as it was read for a summary."""

    seq: int
    """The newest event that was known."""
    previous: Summary | None
    """The newest revision."""
    end: int
    """Turns before this one are to be covered."""
    cap_tokens: int
    """For what the model writes."""
    live: bool = False
    """Whether it stands beside turns that stay in the window."""

    @property
    def covered(self) -> int:
        """Turns before this one are covered already."""
        return 0 if self.previous is None else self.previous.end


def read_thread(tail: Tail, *, end: int | None = None, live: bool = False) -> Reading:
    """
    What is known of a thread whose turns before `end` are to be covered; left out: those that have left.

    `live`: all that have been answered, also those that stay in the window.
    """
    fold = tail.current().window.fold
    previous = fold.summaries[-1] if fold.summaries else None
    kept = fold.counter.text(previous.kept).value if previous is not None and previous.kept else 0
    newest = max(fold.turns, default=0)
    target = fold.frame.boundary if end is None else min(end, newest)
    if live:
        target = newest + _is_answered(fold)
    return Reading(
        seq=tail.seq,
        previous=previous,
        end=max(target, 0 if previous is None else previous.end),
        cap_tokens=int(fold.limits.summary * SUMMARY_SHARE) - kept,
        live=live,
    )


def _is_answered(fold: Fold) -> bool:
    """Whether the newest turn is over, as far as anybody knows."""
    return fold.placing.after_assistant and not fold.placing.calls_open


def write_summary(
    tail: Tail,
    summarizer: Summarizer,
    reading: Reading,
    *,
    anew: bool = False,
    most_characters: int | None = None,
    cancelled: Flag | None = None,
) -> Summary:
    """
    The next revision of a thread's summary, not published yet.

    Merged with the one before, or `anew` from the turns themselves.
    """
    previous = reading.previous
    if reading.cap_tokens <= 0:
        raise SummaryRejected("the user's own part fills all of its room; raise `summary_tokens`")
    first = 0 if anew else reading.covered
    turns = said_turns(tail.log, range(first, reading.end))
    old = "" if previous is None or anew else previous.text
    asked = Asked(
        turns=turns,
        previous=old,
        cap_tokens=reading.cap_tokens,
        cap_characters=most_characters,
        replaced_tokens=0 if reading.live else sum(turn.tokens for turn in turns) + _tokens(summarizer, old),
        passes=ALL_PASSES if anew else None,
    )
    written = summarizer.summarize(asked, _evidence(tail.log, turns), cancelled=cancelled)
    return _revision(written, reading, anew=anew)


def _tokens(summarizer: Summarizer, text: str) -> int:
    return summarizer.counter.text(text).value if text else 0


def _revision(written: Written, reading: Reading, *, anew: bool) -> Summary:
    previous = reading.previous
    return Summary(
        # Numbers of turns that were rewound stay free, so the end that was asked for may be past the last turn.
        end=reading.end if written.whole else written.end,
        text=written.text,
        kept="" if previous is None else previous.kept,
        parent=0 if previous is None else previous.seq,
        generation=1 if previous is None or anew else previous.generation + 1,
        lost=lost_names(previous.whole, written.text, end=previous.end) if previous is not None and anew else (),
        lines=written.lines,
        removed=len(written.removed),
        model=written.model,
        prompt=written.prompt,
        input_tokens=written.spent.input_tokens,
        output_tokens=written.spent.output_tokens,
    )


def publish(tail: Tail, summary: Summary, reading: Reading, *, lease: Lease | None, at: float | None) -> Summary:
    """
    Adds a revision to the log, unless the thread has become another one since it was read.

    What was said meanwhile does no harm: the summary covers what it covers. A rewind, a redaction
    or another revision does: then it raises `ThreadMoved`, and nothing is published.
    """
    event = Event(kind="summary", body=msgspec.json.encode(summary), text=summary.whole, at=at)
    log = tail.log
    for _ in range(ATTEMPTS):
        fold = tail.current().window.fold
        newest = fold.summaries[-1].seq if fold.summaries else 0
        if newest != summary.parent or any(True for _ in log.events(since=reading.seq, kinds=EDITS)):
            break
        entry = Entry(events=(event,), covered=summary.end)
        try:
            if lease is not None:
                appended = log.store.finish_summary(lease, entry, expected_seq=tail.seq)
            else:
                appended = log.store.append(log.tenant, log.thread, entry, expected_seq=tail.seq)
        except Conflict:
            continue
        return msgspec.structs.replace(summary, seq=appended.last_seq)
    raise ThreadMoved(thread=log.thread)


def said_turns(log: Log, numbers: Collection[int]) -> list[SaidTurn]:
    """The turns with these numbers, without what was rewound."""
    edits = edits_of(log.events(kinds=DECIDING))
    events = [event for event in log.turns(numbers) if not edits.out(event.seq)]
    messages = messages_of(events)
    said: dict[int, list[Event]] = {}
    for event in events:
        said.setdefault(event.turn, []).append(event)
    return [
        SaidTurn(
            number=number,
            messages=tuple(messages[event.seq - 1] for event in found),
            tokens=sum(event.tokens for event in found),
        )
        for number, found in sorted(said.items())
    ]


def _evidence(log: Log, turns: Collection[SaidTurn]) -> Evidence:
    """What was said in a turn; turns that an earlier revision cites are read when they are asked for."""
    known: dict[int, Words | None] = {turn.number: Words(turn) for turn in turns}

    def words(number: int) -> Words | None:
        if number not in known:
            found = said_turns(log, [number])
            known[number] = Words(found[0]) if found else None
        return known[number]

    return words
