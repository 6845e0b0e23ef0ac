"""What `fit` gives back: a request, and the reason for everything in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from sash.core.budget import Ledger
from sash.core.explain import Explanation, explain
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.message import Block, Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from sash.core.tokens import TokenCount
from sash.errors import UnknownHandle
from sash.wire import Body, Repair, read_list, wire_named
from sash.wire.json_text import items, mend_surrogates, object_of


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a history, and why."""

    frame: Frame
    turns_in: tuple[int, ...]
    turns_out: tuple[int, ...]
    shortened: tuple[str, ...]
    """Handles of what the model sees only in part."""
    repairs: tuple[Repair, ...]
    ledger: Ledger
    """Who got what of the window."""
    before: TokenCount
    """What the history takes whole."""
    after: TokenCount
    """What is sent of it; the request as a whole, with system prompt, tools and digest, is `Fitted.tokens`."""
    ratio: float
    """How much of it was left out, 0 to 1."""
    fits: bool
    """False when history stands above its high mark all the same: what may not leave is larger."""
    window: int
    window_known: bool
    """False when nobody knows the model's window and a default stands in."""


class Fitted:
    """A request that fits."""

    def __init__(  # noqa: PLR0913  (made in one place, by `fit`)
        self,
        given: object,
        body: Body,
        fold: Fold,
        fields: Mapping[str, bytes],
        sent: Sequence[tuple[Message, int]],
        tokens: TokenCount,
        report: Report,
    ) -> None:
        self.fold = fold
        self.tokens = tokens
        """What the request takes: system prompt, tools, and all that is sent of the history."""
        self.report = report
        self._given, self._body, self._fields, self._sent = given, body, fields, sent
        self._field = "prompt" if "prompt" in fields else wire_named(body.wire).MESSAGES

    def __repr__(self) -> str:
        turns = f"{len(self.report.turns_in)} of {len(self.report.turns_in) + len(self.report.turns_out)} turns"
        return f"<Fitted: {self.tokens} tokens, {turns}, frame {self.report.frame.number}>"

    @cached_property
    def messages(self) -> list[Any]:
        """The messages to send, on the wire they came in: the caller's own objects where nothing was changed."""
        said = self._fields[self._field]
        if said[:1] == b'"':
            # One text is all there is: a flat prompt, or an input of Responses.
            return [_decoded(said)]
        own, written = self._own_objects(), items(said)
        if own is None:
            return [_decoded(item) for item in written]
        return [
            own[origin] if origin >= 0 and not message.edited else _decoded(item)
            for (message, origin), item in zip(self._sent, written, strict=True)
        ]

    @cached_property
    def request(self) -> dict[str, Any]:
        """
        What to splat into the provider's SDK beside model and settings: messages, system prompt and tools.

        All else that a body said is in `body` only.
        """
        return {
            name: self.messages if value[:1] == b"[" and name == self._field else _decoded(value)
            for name, value in self._fields.items()
            if name == self._field or not _is_empty(value)
        }

    @cached_property
    def body(self) -> bytes:
        """The exact bytes: the body that came in, with what had to change changed."""
        changed = self._changed()
        if self._body.sendable:
            return self._body.source if changed == self._body.fields else object_of(changed)
        return object_of({name: mend_surrogates(value) for name, value in changed.items()})

    @property
    def size(self) -> int:
        """Bytes of the body, about: its fields without what stands between them."""
        return sum(map(len, self._changed().values()))

    def _changed(self) -> dict[str, bytes]:
        """The body's fields, in their order, as they go out."""
        wire = wire_named(self._body.wire)
        ours = {wire.MESSAGES, wire.SYSTEM, "tools"}
        kept = {
            name: value
            for name, value in self._body.fields.items()
            if name not in ours or name in self._fields or (_is_empty(value) and name != wire.MESSAGES)
        }
        return {**kept, **self._fields}

    def explain(self) -> Explanation:
        """Of every turn and every tool result: in or out, by which rule, since when, and how to get it back."""
        return explain(self.fold, read_list(self._body.listed, self._body.wire), stored=False)

    def expand(self, handle: str, *, lines: tuple[int, int] | None = None, grep: str | None = None) -> str:
        """The whole of a shortened block, or some of its lines: by number, or by a pattern."""
        text = self._whole(handle)
        if lines is not None:
            text = "\n".join(text.split("\n")[max(0, lines[0] - 1) : lines[1]])
        if grep is not None:
            wanted = _pattern(grep)
            text = "\n".join(line for line in text.split("\n") if wanted.search(line))
        return text

    def _whole(self, handle: str) -> str:
        try:
            position, place = map(int, handle.split("."))
            if min(position, place) < 0:
                raise IndexError(handle)  # noqa: TRY301  (from the end is no handle either)
            listed = items(self._body.listed)
            block = read_list(b"[" + listed[position] + b"]", self._body.wire)[0].blocks[place]
        except (ValueError, IndexError):
            raise UnknownHandle(handle) from None
        return text_of(block)

    def _own_objects(self) -> Sequence[Any] | None:
        given = self._given
        if isinstance(given, Mapping):
            given = given.get(self._field, [given])
        return given if isinstance(given, list | tuple) else None


def text_of(block: Block) -> str:
    """All there is of a block: its words, and the data or address of its images and documents."""
    match block:
        case ToolResult():
            return "\n".join(map(text_of, block.content))
        case ToolCall():
            return block.arguments
        case Text() | Thinking():
            return block.text
        case Image() | Document():
            return block.data or block.url
    return block.body.decode(errors="replace")


def _is_empty(value: bytes) -> bool:
    return value in (b"null", b"[]", b'""')


def _pattern(text: str) -> re.Pattern[str]:
    """A pattern; text that is none stands for itself."""
    try:
        return re.compile(text)
    except re.error:
        return re.compile(re.escape(text))


def _decoded(item: bytes | msgspec.Raw) -> Any:
    # Python's own parser: it takes numbers of any size.
    try:
        return msgspec.json.decode(item)
    except msgspec.ValidationError:
        return json.loads(bytes(item))
