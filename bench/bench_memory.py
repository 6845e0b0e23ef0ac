"""
What is still there when it is needed.

Agents' sessions are replayed under each strategy, everything that is sent within one cap. A probe is a path, an
identifier or a number that an answer uses and that was last said more than fifteen messages before: *named* if it
stands in the request, *in its setting* if three of the words that stood around it stand around it again (other names
do not count, so a bare list of names is no setting). A session is replayed at a cap when it is half as long again.

LoCoMo's questions are asked at the end of each conversation: the share whose evidence stands in the request, word for
word, and the share with that or all words of the answer.

What is tuned is tuned on every other session (the even ones); the tables show the others. `--quick`: fewer caps.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache

from bench.bench_window import quick
from bench.histories import json_list
from bench.locomo import Talk, talks, words_of
from bench.report import Report
from bench.transcripts import agents
from sash.core.cost import ANTHROPIC
from sash.core.fold import Fold
from sash.core.message import Message, Text
from sash.core.policy import Policy, limits_of
from sash.core.probe import Present
from sash.core.recall import Archive
from sash.core.request import assemble
from sash.core.size import size_of
from sash.core.survival import BIG_WINDOW, FRAMING, STRATEGIES, Session, Strategy, Survival, replay, session_of
from sash.counters import counter_for
from sash.wire import read_list

CAPS = (8_000, 30_000, 60_000)
BUDGETS = (2_000, 4_000, 8_000, 16_000)
LONG = 1.5
COUNTER = counter_for("gpt-5").counter
AIMS = {"named": (66, 88, 97), "in setting": (52, 78, 91)}


@cache
def _sessions() -> tuple[Session, ...]:
    read = (session_of(read_list(json_list(said), "openai-chat"), COUNTER) for said in agents().values())
    return tuple(session for session in read if session.tokens > CAPS[0] * LONG)


def halves() -> tuple[tuple[Session, ...], tuple[Session, ...]]:
    """The sessions to tune with, and those to report on."""
    return _sessions()[::2], _sessions()[1::2]


def run(report: Report) -> None:
    """Agents' sessions, then conversations."""
    _agents(report, halves()[1])
    _talks(report, talks())


def _agents(report: Report, sessions: Sequence[Session]) -> None:
    rows = []
    caps = CAPS[:1] if quick() else CAPS
    asked: list[str] = []
    for strategy in STRATEGIES:
        row = [strategy.name]
        asked = []
        for cap in caps:
            long = [session for session in sessions if session.tokens > LONG * cap]
            found = [replay(session, strategy, cap, COUNTER) for session in long]
            total = sum((one.present for one in found), Present())
            asked.append(f"{cap // 1000}k: {len(long)} sessions, {total.asked} probes")
            row += [_percent(total.named, total.asked), _percent(total.in_setting, total.asked), *_spent(found)]
        rows.append(row)
    columns = [f"{cap // 1000}k: {what}" for cap in caps for what in ("named", "in setting", "tokens", "cost", "peak")]
    report.table(
        "What agents need again, % still there",
        ["", *columns],
        rows,
        note=f"{'; '.join(asked)}. Cost: millions of input tokens at Anthropic's shape. "
        f"Aims: named {_aim('named')}, in setting {_aim('in setting')}",
    )


def _aim(name: str) -> str:
    return " / ".join(map(str, AIMS[name]))


def _spent(found: Sequence[Survival]) -> list[str]:
    requests = sum(one.account.requests for one in found)
    tokens = sum(one.account.charge.tokens for one in found)
    cost = sum(one.account.cost(ANTHROPIC) for one in found)
    largest = max((one.largest for one in found), default=0)
    return [f"{tokens / max(1, requests):,.0f}", f"{cost / 1e6:.2f}", f"{largest:,}"]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}" if whole else "-"


def _talks(report: Report, told: Sequence[Talk]) -> None:
    rows = []
    for strategy in TALK_STRATEGIES:
        row = [strategy.name]
        for budget in BUDGETS:
            evidence, answered, asked, largest = _asked(told, strategy, budget)
            row += [_percent(evidence, asked), _percent(answered, asked), f"{largest:,}"]
        rows.append(row)
    columns = [f"{budget // 1000}k: {what}" for budget in BUDGETS for what in ("evidence", "or answer", "peak")]
    questions = sum(len(talk.questions) for talk in told)
    report.table(
        "LoCoMo: questions whose evidence stands in the request, %",
        ["", *columns],
        rows,
        note=f"{len(told)} conversations, {questions} questions. Aims with recall: 75 / 82 / 88 / 97",
    )


def _asked(told: Sequence[Talk], strategy: Strategy, budget: int) -> tuple[int, int, int, int]:
    evidence = answered = asked = largest = 0
    policy = strategy.policy(budget) if strategy.policy is not None else Policy(history_tokens=budget)
    for talk in told:
        fold = Fold(policy, limits_of(policy, window=BIG_WINDOW), COUNTER)
        fold.memory = Archive() if policy.recall_tokens else None
        for message in read_list(json_list(talk.said), "openai-chat"):
            fold.add(message, size_of(message, COUNTER))
        for question in talk.questions:
            asking = fold.copy()
            message = Message(role="user", blocks=(Text(question.text),))
            asking.add(message, size_of(message, COUNTER))
            sent = assemble(asking).messages[:-1]
            largest = max(largest, sum(COUNTER.message(one).value for one in sent))
            request = "\n".join([one.whole_text for one in sent])
            found = question.has_evidence(request)
            evidence += found
            answered += found or question.has_answer(words_of(request))
            asked += 1
    return evidence, answered, asked, largest


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


def _talking(cap: int) -> Policy:
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


TALK_STRATEGIES = (
    *(strategy for strategy in STRATEGIES if strategy.policy is not None),
    Strategy("digest and facts, half", _talking),
    Strategy("recall, nine tenths", _recalling),
)


if __name__ == "__main__":
    if "--quick" in sys.argv:
        os.environ["SASH_BENCH_QUICK"] = "1"
    run(Report())
