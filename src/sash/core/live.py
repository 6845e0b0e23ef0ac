"""What is in the window: its turns, step by step, and what each takes as it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import msgspec

from sash.core.message import Block, Message, Opaque, Thinking
from sash.core.size import Kind, Part, Size
from sash.core.turn import title_of


class LiveMessage(msgspec.Struct, frozen=True, gc=False):
    """A message of the window, as it entered."""

    position: int
    """In the log."""
    message: Message
    size: Size
    came: Message | None = None
    """As it came, where a giant result in it was shortened before anybody saw it."""
    keep: int = 0
    """Characters that were kept of that result."""

    def block(self, place: int) -> Block:
        """One of its blocks, whole."""
        return (self.came or self.message).blocks[place]


@dataclass(slots=True)
class LiveTurn:
    """A turn of the window. The newest one still grows: with every message, so that its fields have to be set fast."""

    number: int
    named: str | Message = ""
    """Its title, or the message whose title it has: that is read when somebody asks."""
    opening: list[LiveMessage] = field(default_factory=list)
    steps: list[list[LiveMessage]] = field(default_factory=list)
    digested: int = 0
    """The oldest steps, for which a step digest stands; they take nothing here."""
    tokens: int = 0
    """As the frame shows it."""
    whole_tokens: int = 0
    """As it came."""
    entered_tokens: int = 0
    """As it entered the window, giant results already shortened."""
    body: int = 0
    """Bytes of what is shown."""
    after_assistant: bool = False

    @property
    def title(self) -> str:
        """The first line of what the user said."""
        if isinstance(self.named, Message):
            self.named = title_of(self.named)
        return self.named

    def add(self, live: LiveMessage, whole_tokens: int) -> None:
        """One more message at its end."""
        role, size, steps = live.message.role, live.size, self.steps
        if role == "assistant" and not self.after_assistant:
            steps.append([live])
            self.after_assistant = True
        else:
            if role != "assistant" and role != "meta":
                self.after_assistant = False
            (steps[-1] if steps else self.opening).append(live)
        tokens = size.tokens
        self.tokens += tokens
        self.whole_tokens += whole_tokens
        self.entered_tokens += tokens
        self.body += size.body

    def copy(self) -> LiveTurn:
        """A copy that grows by itself."""
        return replace(self, opening=self.opening[:], steps=[step[:] for step in self.steps])

    def messages(self) -> Iterator[LiveMessage]:
        """Its messages that are in the window, in the order they are sent."""
        return self.messages_from(self.digested)

    def all_messages(self) -> Iterator[LiveMessage]:
        """All its messages, also those of steps for which a digest stands."""
        return self.messages_from(0)

    def messages_from(self, step: int) -> Iterator[LiveMessage]:
        """What started it, and all from one of its steps on."""
        # Not a generator: every slide goes through the whole window several times.
        return chain(self.opening, chain.from_iterable(self.steps[step:] if step else self.steps))

    def __len__(self) -> int:
        return len(self.opening) + sum(map(len, self.steps))

    def first(self) -> LiveMessage:
        """The message that started it."""
        return self.opening[0] if self.opening else self.steps[0][0]

    def last(self) -> LiveMessage:
        """Its newest message."""
        return self.steps[-1][-1] if self.steps else self.opening[-1]

    def digested_positions(self) -> range:
        """Where the steps stand for which a digest stands: in a row, after its opening."""
        if not self.digested:
            return range(0)
        rest = self.steps[self.digested :]
        return range(self.steps[0][0].position, rest[0][0].position if rest else self.last().position + 1)

    def said_in_part(self) -> int | None:
        """Where its last step begins, if that comes in pieces (as OpenAI's items do) and may still go on."""
        step = self.steps[-1] if self.steps else []
        if not step or step[-1].message.role != "assistant":
            return None
        blocks = step[-1].message.blocks
        # An answer ends in words; what thinks, or what its provider runs for it, does not yet.
        unfinished = bool(blocks) and type(blocks[-1]) in (Thinking, Opaque)
        return step[0].position if unfinished or len(step) > 1 else None

    def unseen(self) -> list[LiveMessage]:
        """Results that no request has shown the model yet: those after its last word."""
        return [live for live in self.steps[-1] if live.message.role != "assistant"] if self.steps else []

    def parts(self, kind: Kind, *, signed: bool = False) -> Iterator[tuple[LiveMessage, Part]]:
        """The blocks of one kind in the window, oldest first; of signed messages only, where that is asked."""
        for live in self.messages():
            size = live.size
            if size.parts and (size.signed or not signed):
                for part in size.parts:
                    if part.kind == kind:
                        yield live, part
