"""
The store's contract: verbs of the domain, synchronous.

Every call takes the tenant, and no call ever shows one tenant what belongs to another: what
is somebody else's is simply not there. Order is by sequence number, never by a clock. A call
either does all that it says or raises a `StoreError` and has done nothing. Stores may be
used from many threads at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sash.core.event import Event
from sash.store.rows import (
    ApiKey,
    Appended,
    Entry,
    Found,
    FrameRow,
    Head,
    Health,
    Key,
    Lease,
    Matching,
    Posting,
    Share,
    ThreadRow,
    Trouble,
)
from sash.store.runs import Runs


class Store(Runs, Protocol):
    """Where threads live. `tests/store` is the specification: it runs on every store."""

    def create(
        self, tenant: str, name: str, setup: bytes, *, at: float | None = None, shares: Sequence[Share] = ()
    ) -> ThreadRow:
        """
        A new, empty thread; `ThreadExists` where the name is taken.

        A fork `shares` what other threads said before it: its own events are numbered from the last of these on.
        """

    def find(self, tenant: str, name: str) -> ThreadRow | None:
        """The thread of that name."""

    def thread(self, tenant: str, thread: int) -> ThreadRow:
        """A thread as it stands now; `NotFound` where there is none, here and in all that follows."""

    def threads(self, tenant: str, *, before: int | None = None, limit: int = 50) -> list[ThreadRow]:
        """Newest first; to go on, those with an id `before` the last one shown."""

    def put_title(self, tenant: str, thread: int, title: str) -> None:
        """What people call it from now on."""

    def setup(self, tenant: str, thread: int) -> bytes:
        """What the thread was created with."""

    def delete(self, tenant: str, thread: int) -> None:
        """
        Forget the thread with all that belongs to it, also what a search would find.

        What forks begin with is theirs too: it stays with them, and goes with the last of them.
        """

    def forks(self, tenant: str, thread: int, seq: int) -> list[int]:
        """The threads that begin with what this one said, and share this event."""

    def delete_tenant(self, tenant: str) -> int:
        """Forget all of a tenant, its API keys too. How many threads that were."""

    def append(
        self, tenant: str, thread: int, entry: Entry, *, expected_seq: int | None = None, key: Key | None = None
    ) -> Appended:
        """
        Add to the log, in one transaction with the frames that the events lead to.

        `Conflict` if the thread has moved past `expected_seq`. With a key that was used before
        the stored outcome is given again, or `KeyReused` raised if the request is another one.
        """

    def appended(self, tenant: str, thread: int, key: Key) -> Appended | None:
        """The outcome that is stored under a key, None where it is new."""

    def events(
        self,
        tenant: str,
        thread: int,
        *,
        since: int = 0,
        until: int | None = None,
        kinds: Collection[str] | None = None,
        shared: bool = False,
    ) -> Iterator[Event]:
        """
        The events after number `since`, up to and with `until`; read as they are asked for, never all at once.

        With `shared`, here and in what follows, also of a thread that was deleted, as far as forks begin with it.
        """

    def events_of_turns(
        self, tenant: str, thread: int, turns: Collection[int], *, shared: bool = False
    ) -> Iterator[Event]:
        """All events of some turns, in the order of the log."""

    def bodies(
        self, tenant: str, thread: int, *, since: int = 0, until: int | None = None, shared: bool = False
    ) -> Mapping[int, bytes]:
        """
        The bytes of the events after number `since`, up to and with `until`, by their numbers.

        All that is there, unlike `events` without a look at whether it is what was written.
        """

    def last_seq(self, tenant: str, thread: int) -> int:
        """Number of the newest event, 0 before the first."""

    def frames(self, tenant: str, thread: int, *, since: int = 0, shared: bool = False) -> Iterator[FrameRow]:
        """The frames with a number of at least `since`, oldest first."""

    def frames_back(self, tenant: str, thread: int, *, until: int, shared: bool = False) -> Iterator[FrameRow]:
        """The frames that were made up to some event, newest first."""

    def head(self, tenant: str, thread: int, *, at: int | None = None) -> Head:
        """Newest frame and checkpoint, as of one moment; with `at` the frame in force after that event."""

    def checkpoints(self, tenant: str, thread: int, *, until: int, shared: bool = False) -> list[int]:
        """After which events, up to some event, a checkpoint is kept; newest first."""

    def checkpoint(self, tenant: str, thread: int, seq: int) -> bytes | None:
        """The one that was written after this event, where it is kept."""

    def checkpoint_rest(self, tenant: str, thread: int, seq: int) -> bytes | None:
        """What was written beside it, and is not needed to go on."""

    def redact(self, tenant: str, thread: int, seq: int, tombstone: bytes) -> None:
        """The one update: body and words give way to a tombstone, and what was derived from them is dropped."""

    def postings(self, tenant: str, thread: int, terms: Collection[str], *, shared: bool = False) -> list[Posting]:
        """Where these terms stand, by term and number."""

    def claim_due_summary(self, tenant: str | None, *, lease_seconds: float, turns: int = 1) -> Lease | None:
        """
        The right to summarize a thread with at least so many turns uncovered: evicted, or about to be (`ahead`).

        None where nothing is due, or all of it is leased, waits for its next attempt or is parked.
        By the database's clock. A worker for everybody gives None for the tenant.
        """

    def finish_summary(self, lease: Lease, entry: Entry, *, expected_seq: int | None = None) -> Appended:
        """Publish and give the lease back; `LeaseLost` if somebody else has claimed or finished it since."""

    def fail_summary(self, lease: Lease, error: str, *, retry_seconds: float, park: bool = False) -> None:
        """Give the lease back and say why; `LeaseLost` as above."""

    def troubles(self, tenant: str) -> list[Trouble]:
        """The threads whose last attempt at a summary failed."""

    def retry_summary(self, tenant: str, thread: int) -> None:
        """Take a parked or waiting thread up again, at once."""

    def put_lesson(self, tenant: str, name: str, body: bytes) -> None:
        """Keep what usage has taught of a provider's counting, in place of what was kept under that name."""

    def lesson(self, tenant: str, name: str) -> bytes | None:
        """What was kept under that name."""

    def keep_note(self, tenant: str, name: str, body: bytes, *, forget_seconds: float) -> bytes:
        """
        Keep what is to be found again under that name, and say what is: the first that was kept stays.

        The tenant's notes that are older than so many seconds are forgotten.
        """

    def note(self, tenant: str, name: str) -> bytes | None:
        """What was kept under that name."""

    def put_key(self, tenant: str, digest: bytes, *, label: str = "", at: float | None = None) -> None:
        """Let in whoever shows the key with this digest."""

    def find_key(self, digest: bytes) -> ApiKey | None:
        """Whose key it is: the one question that is asked before the tenant is known."""

    def keys(self, tenant: str | None) -> list[ApiKey]:
        """The keys of a tenant, or None for everybody's, the oldest first; also those that were revoked."""

    def revoke_key(self, tenant: str, digest: bytes) -> bool:
        """Whether the tenant had such a key, which lets nobody in from now on."""

    def search(
        self, tenant: str, text: str, *, thread: int | None = None, limit: int = 20, match: Matching = "all"
    ) -> list[Found]:
        """The messages that hold the text, newest first. Nothing in it has a special meaning."""

    def health(self) -> Health:
        """What is well and what is not; looks at every page, so it may take its time."""

    def backup(self, path: Path) -> None:
        """A copy of the whole store as of one moment, made while others write."""

    def close(self) -> None:
        """Let go of files and connections."""
