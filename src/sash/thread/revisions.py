"""The revisions of a thread's summary, and what the user does to them."""

from __future__ import annotations

import msgspec

from sash.core.summary import SUMMARY_SHARE, Summary
from sash.errors import NotFound, SummaryRejected
from sash.thread.acts import act_of, event_of
from sash.thread.edits import DECIDING, edits_of
from sash.thread.log import Log
from sash.thread.replay import Replay
from sash.thread.tail import Draft


def revisions_of(log: Log) -> tuple[Summary, ...]:
    """All revisions that stand, oldest first; of those that were redacted nothing is left to show."""
    edits = edits_of(log.events(kinds=DECIDING))
    found = [
        msgspec.structs.replace(act_of(event, Summary), seq=event.seq)
        for event in log.events(kinds={"summary"})
        if not edits.out(event.seq) and event.seq not in edits.undone
    ]
    return tuple(summary for summary in found if summary.whole)


def edited(replay: Replay, seq: int, text: str) -> Draft:
    """The user's own words take the place of the summary, and stand before whatever a model writes later."""
    fold = replay.window.fold
    text = text.strip()
    if not text:
        raise SummaryRejected("it is empty; to go back to an older one, revert to it")
    limit, tokens = int(fold.limits.summary * SUMMARY_SHARE), fold.counter.text(text).value
    if tokens > limit:
        raise SummaryRejected(f"it takes {tokens:,} tokens of at most {limit:,}; shorten it, or raise `summary_tokens`")
    newest = fold.summaries[-1] if fold.summaries else None
    end = fold.frame.boundary if newest is None else min(newest.end, fold.frame.boundary)
    return _by_user(replay, seq, Summary(end=end, text="", kept=text, lines=len(text.splitlines())))


def reverted(replay: Replay, seq: int, revision: int, log: Log) -> Draft:
    """An older revision is the newest again."""
    fold = replay.window.fold
    for summary in revisions_of(log):
        if summary.seq == revision and (fold.policy.flat or summary.end <= fold.frame.boundary):
            return _by_user(replay, seq, summary)
    raise NotFound("revision of the summary", revision)


def _by_user(replay: Replay, seq: int, summary: Summary) -> Draft:
    fold = replay.window.fold
    parent = fold.summaries[-1].seq if fold.summaries else 0
    made = msgspec.structs.replace(summary, seq=0, by="user", parent=parent, input_tokens=0, output_tokens=0)
    event = msgspec.structs.replace(event_of("summary", made, seq=seq + 1), text=made.whole)
    frame = replay.apply(event)
    assert frame is not None
    return Draft(events=(event,), replay=replay, frames=((event.seq, frame),), covered=made.end)


def emptied(summary: Summary) -> bytes:
    """What stays of a summary that told of what is redacted now."""
    return msgspec.json.encode(msgspec.structs.replace(summary, text="", kept="", lost=()))
