"""Files of a batch: each request is a conversation of its own, called as the batch calls it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from sash.errors import NotFound, UnknownTranscript
from sash.transcripts import Transcript, open_transcript

Line = dict[str, Any]


def chat(name: str, words: str) -> Line:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": words}]}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def responses(name: str, words: str) -> Line:
    return {"custom_id": name, "method": "POST", "url": "/v1/responses", "body": {"model": "gpt-5", "input": words}}


def anthropic(name: str, words: str) -> Line:
    said = [{"role": "user", "content": words}]
    return {"custom_id": name, "params": {"model": "claude-opus-5", "system": "be brief", "messages": said}}


def opened(lines: list[Line], part: str = "", *, listed: bool = False) -> Transcript:
    text = json.dumps(lines, indent=1) if listed else "\n".join(map(json.dumps, lines))
    return open_transcript(io.BytesIO(text.encode()), part=part)


def words(transcript: Transcript) -> list[str]:
    return [entry.message.text for entry in transcript.messages()]


KINDS = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic}


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("wire", KINDS)
def test_each_request_of_a_batch_is_a_part_that_is_called_as_the_batch_calls_it(wire: str, listed: bool) -> None:
    request = KINDS[wire]
    lines = [request("first", "one"), request("second", "two"), request("third", "three")]
    transcript = opened(lines, listed=listed)
    assert (transcript.wire, words(transcript)) == (wire, ["one"])
    assert [(part.name, part.current, part.usual) for part in transcript.parts] == [
        ("first", True, True),
        ("second", False, False),
        ("third", False, False),
    ]
    second = opened(lines, "second", listed=listed)
    assert (words(second), second.model != "", second.aside) == (["two"], True, "second")
    first = opened(lines, "first", listed=listed)
    assert (words(first), first.aside) == (["one"], "")
    with pytest.raises(NotFound, match="the file has first, second, third"):
        words(opened(lines, "fourth", listed=listed))


@pytest.mark.parametrize("wire", KINDS)
def test_a_batch_of_one_request_is_one_conversation(wire: str) -> None:
    line = KINDS[wire]("only", "one")
    transcript = opened([line])
    assert (transcript.wire, words(transcript), transcript.parts) == (wire, ["one"], ())
    assert words(opened([line], "only")) == ["one"]


def test_a_name_that_is_there_twice_is_told_apart() -> None:
    lines = [chat("same", "one"), chat("same", "two")]
    transcript = opened(lines)
    assert words(transcript) == ["one"]
    assert [part.name for part in transcript.parts] == ["same", "same#1"]
    assert words(opened(lines, "same#1")) == ["two"]


@pytest.mark.parametrize("listed", [False, True])
def test_a_request_in_another_wire_is_told_by_its_line(listed: bool) -> None:
    transcript = opened([chat("first", "one"), responses("second", "two"), chat("third", "three")], listed=listed)
    assert words(transcript) == ["one"]
    assert [part.name for part in transcript.parts] == ["first", "third"]
    assert [(damage.line, damage.why) for damage in transcript.damage] == [
        (2, "a request in another wire (openai-responses)")
    ]


def test_lines_in_which_nobody_says_anything_are_no_conversation() -> None:
    embedded = [{"custom_id": f"{n}", "url": "/v1/embeddings", "body": {"model": "x", "input": "w"}} for n in range(3)]
    nested = [{"id": f"{n}", "held": {"messages": [{"role": "user", "content": "w"}]}} for n in range(3)]
    for lines in (embedded, nested):
        with pytest.raises(UnknownTranscript):
            opened(lines)
