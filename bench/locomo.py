"""
LoCoMo: very long conversations of two people, and questions about them with the turns that hold the evidence.

The first speaker is the user, the second the assistant. A session begins with its date. A question is asked when all
has been said; it is answered if all of its evidence stands in the request, word for word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from bench.histories import Said
from bench.transcripts import DATA

ADVERSARIAL = 5
"""The category of questions about what was never said."""

_id = re.compile(r"D(\d+):0*(\d+)")
_content = re.compile(r"[a-z]{4,}|\d+")


class Question(msgspec.Struct, frozen=True):
    """A question, and what a request must hold to answer it."""

    text: str
    evidence: tuple[str, ...]
    """What was said, word for word."""
    answer: frozenset[str]
    """The words of the answer that say something."""

    def has_evidence(self, request: str) -> bool:
        """Whether all of the evidence stands there."""
        return all(said in request for said in self.evidence)

    def has_answer(self, words: frozenset[str]) -> bool:
        """Whether all words of the answer stand there, wherever."""
        return bool(self.answer) and self.answer <= words


class Talk(msgspec.Struct, frozen=True):
    """A conversation and the questions about it."""

    said: list[Said]
    questions: tuple[Question, ...]


def talks() -> list[Talk]:
    """Every conversation at hand; none where there is no data."""
    return [_talk(talk) for path in sorted((DATA / "locomo").glob("*.json")) for talk in json.loads(path.read_text())]


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say something."""
    return frozenset(_content.findall(text.lower()))


def _talk(talk: dict[str, Any]) -> Talk:
    texts: dict[str, str] = {}
    said: list[Said] = []
    for message, text in _said(talk["conversation"]):
        texts[_plain_id(message["dia_id"])] = text
        role = "user" if message["speaker"] == talk["conversation"]["speaker_a"] else "assistant"
        said.append({"role": role, "content": text})
    return Talk(said, tuple(_questions(talk["qa"], texts)))


def _said(conversation: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    number = 1
    while f"session_{number}" in conversation:
        date = f"({conversation[f'session_{number}_date_time']}) "
        for message in conversation[f"session_{number}"]:
            shown = f" [shares {message['blip_caption']}]" if message.get("blip_caption") else ""
            # White space is nobody's evidence.
            yield message, " ".join(f"{date}{message['speaker']}: {message['text']}{shown}".split())
            date = ""
        number += 1


def _questions(asked: list[dict[str, Any]], texts: dict[str, str]) -> Iterator[Question]:
    for question in asked:
        ids = [_plain_id(one) for listed in question["evidence"] for one in re.findall(r"D\d+:\d+", listed)]
        if question["category"] == ADVERSARIAL or not ids or any(one not in texts for one in ids):
            continue
        yield Question(
            question["question"], tuple(texts[one] for one in ids), words_of(str(question.get("answer", "")))
        )


def _plain_id(identifier: str) -> str:
    return _id.sub(r"D\1:\2", identifier)
