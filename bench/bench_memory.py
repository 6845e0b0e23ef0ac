"""
What is still there when it is needed.

Agents' sessions are replayed under each strategy, everything that is sent within one cap. A probe is a path, an
identifier or a number that an answer uses and that was last said more than fifteen messages before: *named* if it
stands in the request, *in its setting* if three of the words that stood around it stand around it again (other names
do not count, so a bare list of names is no setting). *Commands* are those that are run again as they were; *wishes*
what the user wanted from there on, looked for, word for word, when an answer speaks in its words again. A session is
replayed at a cap when it is half as long again.

LoCoMo's questions are asked at the end of each conversation: the share whose evidence stands in the request, word for
word, and the share with that or all words of the answer, wherever they stand.

What is tuned is tuned on every other session (the even ones); the tables show the others. `--quick`: fewer caps.
`--provider NAME:MODEL` (`local`, `echo`, `openai:...`, `anthropic:...`) says who writes a model's summaries; left out,
`echo`, which is never believed, so that the row shows what a model costs that cannot summarize.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter

import msgspec

from bench.bench_window import quick
from bench.gates import gates
from bench.histories import json_list
from bench.locomo import Question, Talk, talks, words_of
from bench.report import Report
from bench.transcripts import DATA, agents
from sash.core.cost import ANTHROPIC, Piece, charge
from sash.core.departed import departed_turn
from sash.core.digest import Digest
from sash.core.fold import Fold
from sash.core.limits import limits_of
from sash.core.message import Message, Text
from sash.core.policy import Policy
from sash.core.probe import Present
from sash.core.request import assemble
from sash.core.size import size_of
from sash.core.survival import (
    BIG_WINDOW,
    FRAMING,
    STRATEGIES,
    Folded,
    Sending,
    Session,
    Strategy,
    Survival,
    digested,
    replay,
    sending_by,
    session_of,
)
from sash.core.told import Room, digest_text
from sash.counters import counter_for
from sash.summarize import summarizer_of
from sash.summarize.rehearsal import Rehearsal
from sash.transcripts import open_transcript
from sash.wire import read_list
from tests.injections import PAYLOADS
from tests.injections import measured as injected

CAPS = (8_000, 30_000, 60_000)
BUDGETS = (2_000, 4_000, 8_000, 16_000)
LONG = 1.5
COUNTER = counter_for("gpt-5").counter
AIMS = {"named": (66, 88, 97), "in setting": (52, 78, 91)}
PROVIDER = "SASH_BENCH_PROVIDER"
TRANSCRIPT = 4_000_000
"""Bytes."""


class Sender(msgspec.Struct, frozen=True):
    """A row of a table: who sends, for a cap."""

    name: str
    sending: Callable[[int], Sending]


@cache
def _sessions() -> tuple[Session, ...]:
    read = (session_of(read_list(json_list(said), "openai-chat"), COUNTER) for said in agents().values())
    return tuple(session for session in read if session.tokens > CAPS[0] * LONG)


def halves() -> tuple[tuple[Session, ...], tuple[Session, ...]]:
    """The sessions to tune with, and those to report on."""
    return _sessions()[::2], _sessions()[1::2]


def run(report: Report) -> None:
    """Agents' sessions, then conversations, then what recall would cost less behind a gate, then injections."""
    told = talks()
    for cap in CAPS[:1] if quick() else CAPS:
        _agents(report, [session for session in halves()[1] if session.tokens > LONG * cap], cap)
    _talks(report, told)
    gates(report, told, halves()[1], COUNTER)
    _injections(report)
    _digesting(report)


def _rows(strategies: Sequence[Strategy]) -> list[Sender]:
    return [Sender(one.name, lambda cap, one=one: sending_by(one, cap, COUNTER)) for one in strategies]  # type: ignore[misc]  # a default is how a loop's value is kept


def _summarized(policy: Callable[[int], Policy], made: list[Rehearsal]) -> Sender:
    writing = summarizer_of(os.environ.get(PROVIDER) or "echo")

    def sending(cap: int) -> Sending:
        made.append(Rehearsal(policy(cap), COUNTER, writing))
        return made[-1]

    return Sender(f"summary by {writing.provider.model}", sending)


def _told(made: Sequence[Rehearsal]) -> str:
    """What became of a model's summaries, and what they cost beside the requests."""
    believed, rejected = sum(one.published for one in made), sum(len(one.errors) for one in made)
    spent = sum(one.spent.tokens for one in made)
    return f"The model's summaries: {believed} believed, {rejected} not, {spent:,} tokens read and written for them."


# Agents.


def _agents(report: Report, sessions: Sequence[Session], cap: int) -> None:
    made: list[Rehearsal] = []
    rows, total = [], Survived()
    for sender in [*_rows(STRATEGIES), _summarized(lambda cap: digested(cap, facts=cap // 40), made)]:
        total = Survived(tuple(replay(session, sender.sending(cap), COUNTER) for session in sessions))
        rows.append([sender.name, *total.row()])
    names, commands, wishes = (of.asked for of in total.parts())
    aim = " and ".join(f"{name} {of[CAPS.index(cap)]}" for name, of in AIMS.items())
    report.table(
        f"What agents need again within {cap:,} tokens, % still there",
        ["", "named", "setting", "commands", "wishes", "tokens", "peak", "cost"],
        rows,
        note=f"{len(sessions)} sessions; {names:,} names, {commands:,} commands and {wishes:,} wishes used again. "
        f"Cost: millions of input tokens at Anthropic's shape. Aims: {aim}. {_told(made)}",
    )


class Survived(msgspec.Struct, frozen=True):
    """Some sessions, added up."""

    all: tuple[Survival, ...] = ()

    def parts(self) -> tuple[Present, Present, Present]:
        """Names, commands and wishes."""
        return (
            sum((one.present for one in self.all), Present()),
            sum((one.commands for one in self.all), Present()),
            sum((one.wishes for one in self.all), Present()),
        )

    def row(self) -> list[str]:
        """As the table shows them."""
        names, commands, wishes = self.parts()
        requests = sum(one.account.requests for one in self.all)
        tokens = sum(one.account.charge.tokens for one in self.all)
        cost = sum(one.account.cost(ANTHROPIC) for one in self.all)
        return [
            _percent(names.named, names.asked),
            _percent(names.in_setting, names.asked),
            _percent(commands.named, commands.asked),
            _percent(wishes.named, wishes.asked),
            f"{tokens / max(1, requests):,.0f}",
            f"{max((one.largest for one in self.all), default=0):,}",
            f"{cost / 1e6:.2f}",
        ]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}" if whole else "-"


# People talking.


class Answered(msgspec.Struct, frozen=True):
    """What became of some questions."""

    asked: int = 0
    evidence: int = 0
    either: int = 0
    """The evidence, or all words of the answer."""
    tokens: int = 0
    cost: float = 0.0
    largest: int = 0

    def __add__(self, other: Answered) -> Answered:
        return Answered(
            self.asked + other.asked,
            self.evidence + other.evidence,
            self.either + other.either,
            self.tokens + other.tokens,
            self.cost + other.cost,
            max(self.largest, other.largest),
        )


def _talks(report: Report, told: Sequence[Talk]) -> None:
    made: list[Rehearsal] = []
    shares, prices = [], []
    for sender in [*_rows(TALK_STRATEGIES), _summarized(_half, made)]:
        found = [sum((_asked(talk, sender, budget) for talk in told), Answered()) for budget in BUDGETS]
        shares.append(
            [sender.name, *(_percent(part, one.asked) for one in found for part in (one.evidence, one.either))]
        )
        prices.append(
            [
                sender.name,
                *(
                    text
                    for one in found
                    for text in (f"{one.tokens / max(1, one.asked):,.0f}", f"{one.cost / max(1, one.asked):,.0f}")
                ),
            ]
        )
    questions = sum(len(talk.questions) for talk in told)
    report.table(
        "LoCoMo: questions whose evidence stands in the request, or else all words of the answer, %",
        ["", *(f"{budget // 1000}k{what}" for budget in BUDGETS for what in ("", " or"))],
        shares,
        note=f"{len(told)} conversations, {questions} questions. First the evidence word for word, then that or the "
        "answer. Aims with recall: 75 / 82 / 88 / 97; without it above `clip only` and `first-sentences`. "
        f"{_told(made)}",
    )
    report.table(
        "LoCoMo: what a question takes",
        ["", *(f"{budget // 1000}k {what}" for budget in BUDGETS for what in ("tokens", "cost"))],
        prices,
        note="Cost: of the request that asks, in tokens at list price, with all before the question cached.",
    )


def _asked(talk: Talk, sender: Sender, budget: int) -> Answered:
    sending = sender.sending(budget)
    for message in read_list(json_list(talk.said), "openai-chat"):
        sending.add(message, size_of(message, COUNTER))
    before = _pieces(sending.request())
    if not isinstance(sending, Folded) or not sending.fold.policy.recall_tokens:
        # The same request whatever is asked.
        return _answered(sending.request(), before, talk.questions)
    total = Answered()
    for question in talk.questions:
        asking, message = sending.fold.copy(), Message(role="user", blocks=(Text(question.text),))
        asking.add(message, size_of(message, COUNTER))
        total += _answered(assemble(asking).messages[:-1], before, [question])
    return total


def _pieces(sent: Sequence[Message]) -> list[Piece]:
    return [Piece(one.whole_text.encode("utf-8", "surrogatepass"), COUNTER.message(one).value) for one in sent]


def _answered(sent: Sequence[Message], before: Sequence[Piece], questions: Sequence[Question]) -> Answered:
    request = "\n".join([one.whole_text for one in sent])
    words, pieces = words_of(request), _pieces(sent)
    tokens, cost = sum(piece.tokens for piece in pieces), charge(before, pieces).cost(ANTHROPIC)
    found = Answered()
    for question in questions:
        evidence = question.has_evidence(request)
        found += Answered(1, evidence, evidence or question.has_answer(words), tokens, cost, tokens)
    return found


def _recalling(cap: int) -> Policy:
    """Nine tenths of it for what is recalled."""
    most = cap * 9 // 10
    return Policy(
        history_tokens=cap - most,
        keep_share=1.0,
        soft_share=1.0,
        summary_tokens=0,
        step_digest_tokens=0,
        facts_tokens=0,
        recall_tokens=most - FRAMING,
    )


def _half(cap: int) -> Policy:
    """Half of it for what stands for the turns that left."""
    facts = cap // 40
    return Policy(
        history_tokens=cap // 2,
        keep_share=1.0,
        soft_share=1.0,
        summary_tokens=cap - cap // 2 - facts - FRAMING,
        step_digest_tokens=0,
        facts_tokens=facts,
    )


def _carrying(cap: int) -> Policy:
    """Most of it for turns that are kept for their priority; a small digest, and facts."""
    facts, digest = cap // 80, min(cap // 8, 800)
    history = cap - facts - digest - FRAMING
    return Policy(
        history_tokens=history,
        carry_tokens=history * 9 // 10,
        min_turns=1,
        keep_share=1.0,
        soft_share=1.0,
        summary_tokens=digest,
        step_digest_tokens=0,
        facts_tokens=facts,
    )


TALK_STRATEGIES = (
    *STRATEGIES,
    Strategy("digest, facts, half", _half),
    Strategy("digest, facts, priority", _carrying),
    Strategy("recall, nine tenths", _recalling),
)


# How long it takes.


def _digesting(report: Report) -> None:
    """Everything that a long session said leaves at once, and is told."""
    file = max(DATA.glob("claude-code/*.jsonl"), key=lambda path: path.stat().st_size)
    of_file = [entry.message for entry in open_transcript(file).messages()]
    joined: list[Message] = []
    size = 0
    for message in (message for session in _sessions() for message in session.messages):
        if size < TRANSCRIPT:
            joined.append(message)
            size += len(message.source or message.whole_text.encode("utf-8", "surrogatepass"))
    report.table(
        "Digesting all of a session at once, ms",
        ["", "MB", "messages", "first", "best of five"],
        [
            [f"the largest session file, {file.stem[:10]}", f"{file.stat().st_size / 1e6:.1f}", *_digested(of_file)],
            ["messages of several sessions, joined", f"{size / 1e6:.1f}", *_digested(joined)],
        ],
        note="Aim: a transcript of 4 MB under 150 ms. A file holds more than its messages; the second row does not.",
    )


def _digested(messages: Sequence[Message]) -> list[str]:
    policy = Policy(history_tokens=100_000_000)
    fold = Fold(policy, limits_of(policy, window=BIG_WINDOW), COUNTER)
    for message in messages:
        fold.add(message, size_of(message, COUNTER))
    taken = []
    for _ in range(5):
        digest, began = Digest(), perf_counter()
        for turn in fold.turns.values():
            digest.take([departed_turn(turn, {})])
        digest_text(digest, "digest", Room(4_000, lambda text: COUNTER.text(text).value))
        taken.append((perf_counter() - began) * 1_000)
    return [f"{len(messages):,}", f"{taken[0]:.0f}", f"{min(taken):.0f}"]


# What tools say.


def _injections(report: Report) -> None:
    report.table(
        f"{len(PAYLOADS)} texts of tools that want to be obeyed: how many became something to do",
        ["", "got through"],
        [[name, f"{through} of {of}"] for name, (through, of) in injected().items()],
        note="The model does all that the texts say; only what the verifier lets pass is published.",
    )


if __name__ == "__main__":
    if "--quick" in sys.argv:
        os.environ["SASH_BENCH_QUICK"] = "1"
    run(Report())
