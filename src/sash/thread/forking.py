"""A thread that goes on from a place in another one: the past is shared, nothing of it is copied."""

from __future__ import annotations

import msgspec

from sash.errors import NotFound
from sash.store import Entry, FrameRow, Share, ThreadRow
from sash.thread.acts import Redacted, act_of
from sash.thread.log import Segment
from sash.thread.origin import Origin
from sash.thread.saved import written, written_digest
from sash.thread.tail import Tail


def forked(tail: Tail, origin: Origin, name: str, *, at: int) -> ThreadRow:
    """
    A new thread whose log begins with another's, up to an event, and that has the frame in force there.

    Only the state is written: messages are read where they are. It is called what the other one is.
    """
    log, store = tail.log, tail.log.store
    if not 0 <= at <= tail.seq:
        raise NotFound("event", at)
    segments = tuple(
        Segment(segment.thread, segment.after, part[1]) for segment in log.segments if (part := segment.within(0, at))
    )
    replay, _ = tail.folded(until=at)
    begins = next((frame.number for _, frame in log.frames_back(until=at)), 0)
    replay.window.fold.number_from(begins)
    later = log.events(since=at, until=tail.seq, kinds={"redact"})
    redacted = at if any(act_of(event, Redacted).seq <= at for event in later) else min(at, origin.redacted)
    made = msgspec.json.encode(Origin(setup=origin.setup, segments=segments, redacted=redacted))
    shares = [Share(segment.thread, segment.until or 0) for segment in segments]
    row = store.create(log.tenant, name, made, shares=shares)
    frame = replay.window.frame
    frames = (FrameRow(number=frame.number, after_seq=at, body=msgspec.json.encode(frame)),) if frame.number else ()
    checkpoint = replay.checkpoint()
    body = written(checkpoint, replay.window.seal(), digest_seq=at)
    entry = Entry(events=(), frames=frames, checkpoint=body, rest=written_digest(checkpoint.fold.digest))
    store.append(log.tenant, row.id, entry, expected_seq=at)
    if title := store.thread(log.tenant, log.thread).title:
        store.put_title(log.tenant, row.id, title)
    return store.thread(log.tenant, row.id)
