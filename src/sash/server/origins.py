"""Where each part of a request comes from."""

from __future__ import annotations

from sash.core.message import Block, Message, ToolCall
from sash.core.tokens import TokenCount
from sash.server.route import Shape
from sash.thread import Thread
from sash.window import Prepared, text_of


class Part(Shape, frozen=True, kw_only=True):
    """A message of a request, or what stands beside the messages."""

    origin: str
    """system, tools, summary, facts, carried, history, recalled, input, or a source's name."""
    turn: int | None
    role: str
    text: str
    tokens: TokenCount


def parts_of(thread: Thread, prepared: Prepared) -> list[Part]:
    """Every part of a request, in order."""
    window = thread.window
    count, fold = window.counter, prepared.fold
    if prepared.wire == "flat":
        text = str(prepared.request["prompt"])
        return [Part(origin="input", turn=None, role="user", text=text, tokens=count.text(text))]
    turns = {live.position: number for number, turn in fold.turns.items() for live in turn.messages()}
    current = next(reversed(fold.turns), None)
    parts = []
    for (message, _), position in zip(prepared.sent, prepared.positions, strict=True):
        turn = turns.get(position)
        parts.append(
            Part(
                origin=_origin(message, turn, current, fold.frame.boundary, fold.frame.carried),
                turn=turn,
                role=message.role,
                text="\n".join(map(_said, message.blocks)),
                tokens=count.message(message),
            )
        )
    tools = prepared.fields.get("tools")
    if tools and tools != b"[]":
        parts.append(
            Part(
                origin="tools",
                turn=None,
                role="system",
                text=tools.decode("utf-8", "replace"),
                tokens=thread.setup.tool_tokens(count),
            )
        )
    return parts


def _origin(message: Message, turn: int | None, current: int | None, boundary: int, carried: tuple[int, ...]) -> str:
    if message.role == "system":
        return "system"
    if turn is None:
        return _ours(message.text)
    if turn in carried and turn < boundary:
        return "carried"
    return "input" if turn == current and message.role == "user" else "history"


def _ours(text: str) -> str:
    """What sash wrote itself, by what it says of itself."""
    head = text[:200].lower()
    if "from outside this conversation" in head:
        return "knowledge"
    if "for the next message" in head:
        return "recalled"
    return "summary"


def _said(block: Block) -> str:
    return f"{block.name}({block.arguments})" if isinstance(block, ToolCall) else text_of(block)
