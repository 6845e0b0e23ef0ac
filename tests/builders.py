"""Histories, folds and policies in the domain's words, for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from sash.core.fold import Fold
from sash.core.limits import Limits, limits_of
from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.policy import Policy
from sash.core.size import size_of
from sash.core.tokens import Counter
from sash.counters import counter_for
from sash.wire import read_list

CHARS4: Counter = counter_for(counter="chars4").counter
"""Four characters are a token, and nothing costs more than its words: numbers that can be checked by hand."""

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WIRES = ("openai-chat", "anthropic", "openai-responses")


def words(tokens: int) -> str:
    """A text of so many tokens (by `chars4`), on one line."""
    return ("word" * tokens)[: tokens * 4]


def lines(count: int, width: int = 40) -> str:
    """A text of so many lines, each with its number."""
    return "\n".join(f"{number:>6} ".ljust(width, ".") for number in range(1, count + 1))


class Call(NamedTuple):
    """A call that a script's model makes."""

    id: str
    arguments: str = '{"path": "a.py"}'
    name: str = "read"


class Script:
    """A conversation as one provider's JSON, said line by line."""

    def __init__(self, wire: str = "openai-chat") -> None:
        self.wire = wire
        self.said: list[dict[str, Any]] = []

    def user(self, text: str, *, image: str = "") -> Script:
        if not image:
            return self._say({"role": "user", "content": text})
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        data = f"data:image/png;base64,{image}"
        if self.wire == "anthropic":
            parts.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}})
        elif self.wire == "openai-chat":
            parts.append({"type": "image_url", "image_url": {"url": data}})
        else:
            parts = [{"type": "input_text", "text": text}, {"type": "input_image", "image_url": data}]
        return self._say({"role": "user", "content": parts})

    def system(self, text: str) -> Script:
        return self._say({"role": "system" if self.wire != "anthropic" else "user", "content": text})

    def assistant(self, text: str = "", *calls: Call, thinking: str = "", signed: bool = True) -> Script:
        if self.wire == "openai-chat":
            tools = [_function(call) for call in calls]
            return self._say({"role": "assistant", "content": text or None} | ({"tool_calls": tools} if tools else {}))
        if self.wire == "anthropic":
            blocks: list[dict[str, Any]] = []
            if thinking:
                blocks.append({"type": "thinking", "thinking": thinking, "signature": "proof" if signed else ""})
            if text:
                blocks.append({"type": "text", "text": text})
            blocks += [
                {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
                for call in calls
            ]
            return self._say({"role": "assistant", "content": blocks})
        if thinking:
            summary = [{"type": "summary_text", "text": thinking}]
            proof = {"encrypted_content": "proof"} if signed else {}
            self._say({"type": "reasoning", "id": f"rs_{len(self.said)}", "summary": summary, **proof})
        if text:
            self._say({"role": "assistant", "content": [{"type": "output_text", "text": text}]})
        for call in calls:
            self._say({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})
        return self

    def results(self, *given: tuple[str, str], image: bool = False, beside: str = "") -> Script:
        """Results of calls by their ids; on Anthropic in one message, with words beside them."""
        if self.wire == "anthropic":
            blocks: list[dict[str, Any]] = []
            for call, text in given:
                content: list[dict[str, Any]] = [{"type": "text", "text": text}]
                if image:
                    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
                    content.append({"type": "image", "source": source})
                blocks.append({"type": "tool_result", "tool_use_id": call, "content": content if image else text})
            return self._say(
                {"role": "user", "content": [*blocks, *([{"type": "text", "text": beside}] * bool(beside))]}
            )
        for call, text in given:
            if self.wire == "openai-chat":
                self._say({"role": "tool", "tool_call_id": call, "content": text})
            else:
                self._say({"type": "function_call_output", "call_id": call, "output": text})
        return self

    def step(self, call: str, result: str, *, text: str = "", arguments: str = '{"path": "a.py"}') -> Script:
        """A call and its result."""
        return self.assistant(text, Call(call, arguments)).results((call, result))

    def turn(self, *, ask: int = 5, answer: int = 5) -> Script:
        """A question and its answer, of so many tokens each."""
        return self.user(words(ask)).assistant(words(answer))

    def messages(self) -> tuple[Message, ...]:
        return read_list(msgspec.json.encode(self.said), self.wire)

    def _say(self, item: dict[str, Any]) -> Script:
        self.said.append(item)
        return self


def _function(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def limits(policy: Policy, window: int | None = None) -> Limits:
    """The policy's sizes for a model with that window."""
    return limits_of(policy, window=window)


def fold_of(
    messages: Script | Iterable[Message],
    policy: Policy | None = None,
    *,
    counter: Counter = CHARS4,
    window: int | None = None,
) -> Fold:
    """A log folded to its end."""
    policy = policy or Policy()
    fold = Fold(policy, limits(policy, window), counter)
    return grow(fold, messages.messages() if isinstance(messages, Script) else messages)


def grow(fold: Fold, messages: Iterable[Message]) -> Fold:
    """The fold with more messages at its end."""
    for message in messages:
        fold.add(message, size_of(message, fold.counter))
    return fold


def user(text: str) -> Message:
    return Message(role="user", blocks=(Text(text),))


def assistant(text: str = "", *calls: Call) -> Message:
    said = (Text(text),) if text else ()
    return Message(role="assistant", blocks=(*said, *(ToolCall(call.id, call.name, call.arguments) for call in calls)))


def result(call: str, text: str, *, error: bool = False) -> Message:
    return Message(role="tool", blocks=(ToolResult(call, (Text(text),), error),))


def turns_of(*sizes: int) -> list[Message]:
    """Turns of so many tokens each: half asked, half answered."""
    said: list[Message] = []
    for size in sizes:
        said += [user(words(size - size // 2)), assistant(words(size // 2))]
    return said


def numbers(fold: Fold) -> Sequence[int]:
    """Numbers of the turns in the window."""
    return list(fold.turns)
