"""A request on its way out: assembled, prepared for its wire, counted; and kept, because the next one grows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import msgspec

from sash.core.budget import Ledger, SourceName, settle
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.limits import Limits, budget_of
from sash.core.message import Message
from sash.core.request import OURS, beside_of, head_of, new_facts, told_beside
from sash.core.sources import Source, asked_by, cut_to
from sash.core.tokens import NO_TOKENS, Counter, TokenCount, total
from sash.errors import InvalidRequest
from sash.window.draft import Draft, SoFar
from sash.window.prepared import Made, Prepared
from sash.window.prompt import flat_prompt
from sash.window.report import Moment, Report, cut_sources, report_of, shortened_of
from sash.window.seal import Seal, Unseal
from sash.window.setup import Setup
from sash.wire import Preparing, Repair, carry_tools, wire_named, write_fields
from sash.wire.alternate import alternated
from sash.wire.breakpoints import place_breakpoints, spare
from sash.wire.check import crowded
from sash.wire.marks import marks_in

Lines = tuple[Ledger, dict[SourceName, TokenCount]]
"""A ledger, and what all but history take of it."""


class Settled:
    """Who gets what of the window."""

    def __init__(self, sources: tuple[Source, ...], lines: Callable[[], Lines]) -> None:
        self.sources = sources
        """As much of each as is sent."""
        self._settle = lines

    @cached_property
    def _lines(self) -> Lines:
        return self._settle()

    def laid_out(self, history: TokenCount, beside: Mapping[SourceName, TokenCount]) -> Ledger:
        """The ledger with what is used of it; `beside` is what stands with the current input."""
        ledger, used = self._lines
        whole = {**used, "history": history}
        for name, tokens in beside.items():
            whole[name] = whole.get(name, NO_TOKENS) + tokens
        return ledger.laid_out(whole)

    def alone(self, history: TokenCount) -> Ledger:
        """The ledger of a request in which nothing stands beside history."""
        return self._lines[0].laid_out({"history": history})


class _Head(msgspec.Struct, frozen=True):
    """What fixes the head of a request: while it is the same, only the tail grows."""

    frame: Frame
    limits: Limits
    prompts: int
    standing: tuple[str, ...]
    facts: str


class Grown(Made, frozen=True, gc=False):
    """A request as far as its draft had come."""

    outgoing: Outgoing
    so_far: SoFar
    moment: Moment
    settled: Settled
    told: Mapping[SourceName, str]
    """What of the log is told beside the current turn."""
    changed: Sequence[tuple[Message, int]] | None
    """What is sent in the form that the policy asks for; None where that is the draft's own."""
    merged: bool
    """That form has several messages in one."""
    unmarked: tuple[Repair, ...] = ()
    """The caller's breakpoints that are left out, where there are more than the provider takes."""

    def sent(self) -> Sequence[tuple[Message, int]]:
        """Its messages, each with its position in the log."""
        return self.so_far.sent() if self.changed is None else self.changed

    def written(self) -> Sequence[bytes]:
        """The JSON of each message, empty for a system prompt that stands apart; of none where it is not known yet."""
        return self.so_far.written() if self.changed is None else ()

    def positions(self) -> Sequence[int]:
        """Where in the log each message comes from; merged messages come from several places."""
        return [position for _, position in self.changed] if self.changed and self.merged else self.so_far.positions()

    def fields(self) -> dict[str, bytes]:
        """What it consists of, each field as its JSON."""
        tools, draft = self.outgoing.carried, self.so_far.draft
        if self.changed is not None:
            return write_fields([message for message, _ in self.changed], tools, self.wire)
        written = self.so_far.written()
        # What a restart found finished need not be read again: only what leads could stand apart.
        known = draft.sealed is not None and len(written) > draft.head + 1
        leading = draft.sent[: draft.head] if known else self.so_far.sent()
        return write_fields([message for message, _ in leading], tools, self.wire, written=written)

    def report(self) -> Report:
        """What was done to the history, and why."""
        cut = cut_sources(self.outgoing.setup.sources, self.settled.sources)
        whole = self.settled.laid_out(self.moment.history, self.outgoing.counted(self.told))
        # Words that a repair put in the place of something are sent, but not what was said.
        ledger = whole.within(self.tokens.value - self.so_far.added)
        repairs = [*self.outgoing.lost, *cut, *self.so_far.repaired(), *self.unmarked]
        return report_of(self.moment, repairs, self.so_far.handles(), ledger)


class Outgoing:
    """
    The requests of one window on one wire.

    Between two frames a request only grows at its tail, so what was put together, repaired,
    checked, counted and written for the last one is kept, and a request costs what is new.
    """

    def __init__(self, setup: Setup, counter: Counter, wire: str) -> None:
        self.setup, self.counter, self.wire = setup, counter, wire
        self._sealed: tuple[Seal, Frame, Unseal] | None = None
        """What a restart found finished, and the frame that it stands under."""
        self._head: _Head | None = None
        self._settled: Settled | None = None
        self._tools: TokenCount | None = None
        self.carried, self.lost = carry_tools(setup.tools, wire) if wire else ((), ())
        """The tools that go along, and a note for each that cannot."""
        policy = setup.policy
        self._changes = (policy.alternate and wire == "openai-chat") or (policy.breakpoints and wire == "anthropic")
        """Whether the policy asks for another form than the draft's own."""
        most = wire_named(wire).RULES.most_breakpoints if wire else 0
        self._marks = sum(marks_in(tool.source) for tool in self.carried) if most else 0
        """Breakpoints of the tools."""
        self._room = most - self._marks if most else None
        """So many breakpoints messages may have beside them; None where there are no such."""
        self._base: Draft | None = None
        """The request without its current turn where something stands beside that turn, else all of it."""
        self._tip: Draft | None = None
        """The request with what stands beside the current turn."""
        self._beside: tuple[int | None, Message | None] = (None, None)

    def copy(self, setup: Setup, counter: Counter) -> Outgoing:
        """Requests that grow by themselves from here, of a setup and counter that are equal to these."""
        twin = Outgoing(setup, counter, self.wire)
        twin.__dict__.update(self.__dict__)
        twin.setup, twin.counter = setup, counter
        twin._base = self._base.copy() if self._base is not None else None  # its own kind
        twin._tip = self._tip.copy() if self._tip is not None else None  # its own kind
        return twin

    def go_on(self, seal: Seal, frame: Frame, log: Unseal) -> None:
        """Let requests grow from what was sealed under this frame."""
        self._sealed = seal, frame, log

    def seal(self, fold: Fold) -> Seal | None:
        """What a restart needs to go on from this request; None where something had to be repaired."""
        sources = self.settled(fold).sources
        current = fold.newest
        if current is None or fold.placing.calls_open:
            return None
        accompanied = fold.recalls or bool(new_facts(fold)) or not all(source.stable for source in sources)
        base = self._based(fold, sources, accompanied)
        base.take(base.turns.grown(fold, before=current if accompanied else None))
        return base.seal(fold)

    def prepared(self, fold: Fold) -> Prepared:
        """The request as this fold has it."""
        settled = self.settled(fold)
        if self.wire == "flat":
            return self._flat(fold, settled)
        told = told_beside(fold)
        draft = self._drafted(fold, settled.sources, told).finished()
        draft.preparing.check()
        so_far, tokens, exact = draft.so_far(), draft.tokens, draft.exact
        changed = self._changed(so_far) if self._changes else None
        merged = changed is not None and len(changed) != len(so_far.written())
        unmarked: tuple[Repair, ...] = ()
        if self._room is not None and draft.marks > self._room:
            changed, unmarked = self._spared(so_far)
        if changed is not None and merged:
            said = total(self.counter.message(message) for message, _ in changed)
            tokens, exact = said.value, said.exact
        if fold.factor != 1.0 or fold.beyond:
            # Reports speak of history: of what stands beside it they teach nothing.
            tokens, exact = tokens - fold.tokens + fold.total.value, exact and fold.factor == 1.0
        beside = self._beside_messages()
        taken = TokenCount(tokens + beside.value, exact and beside.exact)
        made = Grown(
            self.wire, fold, taken, draft.size, self, so_far, Moment.of(fold), settled, told, changed, merged, unmarked
        )
        return Prepared(made, made.fields, made.report)

    def _changed(self, so_far: SoFar) -> Sequence[tuple[Message, int]]:
        """What is sent in the form that the policy asks for."""
        if self.wire == "openai-chat":
            return self._alternated(so_far.sent())
        sent = so_far.sent()
        marked = place_breakpoints([message for message, _ in sent], self.carried, head=so_far.draft.head)
        return [_known(message, entry) for message, entry in zip(marked, sent, strict=True)]

    def _spared(self, so_far: SoFar) -> tuple[Sequence[tuple[Message, int]], tuple[Repair, ...]]:
        """What is sent of a history in which more breakpoints were gathered than the provider takes."""
        sent = so_far.sent()
        left = spare([message for message, _ in sent], self.carried)
        problems = crowded(left.messages, wire_named(self.wire).RULES, beside=self._marks)
        if problems:
            raise InvalidRequest(self.wire, tuple(problem.what for problem in problems))
        changed = [_known(message, entry) for message, entry in zip(left.messages, sent, strict=True)]
        return changed, left.repairs(so_far.positions())

    def settled(self, fold: Fold) -> Settled:
        """Who gets what of the window. What stands at the head never depends on what changes with each input."""
        head = self._head
        if (
            self._settled is None
            or head is None
            or fold.frame is not head.frame
            or len(fold.system) != head.prompts
            or fold.standing.digest != head.standing[0]
            or (fold.limits is not head.limits and fold.limits != head.limits)
        ):
            steps = [fold.step_text(digested.turn) for digested in fold.frame.digested]
            self._head = head = _Head(
                fold.frame, fold.limits, len(fold.system), (fold.digest_text(), *steps), fold.standing.facts
            )
            self._base, self._tip = None, None
            self._settled = self._settle(fold, head)
        return self._settled

    def beside(self, fold: Fold) -> dict[SourceName, TokenCount]:
        """What stands with the current input takes."""
        return self.counted(told_beside(fold))

    def counted(self, told: Mapping[SourceName, str]) -> dict[SourceName, TokenCount]:
        """What is told beside the current turn takes, by its source."""
        return {name: self.counter.text(text) for name, text in told.items()}

    def _settle(self, fold: Fold, head: _Head) -> Settled:
        given = self.setup.sources
        listed = total(TokenCount(live.size.tokens, live.size.exact) for live in fold.system)
        if not given:
            # Nothing is to be cut: who got what is only told.
            return Settled((), lambda: self._lines(head, listed, (), ()))
        stable = tuple(source for source in given if source.stable)
        ledger, _ = self._lines(head, listed, stable, ())
        stable = cut_to(stable, ledger, self.counter)
        volatile = tuple(source for source in given if not source.stable)
        if volatile:
            ledger, _ = self._lines(head, listed, stable, volatile)
            volatile = cut_to(volatile, ledger, self.counter, taken=asked_by(stable, self.counter))
        used = {**self._fixed(head, listed), **asked_by((*stable, *volatile), self.counter)}
        return Settled((*stable, *volatile), lambda: (ledger, used))

    def _lines(
        self, head: _Head, listed: TokenCount, stable: tuple[Source, ...], volatile: tuple[Source, ...]
    ) -> Lines:
        fixed, sources = self._fixed(head, listed), asked_by((*stable, *volatile), self.counter)
        # History asks for its high mark: it grows until the next frame.
        asked = {**fixed, "history": TokenCount(head.limits.high), **sources}
        ledger = settle(budget_of(self.setup.policy, head.limits), asked, head.limits.window)
        return ledger.reserving(head.limits.reserve), {**fixed, **sources}

    def _fixed(self, head: _Head, listed: TokenCount) -> dict[SourceName, TokenCount]:
        counter = self.counter
        return {
            "system": total((*map(counter.message, self.setup.system), listed, TokenCount(counter.priming))),
            "tools": self.setup.tool_tokens(counter),
            "summary": total(map(counter.text, filter(None, head.standing))),
            **({"facts": counter.text(head.facts)} if head.facts else {}),
        }

    def _drafted(self, fold: Fold, sources: Sequence[Source], told: Mapping[SourceName, str]) -> Draft:
        """The draft of this request: the last one, grown, wherever that can be."""
        current = fold.newest
        beside = beside_of(told, sources=sources) if current is not None else None
        base = self._based(fold, sources, beside is not None)
        if fold.placing.calls_open and any(turn != current for turn in fold.placing.waiting):
            # An earlier turn will still grow, before what stands after it now: this draft is for this request only.
            base = base.copy()
            base.take(base.turns.grown(fold, before=current))
            base.take([] if beside is None else [(beside, None)])
            base.take(base.turns.grown(fold))
            return base
        if beside is None:
            base.take(base.turns.grown(fold))
            return base
        base.take(base.turns.grown(fold, before=current))
        tip = self._tip
        if tip is None or self._beside != (current, beside) or not tip.turns.stands(fold):
            tip, self._beside = base.copy(), (current, beside)
            tip.take([(beside, None)])
            self._tip = tip
        tip.take(tip.turns.grown(fold))
        return tip

    def _based(self, fold: Fold, sources: Sequence[Source], accompanied: bool) -> Draft:
        """The request so far; without its current turn, where something stands beside that."""
        base = self._base
        if base is None or not base.turns.stands(fold) or (accompanied and base.turns.turn == fold.newest):
            base = self._base = self._started(fold, sources, accompanied)
            self._tip = None
        return base

    def _started(self, fold: Fold, sources: Sequence[Source], accompanied: bool) -> Draft:
        if self._sealed is not None:
            (seal, frame, log), self._sealed = self._sealed, None
            if frame is fold.frame and not (accompanied and seal.reached.turn == fold.newest):
                draft = self._headed(fold, sources, counted=True)
                if draft.go_on(seal, fold, log):
                    return draft
        return self._headed(fold, sources)

    def _headed(self, fold: Fold, sources: Sequence[Source], *, counted: bool = False) -> Draft:
        preparing = Preparing(self.wire, continued=self.setup.continued, signs=self.setup.signs, heeds=self.setup.heeds)
        draft = Draft(fold, preparing, self.counter)
        whole = [*((message, None) for message in self.setup.system), *head_of(fold, sources=sources)]
        draft.take(whole, counted=counted)
        draft.head = len(draft.given)
        return draft

    def _beside_messages(self) -> TokenCount:
        """What the tools take, and what every request costs."""
        if self._tools is None:
            written = self.counter.tools([wire_named(self.wire).write_tool(tool) for tool in self.carried])
            self._tools = written + TokenCount(self.counter.priming)
        return self._tools

    def _alternated(self, sent: Sequence[tuple[Message, int]]) -> list[tuple[Message, int]]:
        origins = {id(message): origin for message, origin in sent}
        messages = alternated(message for message, _ in sent)
        problems = wire_named(self.wire).problems(messages)
        if problems:
            raise InvalidRequest(self.wire, tuple(problem.what for problem in problems))
        return [(message, origins.get(id(message), OURS)) for message in messages]

    def _flat(self, fold: Fold, settled: Settled) -> Prepared:
        """One prompt of text: what has no place in it is named."""
        prompt = flat_prompt(fold, self.setup.policy)
        without = [("system", self.setup.system or fold.system), ("sources", self.setup.sources)]
        repairs = [
            *self.lost,
            *cut_sources(self.setup.sources, settled.sources),
            *(
                Repair(what="left-out", message=OURS, why=f"{name} has no place in a flat prompt")
                for name, had in without
                if had
            ),
        ]
        by_frame = {short.handle for short in fold.frame.shortened}
        shortened = [handle for live in fold.window() for handle in shortened_of(live, by_frame)]
        tokens = self.counter.text(prompt.text)
        ledger = settled.alone(tokens)
        told = report_of(Moment.of(fold), repairs, shortened, ledger)
        report = msgspec.structs.replace(
            told,
            turns_in=prompt.turns,
            turns_out=tuple(sorted({*told.turns_out, *fold.turns} - {*prompt.turns})),
            unsent=min(round(prompt.unsent * fold.factor), fold.total.value),
        )
        fields = {"prompt": msgspec.json.encode(prompt.text)}
        made = Made(self.wire, fold, tokens, len(fields["prompt"]))
        return Prepared(made, lambda: fields, lambda: report)


def _known(message: Message, before: tuple[Message, int]) -> tuple[Message, int]:
    return before if message is before[0] else (message, OURS)
