"""Messages on their way into a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from sash.core.event import Event
from sash.core.fold import BeforeSlide
from sash.core.frame import Frame
from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.recall import Remembered
from sash.core.slide import Slide
from sash.core.terms import message_terms
from sash.errors import InvalidMessage
from sash.store import Key, Posting
from sash.thread.acts import Vetoed, event_of
from sash.thread.recollection import day, postings_of
from sash.thread.replay import Replay
from sash.thread.tail import Draft
from sash.wire import read_list, refuse_strangers, take_apart


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """What became of messages that were appended."""

    seq: int
    """Number of the last event that was written."""
    first_seq: int
    turn: int
    """The turn that the last message belongs to; -1 for a system prompt."""
    frame: Frame | None = None
    """The newest frame that they led to, if they led to one."""
    repeated: bool = False
    """They had been appended before, under the same key; nothing was added now."""


def read_messages(given: object, wire: str) -> tuple[Message, ...]:
    """One message or several, as their provider writes them."""
    body = take_apart(given, "openai-chat" if wire == "flat" else wire)
    if body.fields:
        raise InvalidMessage("a whole body was given where messages are taken; give what stands under its messages")
    messages = read_list(body.listed, body.wire)
    refuse_strangers(messages, body.wire)
    if not messages:
        raise InvalidMessage("there is no message in it; give one message, or a list of some")
    return messages


def key_of(name: str, messages: Sequence[Message]) -> Key:
    """An idempotency key, bound to these very messages."""
    said = [messages[0].wire, *(message.source.hex() for message in messages)]
    return Key(name, blake2b(msgspec.json.encode(said), digest_size=16).digest())


def is_over(replay: Replay) -> bool:
    """Whether the newest turn is over: the assistant had the last word, and waits for nothing."""
    placing = replay.window.fold.placing
    return not placing.turn or (placing.after_assistant and not placing.calls_open)


class Spoken(msgspec.Struct, frozen=True):
    """A message, and when it was said, where that is known."""

    message: Message
    at: float | None = None


def said(replay: Replay, seq: int, session: Iterable[Spoken], *, veto: BeforeSlide | None) -> Draft:
    """The events of some messages, folded into the newest state."""
    window, fold = replay.window, replay.window.fold
    events: list[Event] = []
    frames: list[tuple[int, Frame]] = []
    postings: list[Posting] = []
    for spoken in session:
        message, at = spoken.message, spoken.at
        number = seq + len(events) + 1
        vetoes: list[Slide] = []
        fold.before_slide = None if veto is None else _noting(veto, vetoes)
        frame = window.add(message, at, position=number - 1)
        fold.before_slide = None
        if window.setup.policy.recall_tokens:
            replay.memory.hear(Remembered(fold.said - 1, number - 1, fold.placed.turn, message, day(at)))
            postings += postings_of(message_terms(message), number, fold.said - 1)
        events.append(
            Event(
                seq=number,
                kind="message",
                body=message.source,
                wire=message.wire,
                role=message.role,
                turn=fold.placed.turn,
                tokens=window.size.tokens,
                exact=window.size.exact,
                counter=replay.counted_by(),
                text=searchable(message),
                at=at,
            )
        )
        if frame is not None:
            frames.append((number, frame))
        if vetoes:
            # Written down, or a restart would make the slide that somebody did not want.
            events.append(event_of("veto", Vetoed(number), seq=number + 1))
            fold.placing.length = number + 1
    return Draft(events=tuple(events), replay=replay, frames=tuple(frames), postings=tuple(postings))


def _noting(veto: BeforeSlide, vetoes: list[Slide]) -> BeforeSlide:
    def ask(slide: Slide) -> bool | None:
        answer = veto(slide)
        if answer is False:
            vetoes.append(slide)
        return answer

    return ask


def searchable(message: Message) -> str:
    """What a message is found by: its words, its calls and what they gave."""
    words: list[str] = []
    for block in message.blocks:
        match block:
            case Text(text):
                words.append(text)
            case ToolCall(_, name, arguments):
                words.append(f"{name} {arguments}")
            case ToolResult(_, content):
                words += [part.text for part in content if type(part) is Text]
    return "\n".join(words)
