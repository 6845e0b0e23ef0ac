"""Summaries written in the background, from histories as clients sent them; verified before anybody sees them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec

from sash.core.message import Message
from sash.core.summary import Summary
from sash.core.turn import SYSTEM, Placing
from sash.errors import ProviderError, SashError, SummaryRejected
from sash.server.proxy.learned import Caller
from sash.server.proxy.links import Chain
from sash.summarize import Asked, SaidTurn, Summarizer, Words
from sash.wire import read_list

_log = logging.getLogger("sash")

HOUR = 3600.0
MOST_JOBS = 32
"""That wait at once; one that is forgotten is asked for again with the next request of its conversation."""
MOST_BYTES = 128_000_000
"""Of histories that wait."""
MOST_FAILURES = 10_000
ATTEMPTS = 5
FIRST_SECONDS = 30.0
"""The first pause after a failure; it doubles."""
ANEW_AFTER = 6
"""Generations after which a summary is written from the turns themselves again."""
ALL_PASSES = 200


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, and what was said in the turns that it covers."""

    summary: Summary
    length: int
    """Messages of the history up to the last one that is covered."""
    link: str
    """Their digest."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that is to be written."""

    place: str
    """What it will be kept under."""
    caller: Caller
    conversation: str
    """Whose budget it is written from."""
    listed: bytes
    wire: str
    end: int
    """Turns before this one are to be covered."""
    previous: Summary | None
    cap_tokens: int
    tokens: Mapping[int, int]
    """What each turn took in the window."""


class _Failed(msgspec.Struct, frozen=True):
    attempts: int
    until: float


class Preparing:
    """Writes one summary after the other in a thread of its own, which is started with the first."""

    def __init__(
        self,
        summarizer: Summarizer,
        wrote: Callable[[Job, Written], None],
        *,
        tokens_per_hour: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._summarizer, self._wrote, self._now = summarizer, wrote, now
        self._tokens_per_hour = tokens_per_hour
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._at = ""
        self._failed: OrderedDict[str, _Failed] = OrderedDict()
        self._spent: OrderedDict[str, list[tuple[float, int]]] = OrderedDict()
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def is_busy_with(self, place: str) -> bool:
        """Whether it is being written, waits to be, or may not be tried again yet."""
        with self._changed:
            failed = self._failed.get(place)
            waits = failed is not None and (failed.attempts >= ATTEMPTS or self._now() < failed.until)
            return place in self._jobs or place == self._at or waits

    def add(self, job: Job) -> None:
        """One more; nobody waits for it."""
        with self._changed:
            if self._stop.is_set() or self._used(job.conversation) >= self._tokens_per_hour:
                return
            self._jobs[job.place] = job
            while len(self._jobs) > MOST_JOBS or (len(self._jobs) > 1 and self._waiting_bytes() > MOST_BYTES):
                self._jobs.popitem(last=False)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sash-proxy-summaries", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Until nothing is to be done; whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._jobs and not self._at, seconds)

    def stop(self, *, seconds: float = 5.0) -> None:
        """Give up what is being written."""
        self._stop.set()
        with self._changed:
            self._jobs.clear()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._stop.is_set())
                if self._stop.is_set():
                    return
                self._at, job = self._jobs.popitem(last=False)
            try:
                self._do(job)
            except asyncio.CancelledError:
                return
            finally:
                with self._changed:
                    self._at = ""
                    self._changed.notify_all()

    def _do(self, job: Job) -> None:
        try:
            written = write(job, self._summarizer, cancelled=self._stop)
            self._wrote(job, written)
        except (ProviderError, SummaryRejected) as error:
            self._fail(job, error)
        except (SashError, ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
            # A history that nobody thought of must not end the summaries of all the others.
            _log.error("a summary for the proxy: %s", type(error).__name__)
            self._fail(job, error)
        else:
            _log.info("a summary for the proxy: turns up to %d", written.summary.end - 1)
        finally:
            self._spend(job.conversation)

    def _fail(self, job: Job, error: Exception) -> None:
        asked = error.retry_after_seconds if isinstance(error, ProviderError) else None
        with self._changed:
            attempts = self._failed.get(job.place, _Failed(0, 0.0)).attempts + 1
            pause = FIRST_SECONDS * 2.0 ** (attempts - 1) if asked is None else min(asked, HOUR)
            self._failed[job.place] = _Failed(attempts, self._now() + pause)
            while len(self._failed) > MOST_FAILURES:
                self._failed.popitem(last=False)
        # Errors of providers and of the verifier name sizes and reasons; what was said is in none of them.
        _log.warning("no summary for the proxy, attempt %d: %s", attempts, type(error).__name__)

    def _waiting_bytes(self) -> int:
        return sum(len(job.listed) for job in self._jobs.values())

    def _used(self, conversation: str) -> int:
        lately = [(at, spent) for at, spent in self._spent.get(conversation, ()) if at > self._now() - HOUR]
        return sum(spent for _, spent in lately)

    def _spend(self, conversation: str) -> None:
        with self._changed:
            now = self._now()
            lately = [(at, spent) for at, spent in self._spent.pop(conversation, ()) if at > now - HOUR]
            self._spent[conversation] = [*lately, (now, self._summarizer.spent.tokens)]
            while len(self._spent) > MOST_FAILURES:
                self._spent.popitem(last=False)


def write(job: Job, summarizer: Summarizer, *, cancelled: threading.Event | None = None) -> Written:
    """The summary that a job asks for: merged with the one before, or anew from the turns after some generations."""
    turns, length = _turns_before(job)
    by_number = {turn.number: turn for turn in turns}
    words: dict[int, Words] = {}

    def evidence(number: int) -> Words | None:
        turn = by_number.get(number)
        return None if turn is None else words.setdefault(number, words.get(number) or Words(turn))

    previous = job.previous
    anew = previous is None or previous.generation >= ANEW_AFTER
    old = "" if previous is None or anew else previous.text
    covered = 0 if previous is None or anew else previous.end
    new = [turn for turn in turns if turn.number >= covered]
    asked = Asked(
        turns=new,
        previous=old,
        cap_tokens=job.cap_tokens,
        replaced_tokens=sum(turn.tokens for turn in new) + (summarizer.counter.text(old).value if old else 0),
        passes=ALL_PASSES,
    )
    made = summarizer.summarize(asked, evidence, cancelled=cancelled)
    if not made.whole:
        raise SummaryRejected(f"{len(new):,} turns take more than {ALL_PASSES} passes")
    summary = Summary(
        seq=1 if previous is None else previous.seq + 1,
        first=turns[0].number,
        end=job.end,
        text=made.text,
        parent=0 if previous is None else previous.seq,
        generation=1 if previous is None or anew else previous.generation + 1,
        lines=made.lines,
        removed=len(made.removed),
        model=made.model,
        prompt=made.prompt,
        input_tokens=made.spent.input_tokens,
        output_tokens=made.spent.output_tokens,
    )
    return Written(summary=summary, length=length, link=Chain(job.listed).until(length).hex())


def _turns_before(job: Job) -> tuple[list[SaidTurn], int]:
    """The turns that are to be covered, from the first, and how many messages of the history they end with."""
    placing, length = Placing(), 0
    said: dict[int, list[Message]] = {}
    for position, message in enumerate(read_list(job.listed, job.wire)):
        turn = placing.add(message).turn
        if turn != SYSTEM and turn < job.end:
            said.setdefault(turn, []).append(message)
            length = position + 1
    turns = [
        SaidTurn(number=number, messages=tuple(messages), tokens=job.tokens.get(number, 0))
        for number, messages in sorted(said.items())
    ]
    return turns, length
