"""A request on its way out: folded, assembled, prepared for its wire, counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sash.core.budget import Ledger, SourceName, settle
from sash.core.fold import Fold
from sash.core.frame import handle_of
from sash.core.message import Message
from sash.core.policy import Limits, Policy, budget_of, limits_of
from sash.core.request import OURS, Assembled, assemble
from sash.core.sources import Source, asked_by, cut_to
from sash.core.tokens import Counter, TokenCount, total
from sash.counters import Choice
from sash.errors import InvalidRequest
from sash.fitting.fitted import Fitted, Report
from sash.fitting.prompt import flat_prompt
from sash.fitting.replays import REPLAYS
from sash.wire import Body, Repair, Tool, prepare, wire_named, write_fields
from sash.wire.alternate import alternated
from sash.wire.breakpoints import place_breakpoints


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """What `fit` was given, taken apart."""

    given: object
    wire: str
    body: Body
    tools: tuple[Tool, ...]
    tool_tokens: TokenCount
    lost: tuple[Repair, ...]
    """Tools that the wire cannot carry."""
    prompt: tuple[Message, ...]
    """The system prompt, where it does not stand among the messages."""
    sources: tuple[Source, ...]
    answer: int
    policy: Policy
    choice: Choice

    @property
    def counter(self) -> Counter:
        """What counts for the model."""
        return self.choice.counter

    def fitted(self) -> Fitted:
        """The request, within its limits as far as that can be."""
        fold = self._folded(self.fixed())
        if fold.system and self._limits(fixed := self.fixed(fold)) != fold.limits:
            fold = self._folded(fixed)
        fitted = self._at(fold)
        over = fitted.tokens.value - fold.limits.hard
        if over > 0:
            # More stands beside history than was allowed for, or a call is open: this one request gives way for it.
            low = max(0, fold.tokens - over - fold.limits.summary - fold.limits.step_digest)
            planned = fold.plan("window", low=low)
            if planned is not None:
                fold.make(planned)
                fitted = self._at(fold)
        return fitted

    def fixed(self, fold: Fold | None = None) -> TokenCount:
        """What the request takes before anything is said; some wires have the system prompt among the messages."""
        return total((self._system_tokens(fold), self.tool_tokens, TokenCount(self.counter.priming)))

    def _limits(self, fixed: TokenCount) -> Limits:
        known = self.choice.model.limits
        window = None if self.choice.model.default_window else known.window
        answer = self.answer
        if known.max_input is not None and self.policy.window is None:
            # Some models read less than their window holds.
            answer = max(answer, known.window - known.max_input)
        return limits_of(self.policy, window=window, max_output=known.max_output, fixed=fixed.value, answer=answer)

    def _folded(self, fixed: TokenCount) -> Fold:
        limits = self._limits(fixed)
        return REPLAYS.fold(self.body.listed, self.body.wire, policy=self.policy, limits=limits, counter=self.counter)

    def _at(self, fold: Fold) -> Fitted:
        """The request as this fold has it."""
        settled = self._settled(fold)
        report = _report(fold, (*self.lost, *_mended(fold), *_cut(self.sources, settled.sources)), settled.ledger)
        if self.wire == "flat":
            return self._flat(fold, report)
        assembled = assemble(fold, sources=settled.sources)
        messages, repairs = self._prepared(assembled)
        origins = {id(message): origin for message, origin in zip(assembled.messages, assembled.origins, strict=True)}
        sent = [(message, origins.get(id(message), OURS)) for message in messages]
        fields = write_fields(messages, self.tools, self.wire)
        wire = wire_named(self.wire)
        apart = len(self.prompt) if wire.SYSTEM else 0
        if [(origin, message.edited) for message, origin in sent[apart:]] == [(n, False) for n in range(len(fold))]:
            # Nothing was changed, so not even the white space between two messages is.
            fields[wire.MESSAGES] = self.body.fields.get(wire.MESSAGES, self.body.listed)
        if self.tools == self.body.tools and "tools" in self.body.fields:
            fields["tools"] = self.body.fields["tools"]
        report = msgspec.structs.replace(report, repairs=(*report.repairs, *repairs))
        return Fitted(self.given, self.body, fold, fields, sent[apart:], self._count(sent, fold), report)

    def _prepared(self, assembled: Assembled) -> tuple[tuple[Message, ...], list[Repair]]:
        """The messages as they go out, and what had to be done, told of the history that was given."""
        prepared = prepare((*self.prompt, *assembled.messages), self.wire)
        messages, places = prepared.messages, (*(OURS for _ in self.prompt), *assembled.origins)
        repairs = [msgspec.structs.replace(made, message=places[made.message]) for made in prepared.repairs]
        if self.policy.alternate and self.wire == "openai-chat":
            messages = alternated(messages)
            problems = wire_named(self.wire).problems(messages)
            if problems:
                raise InvalidRequest(self.wire, tuple(problem.what for problem in problems))
        if self.policy.breakpoints and self.wire == "anthropic":
            messages = place_breakpoints(messages, self.tools, head=len(self.prompt) + assembled.head)
        return messages, repairs

    def _flat(self, fold: Fold, report: Report) -> Fitted:
        """One prompt of text: what has no place in it is named."""
        prompt, turns = flat_prompt(fold, self.policy)
        lost = [("system", self.prompt or fold.system), ("sources", self.sources)]
        repairs = [
            Repair(what="left-out", message=OURS, why=f"{name} has no place in a flat prompt")
            for name, had in lost
            if had
        ]
        report = msgspec.structs.replace(
            report,
            repairs=(*report.repairs, *repairs),
            turns_in=turns,
            turns_out=(*report.turns_out, *(number for number in fold.turns if number not in turns)),
        )
        fields = {"prompt": msgspec.json.encode(prompt)}
        return Fitted(self.given, self.body, fold, fields, (), self.counter.text(prompt), report)

    def _settled(self, fold: Fold) -> _Settled:
        """Who gets what of the window. What stands at the head never depends on what changes with each input."""
        limits, counter = fold.limits, self.counter
        standing = [fold.digest_text(), *(fold.step_text(turn.number) for turn in fold.turns.values() if turn.digested)]
        used: dict[SourceName, TokenCount] = {
            "system": self._system_tokens(fold) + TokenCount(counter.priming),
            "tools": self.tool_tokens,
            "history": TokenCount(fold.tokens, fold.exact),
            "summary": total(map(counter.text, filter(None, standing))),
        }
        # History asks for its high mark: it grows until the next frame.
        asked = {**used, "history": TokenCount(limits.high)}
        budget = budget_of(self.policy, limits)
        stable = tuple(source for source in self.sources if source.stable)
        ledger = settle(budget, {**asked, **asked_by(stable, counter)}, limits.window)
        stable = cut_to(stable, ledger, counter)
        taken = asked_by(stable, counter)
        volatile = tuple(source for source in self.sources if not source.stable)
        if volatile:
            ledger = settle(budget, {**asked, **asked_by((*stable, *volatile), counter)}, limits.window)
            volatile = cut_to(volatile, ledger, counter, taken=taken)
        sources = (*stable, *volatile)
        return _Settled(ledger.laid_out({**used, **asked_by(sources, counter)}), sources)

    def _system_tokens(self, fold: Fold | None) -> TokenCount:
        listed = [TokenCount(live.size.tokens, live.size.exact) for live in fold.system] if fold is not None else []
        return total((*map(self.counter.message, self.prompt), *listed))

    def _count(self, sent: Sequence[tuple[Message, int]], fold: Fold) -> TokenCount:
        """What the request takes: what was counted when it entered is not counted again."""
        sizes = {live.position: live.size for live in fold.window()}
        counts = [
            TokenCount(sizes[origin].tokens, sizes[origin].exact)
            if origin in sizes and not message.edited
            else self.counter.message(message)
            for message, origin in sent
        ]
        return total((*counts, self.tool_tokens, TokenCount(self.counter.priming)))


class _Settled(msgspec.Struct, frozen=True):
    ledger: Ledger
    sources: tuple[Source, ...]
    """As much of each as is sent."""


def _report(fold: Fold, repairs: tuple[Repair, ...], ledger: Ledger) -> Report:
    left = sum(turn.tokens for turn in fold.left)
    before = TokenCount(left + sum(turn.whole_tokens for turn in fold.turns.values()), fold.exact)
    after = TokenCount(fold.tokens, fold.exact)
    return Report(
        frame=fold.frame,
        turns_in=tuple(fold.turns),
        turns_out=tuple(turn.number for turn in fold.left),
        shortened=tuple(_shortened(fold)),
        repairs=repairs,
        ledger=ledger,
        before=before,
        after=after,
        ratio=1 - after.value / before.value if before.value else 0.0,
        fits=fold.tokens <= fold.limits.high,
        window=fold.limits.window,
        window_known=fold.limits.window_known,
    )


def _shortened(fold: Fold) -> Iterator[str]:
    """Handles of what is shown in part: by the frame, or since it entered."""
    by_frame = {short.handle for short in fold.frame.shortened}
    for live in fold.window():
        for place, block in enumerate(live.message.blocks):
            handle = handle_of(live.position, place)
            if handle in by_frame or live.block(place) is not block:
                yield handle


def _mended(fold: Fold) -> Iterator[Repair]:
    for live in fold.window():
        if (live.came or live.message).edited:
            yield Repair(what="lone-surrogate", message=live.position, why="a lone surrogate is sent as U+FFFD")


def _cut(given: Sequence[Source], sent: Sequence[Source]) -> Iterator[Repair]:
    whole = {(source.name, source.text) for source in sent}
    for source in given:
        if (source.name, source.text) not in whole:
            why = f"source {source.name!r} is over its budget: part of it, or all of it, was left out"
            yield Repair(what="cut-source", message=OURS, why=why)
