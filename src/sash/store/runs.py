"""Runs: answers that a server gets for a thread, and what was sent of each while it came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from sash.store.rows import Key

RunStatus = Literal["running", "completed", "failed", "cancelled", "interrupted"]


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is about to be asked for."""

    id: str
    owner: str
    """The process that gets it."""
    internal: bool = False
    """Whether nobody asked for it in so many words: a summary."""
    turn: int = -1
    """Number of the turn in the log; an internal one has that of the turn it stands behind."""
    key: Key | None = None


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as the store knows it. Times are seconds since 1970, by the store's clock."""

    id: str
    tenant: str
    thread: int
    turn: int
    internal: bool
    status: RunStatus
    stop: str
    error: str
    owner: str
    lapsed: bool
    """Whether its owner has said nothing for so long that it is taken for dead."""
    end_asked: bool
    """Somebody wants it to end."""
    last_event: int
    started: float
    ended: float | None
    repeated: bool = False
    """It was asked for before, with the same key."""


class RunEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was told of an answer while it came."""

    seq: int = 0
    """From 1 without a gap; given by the store."""
    kind: str
    body: bytes
    at: float = 0.0


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer ended."""

    status: RunStatus
    stop: str = ""
    error: str = ""


class Runs(Protocol):
    """The part of a store's contract that is about runs."""

    def start_run(self, tenant: str, thread: int, run: NewRun, *, lease_seconds: float) -> RunRow:
        """
        Begin an answer, alone: `ThreadBusy` while the thread has another that has not ended.

        With a key that was used before the run that was begun with it is given again, or `KeyReused`
        raised if the request is another one.
        """

    def resume_run(self, tenant: str, run: str, owner: str, *, lease_seconds: float) -> RunRow:
        """Go on with an answer that had ended; `ThreadBusy` as above."""

    def take_run(self, run: RunRow, owner: str, *, lease_seconds: float) -> RunRow:
        """Have an answer whose owner is dead, to end it; `LeaseLost` if it is that owner's no more."""

    def write_run(  # noqa: PLR0913 - all that can happen to a run at once, in one transaction
        self,
        tenant: str,
        run: str,
        owner: str,
        events: Sequence[RunEvent],
        *,
        lease_seconds: float,
        turn: int | None = None,
        end: RunEnd | None = None,
    ) -> RunRow:
        """
        Add events, stay alive, and with `end` be over.

        `LeaseLost` if the owner has it no more: it was taken for dead, or its thread was deleted.
        """

    def ask_run_to_end(self, tenant: str, run: str) -> RunRow:
        """Tell whoever has it, in whatever process; one that is over stays as it is."""

    def run(self, tenant: str, run: str) -> RunRow:
        """A run by its id."""

    def runs(self, tenant: str, thread: int, *, first: int = -1, last: int | None = None) -> list[RunRow]:
        """The runs of some turns, in the order in which they began."""

    def run_events(self, tenant: str, run: str, *, since: int = 0, limit: int = 10_000) -> list[RunEvent]:
        """What was told of it, after an event."""

    def open_runs(self) -> list[RunRow]:
        """What has not ended, of every tenant: for whoever starts and looks what was left behind."""
