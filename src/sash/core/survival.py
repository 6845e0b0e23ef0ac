"""
How much of what a session needs later survives in its requests, under one strategy or another.

A session is replayed message by message; before each answer the request is put together as
it would have been sent, and the probes of that answer are looked for in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from sash.core.cost import Account, Piece, account
from sash.core.fold import Fold
from sash.core.limits import limits_of
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.probe import Present, Probe, commands_again, present, probes_of, wishes_followed
from sash.core.recall import Archive
from sash.core.request import assemble
from sash.core.size import Size, size_of
from sash.core.tokens import Counter

BIG_WINDOW = 1_000_000_000
"""Only the cap limits what is measured."""


class Session(msgspec.Struct, frozen=True):
    """A session to replay."""

    messages: tuple[Message, ...]
    sizes: tuple[Size, ...]
    probes: Mapping[int, Sequence[Probe]]
    commands: Mapping[int, Sequence[Probe]] = {}
    wishes: Mapping[int, Sequence[Probe]] = {}

    @property
    def tokens(self) -> int:
        """All that was said."""
        return sum(size.tokens for size in self.sizes)


class Survival(msgspec.Struct, frozen=True, kw_only=True):
    """What a strategy kept, and what it took."""

    present: Present
    """Of paths, identifiers and numbers."""
    commands: Present
    """Of commands that are run again."""
    wishes: Present
    """Of what the user wanted from there on, word for word."""
    account: Account
    largest: int
    """Tokens of the largest request."""


class Strategy(msgspec.Struct, frozen=True):
    """A way to stay within a cap, everything that is sent added up."""

    name: str
    policy: Callable[[int], Policy] | None = None
    """For a cap; None: the newest messages that fit, whatever they belong to."""


def session_of(messages: Sequence[Message], counter: Counter) -> Session:
    """A session, counted, with its probes."""
    return Session(
        tuple(messages),
        tuple(size_of(message, counter) for message in messages),
        probes_of(messages),
        commands_again(messages),
        wishes_followed(messages),
    )


class Sending(Protocol):
    """Whoever makes requests of what is said."""

    def add(self, message: Message, size: Size) -> None:
        """One more message."""

    def request(self) -> Sequence[Message]:
        """What is sent now."""


def sending_by(strategy: Strategy, cap: int, counter: Counter) -> Sending:
    """Sends what a strategy sends within a cap."""
    return _Newest(cap) if strategy.policy is None else Folded(strategy.policy(cap), counter)


def replay(session: Session, sending: Sending, counter: Counter) -> Survival:
    """Every request of a session, as somebody sends it."""
    told: dict[int, _Told] = {}
    requests: list[list[Piece]] = []
    found, commands, wishes, largest = Present(), Present(), Present(), 0
    for position, (message, size) in enumerate(zip(session.messages, session.sizes, strict=True)):
        if message.role == "assistant" and position:
            sent = [_told(each, told, counter) for each in sending.request()]
            requests.append([one.piece for one in sent])
            largest = max(largest, sum(one.piece.tokens for one in sent))
            asked = [of.get(position, ()) for of in (session.probes, session.commands, session.wishes)]
            if any(asked):
                text = "\n".join([one.text for one in sent])
                names, again, wanted = (present(probes, text) for probes in asked)
                found, commands, wishes = found + names, commands + again, wishes + wanted
        sending.add(message, size)
    return Survival(present=found, commands=commands, wishes=wishes, account=account(requests), largest=largest)


class _Told(msgspec.Struct, frozen=True):
    message: Message
    """Held, so that its identity stays its own."""
    text: str
    piece: Piece


def _told(message: Message, known: dict[int, _Told], counter: Counter) -> _Told:
    """A message as it is sent; most of a request was in the one before."""
    found = known.get(id(message))
    if found is None:
        text = message.whole_text
        piece = Piece(text.encode("utf-8", "surrogatepass"), counter.message(message).value)
        found = known[id(message)] = _Told(message, text, piece)
    return found


class Folded:
    """What sash sends."""

    def __init__(self, policy: Policy, counter: Counter) -> None:
        self.fold = Fold(policy, limits_of(policy, window=BIG_WINDOW), counter)
        self.fold.memory = Archive() if policy.recall_tokens else None

    def add(self, message: Message, size: Size) -> None:
        self.fold.add(message, size)

    def request(self) -> Sequence[Message]:
        return assemble(self.fold).messages


class _Newest:
    """The newest messages that fit: a list that is cut off at its front, whatever belongs together."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.said: list[tuple[Message, int]] = []

    def add(self, message: Message, size: Size) -> None:
        self.said.append((message, size.tokens))

    def request(self) -> Sequence[Message]:
        room, first = self.cap, len(self.said)
        while first and self.said[first - 1][1] <= room:
            first -= 1
            room -= self.said[first][1]
        return [message for message, _ in self.said[first:]]


def _without_digests(cap: int) -> Policy:
    return Policy(history_tokens=cap, replace="nothing", step_digest_tokens=1, facts_tokens=0)


def _clipped(cap: int) -> Policy:
    return msgspec.structs.replace(_without_digests(cap), keep_share=1.0, soft_share=1.0)


def _marked(cap: int) -> Policy:
    bare = _without_digests(cap - MARKER)
    return msgspec.structs.replace(bare, summary_tokens=MARKER, replace="marker")


def _first_sentences(cap: int) -> Policy:
    tenth = cap // 10
    bare = _without_digests(cap - tenth)
    return msgspec.structs.replace(bare, summary_tokens=tenth, replace="first-sentences")


def digested(cap: int, facts: int = 0, recall: int = 0) -> Policy:
    """A tenth of the cap for what stands for turns that left, and another for steps."""
    tenth = cap // 10
    return Policy(
        history_tokens=cap - 2 * tenth - facts - recall - FRAMING,
        summary_tokens=tenth,
        step_digest_tokens=tenth,
        facts_tokens=facts,
        recall_tokens=recall,
    )


MARKER = 32
"""Tokens that seed 002's note may take."""
FRAMING = 40
"""What stands around the messages that sash adds."""

STRATEGIES = (
    # As LangChain's `trim_messages(strategy="last")` keeps them.
    Strategy("last messages"),
    Strategy("clip only", _clipped),
    Strategy("frames alone", _without_digests),
    Strategy("marker", _marked),
    Strategy("first-sentences", _first_sentences),
    Strategy("digest", digested),
    Strategy("digest, facts", lambda cap: digested(cap, facts=cap // 40)),
    Strategy("digest, facts, recall", lambda cap: digested(cap, facts=cap // 40, recall=cap // 10)),
)
"""What is compared, everything each sends within the same cap."""
