"""What `fit` gives back: a request, and the reason for everything in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from sash.arguments import LINES, TEXT, takes
from sash.core.explain import explain
from sash.core.explanation import Explanation
from sash.core.frame import place_of
from sash.core.pressure import Pressure
from sash.errors import UnknownHandle
from sash.fitting.replays import Listed
from sash.window import Context, Prepared, Report, Window, excerpt, text_of
from sash.window.prepared import decoded, is_empty
from sash.window.prompt import as_prompted
from sash.wire import Body, read_list, wire_named
from sash.wire.json_text import items, mend_surrogates, object_of, size_of_object


class Given(NamedTuple):
    """A history as it came."""

    whole: object
    """What the caller gave: messages, or a body."""
    body: Body
    listed: Listed


class Fitted(Prepared):
    """A request that fits."""

    def __init__(
        self,
        given: Given,
        window: Window,
        prepared: Prepared,
        fields: Mapping[str, bytes],
        report: Callable[[], Report],
    ) -> None:
        super().__init__(prepared.made, lambda: fields, report)
        self._given, self._body, self._listed = given
        self._window = window

    @cached_property
    def messages(self) -> list[Any]:
        """The messages to send, on the wire they came in: the caller's own objects where nothing was changed."""
        own, said = self._own_objects(), self.fields[self.field]
        if own is None or said[:1] == b'"':
            return super().messages
        written = self._items()
        listed = self.sent[len(self.sent) - len(written) :]
        return [
            own[origin] if origin >= 0 and not message.edited else decoded(item)
            for (message, origin), item in zip(listed, written, strict=True)
        ]

    @cached_property
    def body(self) -> bytes:
        """The exact bytes: the body that came in, with what had to change changed."""
        changed = self._changed()
        if self._body.sendable:
            return self._body.source if changed == self._body.fields else object_of(changed)
        return object_of({name: mend_surrogates(value) for name, value in changed.items()})

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return size_of_object(self._changed())

    def _changed(self) -> dict[str, bytes]:
        """The body's fields, in their order, as they go out."""
        wire = wire_named(self._body.wire)
        ours = {wire.MESSAGES, wire.SYSTEM, "tools"}
        kept = {
            name: value
            for name, value in self._body.fields.items()
            if name not in ours or name in self.fields or (is_empty(value) and name != wire.MESSAGES)
        }
        return {**kept, **self.fields}

    @property
    def listed(self) -> bytes:
        """The whole history as it came, as a JSON list."""
        return self._listed.json

    def explain(self) -> Explanation:
        """Of every turn and every tool result: in or out, by which rule, since when, and how to get it back."""
        explained = explain(self.fold, read_list(self.listed, self._body.wire), stored=False)
        return as_prompted(explained, self.fold, self.fold.policy) if self.wire == "flat" else explained

    def context(self) -> Context:
        """Where the tokens of this request go."""
        return self._window.context(self)

    def pressure(self) -> Pressure:
        """How full the window is with this request."""
        return self.context().pressure

    @takes(handle=TEXT, lines=LINES, grep=TEXT)
    def expand(self, handle: str, *, lines: tuple[int, int] | None = None, grep: str | None = None) -> str:
        """The whole of a shortened block, or some of its lines: by number, or by a pattern."""
        return excerpt(self._whole(handle), lines=lines, grep=grep)

    def _whole(self, handle: str) -> str:
        position, place = place_of(handle)
        try:
            listed = items(self.listed)
            block = read_list(b"[" + listed[position] + b"]", self._body.wire)[0].blocks[place]
        except IndexError:
            raise UnknownHandle(handle) from None
        return text_of(block)

    def _own_objects(self) -> Sequence[Any] | None:
        given = self._given
        if isinstance(given, Mapping):
            given = given.get(self.field, [given])
        return given if isinstance(given, list | tuple) else None
