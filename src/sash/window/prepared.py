"""A request, ready to be sent, and the reason for everything in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from sash.arguments import Kind, takes
from sash.core.difference import Difference, diff
from sash.core.fold import Fold
from sash.core.message import Message
from sash.core.tokens import TokenCount
from sash.window.report import Report
from sash.wire import wire_named
from sash.wire.json_text import items, object_of


class Made(msgspec.Struct, frozen=True, gc=False):
    """
    What is known of a request before its body is put together; the rest is found out when somebody asks.

    Nothing that it holds knows of it, so the collector need not track it.
    """

    wire: str
    fold: Fold
    tokens: TokenCount
    size: int

    def sent(self) -> Sequence[tuple[Message, int]]:
        """Its messages, each with its position in the log."""
        return ()

    def written(self) -> Sequence[bytes]:
        """The JSON of each message, empty for a system prompt that stands apart; of none where it is not known yet."""
        return ()

    def positions(self) -> Sequence[int]:
        """Where in the log each message comes from."""
        return ()


class Prepared:
    """A request on one wire: repaired, checked and counted."""

    def __init__(
        self,
        made: Made,
        fields: Callable[[], Mapping[str, bytes]],
        report: Callable[[], Report],
    ) -> None:
        self.made, self._written, self._told = made, fields, report
        self.wire = made.wire
        self.fold = made.fold
        """What it was made from."""
        self.tokens = made.tokens
        """What the request takes: system prompt, tools, and all that is sent of the history."""
        self._sent: Sequence[tuple[Message, int]] | None = None

    @property
    def sent(self) -> Sequence[tuple[Message, int]]:
        """Its messages, the system prompt first, each with its position in the log; -1 for what sash wrote."""
        # Asked for in every turn: a cached property takes longer than the list itself.
        if self._sent is None:
            self._sent = self.made.sent()
        return self._sent

    @cached_property
    def positions(self) -> Sequence[int]:
        """Where in the log each message comes from, also where another wire has changed its form; -1 as above."""
        return self.made.positions()

    @cached_property
    def fields(self) -> Mapping[str, bytes]:
        """What the request consists of, each field as its JSON."""
        return self._written()

    @cached_property
    def report(self) -> Report:
        """What was done to the history, and why."""
        return self._told()

    def alone(self) -> Prepared:
        """The same, made from a frame that is recorded nowhere."""
        return Prepared(self.made, self._written, lambda: msgspec.structs.replace(self._told(), recorded=False))

    def __repr__(self) -> str:
        turns = f"{len(self.report.turns_in)} of {len(self.report.turns_in) + len(self.report.turns_out)} turns"
        return f"<{type(self).__name__}: {self.tokens} tokens, {turns}, frame {self.report.frame.number}>"

    @property
    def field(self) -> str:
        """The field that holds the messages."""
        return wire_named(self.wire).MESSAGES

    @cached_property
    def messages(self) -> list[Any]:
        """The messages to send, as plain objects."""
        said = self.fields[self.field]
        # One text may be all there is: a flat prompt, or an input of Responses.
        return [decoded(said)] if said[:1] == b'"' else [decoded(item) for item in self._items()]

    def _items(self) -> Sequence[bytes]:
        """The JSON of each message in the field that holds them."""
        return [item for item in self.made.written() if item] or items(self.fields[self.field])

    @cached_property
    def request(self) -> dict[str, Any]:
        """What to splat into the provider's SDK beside model and settings: messages, system prompt and tools."""
        return {
            name: self.messages if value[:1] == b"[" and name == self.field else decoded(value)
            for name, value in self.fields.items()
            if name == self.field or not is_empty(value)
        }

    @cached_property
    def body(self) -> bytes:
        """The request's exact bytes."""
        return object_of(self.fields)

    @property
    def size(self) -> int:
        """Bytes of the body, about: its fields without what stands between them."""
        return self.made.size

    @takes(before=Kind("a request that `fit` or `prepared` gave", lambda value: isinstance(value, Prepared)))
    def since(self, before: Prepared) -> Difference:
        """What is different in it from the request before: what entered, left, stayed cached, and what that costs."""
        fixed = sum(self.report.ledger.row(name).used.value for name in ("system", "tools"))
        prices = self.fold.policy.prices
        return diff(before.said(), self.said(), self.fold.counter.message, prices=prices, fixed=fixed)

    def said(self) -> list[Message]:
        """Its messages without the system prompt."""
        return [message for message, _ in self.sent if message.role != "system"]


def is_empty(value: bytes) -> bool:
    """Whether a field says nothing."""
    return value in (b"null", b"[]", b'""')


def decoded(item: bytes | msgspec.Raw) -> Any:
    """JSON as plain objects; Python's own parser takes the numbers that are too large for others."""
    try:
        return msgspec.json.decode(item)
    except msgspec.ValidationError:
        return json.loads(bytes(item))
