"""A window whose evicted turns a model tells of on the spot: to measure what such summaries keep and cost."""

from __future__ import annotations

from collections.abc import Sequence

from sash.core.fold import Fold
from sash.core.limits import limits_of
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.request import assemble
from sash.core.size import Size
from sash.core.summary import SUMMARY_SHARE, Summary
from sash.core.survival import BIG_WINDOW
from sash.core.tokens import Counter
from sash.errors import ProviderError, SummaryRejected
from sash.summarize.evidence import Words
from sash.summarize.summarizer import Asked, Spent, Summarizer
from sash.summarize.transcript import SaidTurn

TURNS = 6
"""As a worker: for fewer a model is not asked."""
ATTEMPTS = 3
"""Failures in a row after which it is not asked any more."""


class Rehearsal:
    """What sash sends when a model summarizes what leaves. Nothing is stored, and nobody waits: it is a measurement."""

    def __init__(self, policy: Policy, counter: Counter, summarizer: Summarizer) -> None:
        self.fold = Fold(policy, limits_of(policy, window=BIG_WINDOW), counter)
        self.summarizer = summarizer
        self.published = 0
        self.errors: list[str] = []
        """Why nothing was published, each time."""
        self.spent = Spent()
        self._said: dict[int, list[tuple[Message, int]]] = {}
        self._failed = 0

    def add(self, message: Message, size: Size) -> None:
        """One more message; what the slide that it leads to evicts is summarized, and stands from the next one on."""
        frame = self.fold.add(message, size)
        self._said.setdefault(self.fold.placed.turn, []).append((message, size.tokens))
        covered = self.fold.summaries[-1].end if self.fold.summaries else 0
        if frame is not None and frame.boundary - covered >= TURNS and self._failed < ATTEMPTS:
            self._summarize(covered, frame.boundary)

    def request(self) -> Sequence[Message]:
        """What is sent now."""
        return assemble(self.fold).messages

    def _turn(self, number: int) -> SaidTurn:
        said = self._said[number]
        messages = tuple(message for message, _ in said)
        return SaidTurn(number=number, messages=messages, tokens=sum(tokens for _, tokens in said))

    def _words(self, number: int) -> Words | None:
        return Words(self._turn(number)) if number in self._said else None

    def _summarize(self, covered: int, end: int) -> None:
        turns = [self._turn(number) for number in range(covered, end) if number in self._said]
        before = self.fold.summaries[-1] if self.fold.summaries else None
        asked = Asked(
            turns=turns,
            previous="" if before is None else before.text,
            cap_tokens=int(self.fold.limits.summary * SUMMARY_SHARE),
            replaced_tokens=sum(turn.tokens for turn in turns) + (0 if before is None else self._count(before.text)),
        )
        try:
            written = self.summarizer.summarize(asked, self._words)
        except (SummaryRejected, ProviderError) as error:
            self.errors.append(str(error))
            self._failed += 1
        else:
            self.published, self._failed = self.published + 1, 0
            summary = Summary(
                seq=self.published,
                end=end if written.whole else written.end,
                text=written.text,
                parent=0 if before is None else before.seq,
                lines=written.lines,
                removed=len(written.removed),
            )
            self.fold.offer(summary)
        finally:
            spent = self.summarizer.spent
            self.spent = Spent(
                calls=self.spent.calls + spent.calls,
                input_tokens=self.spent.input_tokens + spent.input_tokens,
                output_tokens=self.spent.output_tokens + spent.output_tokens,
            )

    def _count(self, text: str) -> int:
        return self.fold.counter.text(text).value
