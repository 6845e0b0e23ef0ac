"""Where each part of a request comes from."""

from __future__ import annotations

from sash.core.fold import Fold
from sash.core.message import Block, Message, ToolCall
from sash.core.request import new_facts, recalled_text
from sash.core.tokens import Counter, TokenCount
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
    groups = _groups(thread, fold)
    for (message, _), position in zip(prepared.sent, prepared.positions, strict=True):
        turn = turns.get(position)
        if turn is None and message.role != "system":
            parts += _ours(message, groups, count)
            continue
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
    if turn in carried and turn < boundary:
        return "carried"
    return "input" if turn == current and message.role == "user" else "history"


Piece = tuple[str, str]
"""Where a piece of what sash wrote comes from, and how it begins."""


def _groups(thread: Thread, fold: Fold) -> list[list[Piece]]:
    """The pieces of each message that sash may have written, in their order: what can be told by its words first."""
    standing = [("summary", fold.digest_text()), ("facts", fold.standing.facts)]
    beside = [("recalled", recalled_text(fold)), ("facts", new_facts(fold))]
    steps = [("history", fold.step_text(number)) for number in fold.turns]
    stable: list[Piece] = []
    volatile: list[Piece] = []
    for source in thread.setup.sources:
        # Of a source only as much is sent as its budget allows, but always its title.
        (stable if source.stable else volatile).append((source.name, f"# {source.name}\n"))
    return [standing, *([step] for step in steps), [*beside, *volatile], stable]


def _ours(message: Message, groups: list[list[Piece]], count: Counter) -> list[Part]:
    """What sash wrote itself, each piece by where it comes from."""
    text = message.text
    places = next((found for group in groups if (found := _places(text, group))), [(0, "summary")])
    starts = [0, *(place for place, _ in places[1:]), len(text)]
    told = [(origin, text[start:end]) for (_, origin), start, end in zip(places, starts[:-1], starts[1:], strict=True)]
    whole = count.message(message)
    return [
        Part(
            origin=origin,
            turn=None,
            role=message.role,
            text=said.rstrip("\n"),
            tokens=whole if len(told) == 1 else count.text(said),
        )
        for origin, said in told
    ]


def _places(text: str, group: list[Piece]) -> list[tuple[int, str]]:
    found, after = [], 0
    for origin, begins in group:
        place = text.find(begins, after) if begins else -1
        if place >= 0:
            found.append((place, origin))
            after = place + len(begins)
    return found


def _said(block: Block) -> str:
    return f"{block.name}({block.arguments})" if isinstance(block, ToolCall) else text_of(block)
