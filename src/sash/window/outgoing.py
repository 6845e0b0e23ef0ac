"""A request on its way out: assembled, prepared for its wire, counted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.budget import Ledger, SourceName, settle
from sash.core.fold import Fold
from sash.core.message import Message
from sash.core.policy import budget_of
from sash.core.request import OURS, Assembled, assemble
from sash.core.sources import Source, asked_by, cut_to
from sash.core.tokens import Counter, TokenCount, total
from sash.errors import InvalidRequest
from sash.window.prepared import Prepared
from sash.window.prompt import flat_prompt
from sash.window.report import Report, cut_sources, report_of
from sash.window.setup import Setup
from sash.wire import Repair, Tool, carry_tools, prepare, wire_named, write_fields
from sash.wire.alternate import alternated
from sash.wire.breakpoints import place_breakpoints


class Settled(msgspec.Struct, frozen=True):
    """Who gets what of the window."""

    ledger: Ledger
    sources: tuple[Source, ...]
    """As much of each as is sent."""


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """What a request is made from, beside the fold."""

    setup: Setup
    counter: Counter
    wire: str

    def prepared(self, fold: Fold) -> Prepared:
        """The request as this fold has it."""
        settled = self.settled(fold)
        tools, lost = carry_tools(self.setup.tools, self.wire)
        report = report_of(fold, (*lost, *cut_sources(self.setup.sources, settled.sources)), settled.ledger)
        if self.wire == "flat":
            return self._flat(fold, report)
        assembled = assemble(fold, sources=settled.sources)
        messages, repairs = self._prepared(assembled, tools)
        origins = {id(message): origin for message, origin in zip(assembled.messages, assembled.origins, strict=True)}
        sent = [(message, origins.get(id(message), OURS)) for message in messages]
        fields = write_fields(messages, tools, self.wire)
        report = msgspec.structs.replace(report, repairs=(*report.repairs, *repairs))
        return Prepared(self.wire, fold, fields, sent, self._count(sent, tools, fold), report)

    def _prepared(self, assembled: Assembled, tools: Sequence[Tool]) -> tuple[tuple[Message, ...], list[Repair]]:
        """The messages as they go out, and what had to be done, told of the history that was given."""
        prompt, policy = self.setup.system, self.setup.policy
        prepared = prepare((*prompt, *assembled.messages), self.wire)
        messages, places = prepared.messages, (*(OURS for _ in prompt), *assembled.origins)
        repairs = [msgspec.structs.replace(made, message=places[made.message]) for made in prepared.repairs]
        if policy.alternate and self.wire == "openai-chat":
            messages = alternated(messages)
            problems = wire_named(self.wire).problems(messages)
            if problems:
                raise InvalidRequest(self.wire, tuple(problem.what for problem in problems))
        if policy.breakpoints and self.wire == "anthropic":
            messages = place_breakpoints(messages, tools, head=len(prompt) + assembled.head)
        return messages, repairs

    def _flat(self, fold: Fold, report: Report) -> Prepared:
        """One prompt of text: what has no place in it is named."""
        prompt, turns = flat_prompt(fold, self.setup.policy)
        lost = [("system", self.setup.system or fold.system), ("sources", self.setup.sources)]
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
        return Prepared(self.wire, fold, fields, (), self.counter.text(prompt), report)

    def settled(self, fold: Fold) -> Settled:
        """Who gets what of the window. What stands at the head never depends on what changes with each input."""
        limits, counter, given = fold.limits, self.counter, self.setup.sources
        standing = [fold.digest_text(), *(fold.step_text(turn.number) for turn in fold.turns.values() if turn.digested)]
        listed = [TokenCount(live.size.tokens, live.size.exact) for live in fold.system]
        used: dict[SourceName, TokenCount] = {
            "system": total((*map(counter.message, self.setup.system), *listed, TokenCount(counter.priming))),
            "tools": self.setup.tool_tokens(counter),
            "history": fold.calibrated(fold.tokens, fold.exact),
            "summary": total(map(counter.text, filter(None, standing))),
        }
        # History asks for its high mark: it grows until the next frame.
        asked = {**used, "history": TokenCount(limits.high)}
        budget = budget_of(self.setup.policy, limits)
        stable = tuple(source for source in given if source.stable)
        ledger = settle(budget, {**asked, **asked_by(stable, counter)}, limits.window)
        stable = cut_to(stable, ledger, counter)
        taken = asked_by(stable, counter)
        volatile = tuple(source for source in given if not source.stable)
        if volatile:
            ledger = settle(budget, {**asked, **asked_by((*stable, *volatile), counter)}, limits.window)
            volatile = cut_to(volatile, ledger, counter, taken=taken)
        sources = (*stable, *volatile)
        return Settled(ledger.laid_out({**used, **asked_by(sources, counter)}), sources)

    def _count(self, sent: Sequence[tuple[Message, int]], tools: Sequence[Tool], fold: Fold) -> TokenCount:
        """What the request takes: what was counted when it entered is not counted again."""
        sizes = {live.position: live.size for live in fold.window()}
        counts = [
            TokenCount(sizes[origin].tokens, sizes[origin].exact)
            if origin in sizes and not message.edited
            else self.counter.message(message)
            for message, origin in sent
        ]
        said = total(counts)
        if fold.factor != 1.0:
            said = said.scaled(fold.factor)
        written = self.counter.tools([wire_named(self.wire).write_tool(tool) for tool in tools])
        return total((said, written, TokenCount(self.counter.priming)))
