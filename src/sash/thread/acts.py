"""What the events of a log say that are no messages: one value for each kind, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from sash.core.calibration import Report
from sash.core.event import Event, Kind
from sash.core.frame import Reason
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.refusal import Lesson
from sash.core.sources import Source
from sash.core.summary import Summary
from sash.errors import InvalidPolicy
from sash.window import Setup, system_prompt
from sash.wire import Tool, read_tools, wire_named


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Another setup; what is left out stays as it was."""

    model: str | UnsetType = UNSET
    policy: Policy | UnsetType = UNSET
    system: tuple[Message, ...] | UnsetType = UNSET
    tools: tuple[Tool, ...] | UnsetType = UNSET
    sources: tuple[Source, ...] | UnsetType = UNSET

    def of(self, setup: Setup) -> Setup:
        """The setup with this changed."""
        named = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}
        changed = msgspec.structs.replace(setup, **named)
        if (changed.model, changed.policy.window) == (setup.model, setup.policy.window):
            return changed
        # What its provider said was said of another model, or somebody knows better now.
        return msgspec.structs.replace(changed, told_window=0, answer=0)


NO_CHANGE = Change()


def change_of(
    wire: str,
    *,
    model: str | None = None,
    policy: Policy | None = None,
    system: object = None,
    tools: object = None,
    sources: Sequence[Source] | None = None,
) -> Change:
    """What is given, read; what is None is left as it is stored."""
    wire_named(wire)
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidPolicy("policy", policy, "a sash.Policy")
    written = "openai-chat" if wire == "flat" else wire
    return Change(
        model=UNSET if model is None else model,
        policy=UNSET if policy is None else policy,
        system=UNSET if system is None else system_prompt(system, written),
        tools=UNSET if tools is None else read_tools(tools, written),
        sources=UNSET if sources is None else tuple(sources),
    )


class Compacted(msgspec.Struct, frozen=True, omit_defaults=True):
    """The window was to slide at once."""

    reason: Reason = "compact"


class Pinned(msgspec.Struct, frozen=True):
    """A turn was pinned or unpinned."""

    turn: int


class Marked(msgspec.Struct, frozen=True):
    """A place to come back to."""

    label: str = ""
    cut: int | None = None
    """The last event that stays when it is gone back to, where that is an earlier one."""


class Rewound(msgspec.Struct, frozen=True, kw_only=True):
    """What was said after some event is said no more."""

    to: int
    """The last event that stands."""
    mark: int
    """The mark that was gone back to; it stands too."""
    taken: int
    """The highest number that a turn has had: numbers are never given again."""
    frame: int
    """Number of the frame that this makes."""
    before: int = 0
    """What history took until then."""


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """What an event did to the head of the window is taken back."""

    undoes: int
    frame: int
    """Number of the frame that this makes."""
    before: int = 0
    """What history took until then."""
    suspended: bool = True
    """Whether the high mark waits from here on, until the window is full or the user compacts."""


class Redacted(msgspec.Struct, frozen=True, kw_only=True):
    """The words of an event are gone."""

    seq: int
    frame: int
    """Number of the frame that this makes."""


class Vetoed(msgspec.Struct, frozen=True):
    """A slide that could wait was not made."""

    at: int
    """The event that would have led to it."""


class Overflowed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A provider refused the request as too long."""

    lesson: Lesson
    report: Report | None = None
    """What it counted of that request, where that is known."""


class Remembered(msgspec.Struct, frozen=True):
    """A statement to be kept apart from the history."""

    text: str
    by: Literal["user", "model"] = "user"


class Forgotten(msgspec.Struct, frozen=True):
    """Facts that are taken back; not by their words, which may have to be removed."""

    facts: tuple[tuple[int, int], ...]
    """Of each the event that it came with, and which of the facts of that event it is, from 0."""


Act = TypeVar("Act", bound=msgspec.Struct)

_ACTS = (
    Change,
    Compacted,
    Forgotten,
    Marked,
    Overflowed,
    Pinned,
    Redacted,
    Remembered,
    Report,
    Rewound,
    Summary,
    Undone,
    Vetoed,
)
# Made here, and not where they are needed: msgspec must not learn a type in two threads at once.
_decoders: dict[type[msgspec.Struct], msgspec.json.Decoder[Any]] = {kind: msgspec.json.Decoder(kind) for kind in _ACTS}


def act_of(event: Event, kind: type[Act]) -> Act:
    """What an event says."""
    act: Act = _decoders[kind].decode(event.body)
    return act


def event_of(
    kind: Kind, act: msgspec.Struct | None = None, *, seq: int, turn: int = -1, at: float | None = None
) -> Event:
    """An event that is no message."""
    return Event(seq=seq, kind=kind, body=b"{}" if act is None else msgspec.json.encode(act), turn=turn, at=at)
