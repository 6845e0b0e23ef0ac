"""
What recall would cost, and bring, if it looked at the input first and spent nothing where it seems not to be needed.

Three gates let an input pass: one that asks (a question mark), also one that speaks of the past (*again*, *you said*,
*last week*), also one with a name in it (inside a sentence, or an identifier, or a number). Measured is what each
saves, and what of recall's use is lost with it: questions whose evidence is found no more; of the rare words of the
next reply that only the recalled block has, less those that the block of another input has too; of the names agents
use again, those that only the block shows in their setting.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence

import msgspec

from bench.histories import json_list
from bench.locomo import Talk
from bench.report import Report
from sash.core.fold import Fold
from sash.core.message import Message, Text
from sash.core.policy import Policy
from sash.core.probe import present
from sash.core.recall import TITLE
from sash.core.request import assemble
from sash.core.size import size_of
from sash.core.survival import Folded, Session, digested
from sash.core.terms import REACH, speaker_of, terms_of
from sash.core.tokens import Counter
from sash.core.turn import wrote
from sash.wire import read_list

CHAT = Policy(history_tokens=4_000, summary_tokens=400, step_digest_tokens=0, facts_tokens=100, recall_tokens=2_000)
CAP = 8_000
RARE = 4
"""Messages that a rare word stands in, at the most."""

_question = re.compile(r"[?\uff1f\u061f]")
_past = re.compile(
    r"\b(?:remember|recall|remind|earlier|before|previous(?:ly)?|again|last (?:time|week|month|year|night)|yesterday|"
    r"ago|already|same|still|used to|as (?:i|we|you) (?:said|did)|(?:we|you|i) (?:did|said|told|asked|mentioned|"
    r"discussed|talked|agreed|decided|suggested|wrote|showed|wanted|used))\b",
    re.IGNORECASE,
)
_name = re.compile(r"[\w-]+(?:[./_][\w-]+)+|\b\d{2,}\b|(?<![.!?]\s)(?<!\A)\b[A-Z][a-z]{2,}\b")


def _asks(words: str) -> bool:
    return _question.search(words) is not None


def _asks_or_looks_back(words: str) -> bool:
    return _asks(words) or _past.search(words) is not None


def _asks_looks_back_or_names(words: str) -> bool:
    return _asks_or_looks_back(words) or _name.search(words) is not None


GATES: dict[str, Callable[[str], bool]] = {
    "asks": _asks,
    "asks, or looks back": _asks_or_looks_back,
    "asks, looks back or names": _asks_looks_back_or_names,
}


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """Something the user said, and what was recalled for it."""

    words: str
    tokens: int
    """Of the block."""
    of_use: float = 0.0
    """What only the block brought."""


def gates(report: Report, told: Sequence[Talk], sessions: Sequence[Session], counter: Counter) -> None:
    """The price of each gate."""
    talking, asking = [], []
    for talk in told:
        said, asked = _conversation(talk, counter)
        talking += said
        asking += asked
    working = [one for session in sessions for one in _session(session, counter)]
    rows = [[name, *_lost(gate, talking), *_lost(gate, asking), *_lost(gate, working)] for name, gate in GATES.items()]
    report.table(
        "Recall behind a gate: % of its tokens saved, and % of what it brings lost with them",
        ["lets pass what", "talk", "lost", "questions", "lost", f"agents {CAP // 1000}k", "lost"],
        rows,
        note=f"{len(talking):,} inputs of people talking, {len(asking):,} questions about it, {len(working):,} inputs "
        "to agents, each with a block. What is not a question is lost as it is saved: recall has no gate.",
    )


def _lost(gate: Callable[[str], bool], inputs: Sequence[Input]) -> tuple[str, str]:
    off = [one for one in inputs if not gate(one.words)]
    saved = sum(one.tokens for one in off) / max(1, sum(one.tokens for one in inputs))
    use = sum(one.of_use for one in inputs)
    return f"{100 * saved:.0f}", f"{100 * sum(one.of_use for one in off) / use:.0f}" if use else "-"


def _own(message: Message) -> str:
    """What was said, without who said it."""
    name = speaker_of(message.text)
    return message.text.partition(f"{name}: ")[2] if name else message.text


def _conversation(talk: Talk, counter: Counter) -> tuple[list[Input], list[Input]]:
    messages = read_list(json_list(talk.said), "openai-chat")
    sending = Folded(CHAT, counter)
    standing: Tally[str] = Tally()
    heard: list[tuple[str, int, frozenset[str], frozenset[str]]] = []
    for place, message in enumerate(messages):
        sending.add(message, size_of(message, counter))
        standing.update(set(_terms(message.text)))
        block = sending.fold.recalled() if wrote(message) else None
        if block is not None and block.text:
            window = _terms("\n".join(one.whole_text for one in sending.request() if TITLE not in one.whole_text))
            reply = _terms(" ".join(_reply(messages, place))) - window - _terms(message.text)
            rare = frozenset(term for term in reply if 1 <= standing[term] <= RARE)
            heard.append((_own(message), block.tokens, rare, _terms(block.text)))
    said = []
    for place, (words, tokens, rare, block_terms) in enumerate(heard):
        other = heard[(place + len(heard) // 2) % len(heard)][3]
        said.append(Input(words=words, tokens=tokens, of_use=len(rare & block_terms) - len(rare & other)))
    return said, list(_questions(talk, sending.fold, counter))


def _questions(talk: Talk, fold: Fold, counter: Counter) -> Iterator[Input]:
    for question in talk.questions:
        asking, message = fold.copy(), Message(role="user", blocks=(Text(question.text),))
        asking.add(message, size_of(message, counter))
        block = asking.recalled()
        sent = [one.whole_text for one in assemble(asking).messages[:-1]]
        found = question.has_evidence("\n".join(sent))
        without = question.has_evidence("\n".join(text for text in sent if TITLE not in text))
        yield Input(words=question.text, tokens=0 if block is None else block.tokens, of_use=found - without)


def _reply(messages: Sequence[Message], place: int) -> Iterator[str]:
    for message in messages[place + 1 :]:
        if wrote(message):
            return
        yield message.text


def _terms(text: str) -> frozenset[str]:
    pieces = range(0, len(text), REACH)
    return frozenset(term for first in pieces for term in terms_of(text[first : first + REACH]))


def _session(session: Session, counter: Counter) -> Iterator[Input]:
    policy = digested(CAP, facts=CAP // 40, recall=CAP // 10)
    sending = Folded(policy, counter)
    words, tokens, of_use = "", 0, 0
    for position, (message, size) in enumerate(zip(session.messages, session.sizes, strict=True)):
        if message.role == "assistant" and tokens and position in session.probes:
            sent = [one.whole_text for one in sending.request()]
            probes = session.probes[position]
            whole = present(probes, "\n".join(sent)).in_setting
            of_use += whole - present(probes, "\n".join(text for text in sent if TITLE not in text)).in_setting
        sending.add(message, size)
        if wrote(message):
            if tokens:
                yield Input(words=words, tokens=tokens, of_use=of_use)
            block = sending.fold.recalled()
            words, tokens, of_use = message.text, 0 if block is None else block.tokens, 0
    if tokens:
        yield Input(words=words, tokens=tokens, of_use=of_use)
