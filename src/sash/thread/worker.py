"""
The worker: writes the summaries that are due, in this process or in one of its own.

Due is what the store says is due, so no crash can lose a job. A lease with a number that grows keeps a
worker that was asleep from publishing over its successor. Failures wait, longer each time, and
are given up after some; the digest stands meanwhile, and other threads go on.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from sash.core.summary import Summary
from sash.errors import LeaseLost, NotFound, ProviderError, SashError, StoreError, SummaryRejected, ThreadMoved
from sash.store import Entry, Lease, Store
from sash.summarize import Summarizer
from sash.thread.acts import act_of
from sash.thread.log import Log
from sash.thread.opening import thread_of
from sash.thread.summarizing import Reading, publish, read_thread, said_turns, write_summary
from sash.thread.tail import Tail

_log = logging.getLogger("sash")

HOUR = 3600.0


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How hard a worker tries, and how much it may spend."""

    turns: int = 6
    """A model is asked for a summary of at least so many turns: one more than seed 001's five."""
    attempts: int = 5
    """Then a thread is parked, until somebody takes it up again."""
    first_seconds: float = 30.0
    """The first pause after a failure; it doubles."""
    most_seconds: float = HOUR
    lease_seconds: float = 900.0
    tokens_per_hour: int = 1_000_000
    """For one thread, read and written together."""
    anew_after: int = 6
    """Generations after which a summary is written from the turns themselves again."""


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one thread's summary."""

    tenant: str
    thread: int
    outcome: Literal["published", "failed", "parked", "waiting", "gone"]
    """`waiting`: the thread has used up its tokens for this hour. `gone`: somebody else has it, or it was deleted."""
    summary: Summary | None = None
    error: str = ""


class Worker:
    """Writes summaries for one tenant, or for all."""

    def __init__(
        self,
        store: Store,
        summarizer: Summarizer,
        *,
        tenant: str | None = None,
        terms: Terms | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.summarizer, self.tenant = store, summarizer, tenant
        self.terms = terms or Terms()
        self._now = now
        self._wasted: dict[tuple[str, int], list[tuple[float, int]]] = {}
        """What failures have cost lately; what was published says itself what it cost."""
        self._awake, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    # One thing at a time.

    def once(self) -> Worked | None:
        """Takes up one thread whose summary is due, or will be with a slide that is near; None where none is."""
        lease = self.store.claim_due_summary(
            self.tenant, lease_seconds=self.terms.lease_seconds, turns=self.terms.turns
        )
        if lease is None:
            return None
        worked = self._worked(lease)
        level = logging.INFO if worked.outcome in ("published", "gone") else logging.WARNING
        _log.log(level, "summary of thread %d: %s %s", lease.thread, worked.outcome, worked.error)
        return worked

    def _worked(self, lease: Lease) -> Worked:
        try:
            if lease.attempts > self.terms.attempts:
                # Counted before the work starts: a thread that ends its worker each time is parked too.
                return self._failed(lease, "every attempt before this one ended its worker", park=True)
            thread = thread_of(self.store, self.store.thread(lease.tenant, lease.thread))
            return self._write(lease, thread.tail)
        except (LeaseLost, NotFound) as error:
            return Worked(tenant=lease.tenant, thread=lease.thread, outcome="gone", error=str(error))

    def _write(self, lease: Lease, tail: Tail) -> Worked:
        wait = self._must_wait(tail.log)
        if wait > 0:
            error = f"it has used up its {self.terms.tokens_per_hour:,} tokens for this hour"
            self.store.fail_summary(lease, error, retry_seconds=wait)
            return Worked(tenant=lease.tenant, thread=lease.thread, outcome="waiting", error=error)
        try:
            reading = read_thread(tail, end=lease.end)
            if not said_turns(tail.log, range(reading.covered, reading.end)):
                # All of them were rewound: what stands for the rest stands for all.
                self.store.finish_summary(lease, Entry(events=(), covered=lease.end))
                return Worked(tenant=lease.tenant, thread=lease.thread, outcome="published", summary=reading.previous)
            anew = self._anew(tail.log, reading)
            summary = write_summary(tail, self.summarizer, reading, anew=anew, cancelled=self._stop)
            made = publish(tail, summary, reading, lease=lease, at=self._now())
        except asyncio.CancelledError:
            # Told to stop: somebody else may have it at once.
            self.store.fail_summary(lease, "the worker was stopped", retry_seconds=0)
            raise
        except ThreadMoved as error:
            self._waste(lease)
            return self._failed(lease, str(error), retry_seconds=0)
        except (ProviderError, SummaryRejected) as error:
            self._waste(lease)
            asked = error.retry_after_seconds if isinstance(error, ProviderError) else None
            return self._failed(lease, str(error), retry_seconds=asked)
        except StoreError:
            raise
        except (SashError, ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
            # Poison: some thread that nobody thought of must not end the worker for all the others.
            _log.exception("summary of thread %d", lease.thread)
            return self._failed(lease, f"{type(error).__name__}: {error}")
        return Worked(tenant=lease.tenant, thread=lease.thread, outcome="published", summary=made)

    def _failed(self, lease: Lease, error: str, *, retry_seconds: float | None = None, park: bool = False) -> Worked:
        park = park or lease.attempts >= self.terms.attempts
        backoff = min(self.terms.most_seconds, self.terms.first_seconds * 2.0 ** (lease.attempts - 1))
        pause = backoff if retry_seconds is None else min(max(retry_seconds, 0.0), self.terms.most_seconds)
        self.store.fail_summary(lease, error, retry_seconds=pause, park=park)
        outcome: Literal["parked", "failed"] = "parked" if park else "failed"
        return Worked(tenant=lease.tenant, thread=lease.thread, outcome=outcome, error=error)

    # What it may cost.

    def _must_wait(self, log: Log) -> float:
        """Seconds until a thread may be summarized again."""
        now = self._now()
        spent = [(at, tokens) for at, tokens in self._wasted.get((log.tenant, log.thread), ()) if at > now - HOUR]
        for event in log.events(kinds={"summary"}):
            if event.at is not None and event.at > now - HOUR:
                made = act_of(event, Summary)
                spent.append((event.at, made.input_tokens + made.output_tokens))
        if sum(tokens for _, tokens in spent) < self.terms.tokens_per_hour:
            return 0.0
        return max(1.0, min(at for at, _ in spent) + HOUR - now)

    def _waste(self, lease: Lease) -> None:
        now, key = self._now(), (lease.tenant, lease.thread)
        lately = [(at, tokens) for at, tokens in self._wasted.get(key, ()) if at > now - HOUR]
        self._wasted[key] = [*lately, (now, self.summarizer.spent.tokens)]

    def _anew(self, log: Log, reading: Reading) -> bool:
        """Whether the summary has drifted long enough, and writing it anew is affordable."""
        if reading.previous is None or reading.previous.generation < self.terms.anew_after:
            return False
        tokens = sum(turn.tokens for turn in said_turns(log, range(reading.end)))
        return tokens < self.terms.tokens_per_hour

    # Again and again.

    def run(self, *, idle_seconds: float = 2.0, done: Callable[[Worked], None] | None = None) -> None:
        """Works until it is stopped; a store that cannot be reached is tried again."""
        while not self._stop.is_set():
            try:
                worked = self.once()
            except asyncio.CancelledError:
                return
            except StoreError as error:
                _log.warning("no summaries for now: %s", error)
                worked = None
            if worked is not None:
                if done is not None:
                    done(worked)
                continue
            self._awake.wait(idle_seconds)
            self._awake.clear()

    def start(self) -> None:
        """Works in a thread of its own, beside whoever started it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self.run, name="sash-summaries", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Something may be due."""
        self._awake.set()

    def stop(self, *, seconds: float = 10.0) -> None:
        """Ends what it is doing and gives its lease back."""
        self._stop.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join(seconds)
            self._thread = None
