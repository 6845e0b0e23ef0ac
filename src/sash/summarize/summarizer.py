"""Summaries by a model: asked for in passes, merged with the one before, verified."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event as Flag
from typing import Any

import msgspec

from sash.core.policy import Policy
from sash.core.tokens import Counter
from sash.counters import counter_under
from sash.errors import RequestTooLong, SummaryRejected
from sash.providers import Provider, Usage, answer, provider_named
from sash.summarize.evidence import Evidence
from sash.summarize.passes import Pass, passes_of
from sash.summarize.prompt import VERSION, question, system_prompt
from sash.summarize.sections import Line, parsed
from sash.summarize.transcript import SaidTurn
from sash.summarize.verify import Bounds, Removed, Verified, checked_answer, verified

MARGIN = 0.9
"""Of the model's window: counts are estimates for many of them."""
LEAST_ROOM = 200
"""Tokens for turns without which asking makes no sense."""
TOO_LONG = 5
"""How often a pass is made smaller when the model says that it is too long."""


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What a summary has cost so far."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, usage: Usage | None, estimate: tuple[int, int]) -> Spent:
        """With one more call; where the provider told nothing believable, the estimate counts."""
        read, wrote = (usage.context_tokens, usage.output_tokens) if usage is not None else estimate
        return Spent(
            calls=self.calls + 1, input_tokens=self.input_tokens + read, output_tokens=self.output_tokens + wrote
        )

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be summarized."""

    turns: Sequence[SaidTurn]
    previous: str = ""
    """The summary so far, for the turns before these; empty where all are given."""
    first: int = 0
    """The first turn that the summary stands for."""
    cap_tokens: int
    cap_characters: int | None = None
    replaced_tokens: int = 0
    """What all the turns took that it stands for: it has to be smaller. 0: they stay, so it need not be."""
    passes: int | None = None
    """At most so many; None: as many as the summarizer makes."""

    def is_within(self, text: str) -> bool:
        """Whether a text has no more characters than there may be."""
        return self.cap_characters is None or len(text) <= self.cap_characters


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that may be published."""

    text: str
    end: int
    """The first turn that it does not cover."""
    lines: int
    removed: tuple[Removed, ...] = ()
    left_out: int = 0
    spent: Spent
    model: str = ""
    prompt: str = VERSION
    whole: bool = True
    """Whether it covers all that was asked for."""


class Summarizer:
    """Writes summaries with a provider's model. Holds no state between two of them but what they cost."""

    def __init__(
        self,
        provider: Provider,
        *,
        window: int | None = None,
        policy: Policy | None = None,
        seconds: float = 300.0,
        most_passes: int = 8,
    ) -> None:
        self.provider = provider
        choice = counter_under(policy or Policy(), provider.model, counter="")
        self.counter: Counter = choice.counter
        self.window = window or getattr(provider, "window", None) or choice.model.window
        self.seconds = seconds
        """For one answer."""
        self.most_passes = most_passes
        """For one summary: what is left then is due as before."""
        self.spent = Spent()
        """By the summary that is being written, or was last: it costs also when it is rejected."""

    def __repr__(self) -> str:
        return f"Summarizer({self.provider!r})"

    def summarize(self, asked: Asked, evidence: Evidence, *, cancelled: Flag | None = None) -> Written:
        """
        A verified summary of the turns, merged with the one before.

        Raises `ProviderError` where no answer came and `SummaryRejected` where none may be
        published; nothing else has happened then.
        """
        self.spent = Spent()
        previous, removed, left_out, done = asked.previous, list[Removed](), 0, 0
        turns = list(asked.turns)
        model, made = "", None
        most, refused = self.window, list[RequestTooLong]()
        passes = self.most_passes if asked.passes is None else asked.passes
        while turns and done < passes:
            room = min(most, self._room(asked.cap_tokens, previous))
            if room < LEAST_ROOM and refused:
                raise refused[-1]
            if room < LEAST_ROOM:
                raise SummaryRejected(f"a window of {self.window:,} tokens leaves no room for the turns to summarize")
            given = passes_of(turns, room=room, count=self._count)[0]
            try:
                said = self._ask(given, previous, asked.cap_tokens, cancelled)
            except RequestTooLong as error:
                refused.append(error)
                if len(refused) == TOO_LONG:
                    raise
                if error.limit is not None and error.limit < self.window:
                    # The model knows better than the table of models.
                    self.window = error.limit
                else:
                    most = self._count(given.text) // 2
                continue
            made = self._verified(said[0], previous, given.last + 1, asked, evidence)
            model = said[1]
            previous, left_out, done = made.text, left_out + made.left_out, done + 1
            removed += made.removed
            turns = [turn for turn in turns if turn.number > given.last]
        if made is None:
            raise SummaryRejected("there is nothing to summarize")
        end = turns[0].number if turns else asked.turns[-1].number + 1
        return Written(
            text=made.text,
            end=end,
            lines=len(made.lines),
            removed=tuple(removed),
            left_out=left_out,
            spent=self.spent,
            model=model or self.provider.model,
            whole=not turns,
        )

    def _verified(self, text: str, previous: str, end: int, asked: Asked, evidence: Evidence) -> Verified:
        carried: tuple[Line, ...] = parsed(previous).lines if previous else ()
        # While passes are left, what they stand for is not all told yet: only the last one is measured.
        most = asked.replaced_tokens or None
        bounds = Bounds(
            first=asked.first,
            end=end,
            fits=lambda whole: self._count(whole) <= asked.cap_tokens and asked.is_within(whole),
            smaller=lambda whole: most is None or self._count(whole) < most,
        )
        return verified(text, evidence, bounds, carried=carried)

    def _ask(self, given: Pass, previous: str, cap_tokens: int, cancelled: Flag | None) -> tuple[str, str]:
        system = system_prompt(cap_tokens=cap_tokens)
        asked = question(turns=given.text, first=given.first, last=given.last, previous=previous)
        heard = answer(
            self.provider,
            self._request(system, asked),
            max_tokens=self._answer_tokens(cap_tokens),
            seconds=self.seconds,
            cancelled=cancelled,
        )
        estimate = (self._count(system) + self._count(asked), self._count(heard.text))
        self.spent = self.spent.plus(heard.usage, estimate)
        return checked_answer(heard), heard.model

    def _request(self, system: str, asked: str) -> dict[str, Any]:
        user = {"role": "user", "content": asked}
        if self.provider.wire == "anthropic":
            return {"system": system, "messages": [user]}
        return {"messages": [{"role": "system", "content": system}, user]}

    def _answer_tokens(self, cap_tokens: int) -> int:
        """Twice the cap, for models that think before they write; a quarter of a small window at most."""
        return max(64, min(2 * cap_tokens, self.window // 4))

    def _room(self, cap_tokens: int, previous: str) -> int:
        """Tokens that are left for turns in one request."""
        fixed = self._count(system_prompt(cap_tokens=cap_tokens))
        fixed += self._count(question(turns="", first=0, last=0, previous=previous))
        return int(self.window * MARGIN) - fixed - self._answer_tokens(cap_tokens)

    def _count(self, text: str) -> int:
        return self.counter.text(text).value


def summarizer_of(given: Summarizer | Provider | str) -> Summarizer:
    """A summarizer from what users give: itself, a provider, or a provider's name and model (`anthropic:MODEL`)."""
    if isinstance(given, Summarizer):
        return given
    if isinstance(given, str):
        name, _, model = given.partition(":")
        return Summarizer(provider_named(name, model=model))
    return Summarizer(given)
