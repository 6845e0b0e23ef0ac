"""How many tokens a text or a conversation takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from sash.core.tokens import NO_TOKENS, Counter, TokenCount, total
from sash.core.turn import group
from sash.counters import counter_for
from sash.wire import Conversation, model_of, read

if TYPE_CHECKING:
    from sash.counters.remote import Answer

FRAMING = "framing"
"""What a provider adds around the blocks of a message."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of a conversation, and where they go: both ways of dividing them add up to the total."""

    total: TokenCount
    by_role: Mapping[str, TokenCount]
    """Each role that speaks; `tools` for their schemas, `request` for what every request costs."""
    by_type: Mapping[str, TokenCount]
    """Each kind of block; `framing` for what stands around them, `tools` and `request` as above."""
    messages: int
    turns: int


def count_tokens(
    text_or_messages: object, *, model: str = "", wire: str = "openai-chat", counter: str = ""
) -> TokenCount:
    """
    The tokens of a text, or of messages as they would be sent.

    Text is a `str`. Anything else is read by its wire: a list of messages or a whole body, of
    which the tools count too. `counter` asks for a counter by name instead of the model's own;
    `remote:...` asks a provider or a local server, and is estimated where that fails.
    """
    given = text_or_messages if isinstance(text_or_messages, str) else read(text_or_messages, wire)
    model = model or model_named(given)
    if counter.startswith("remote:"):
        return ask(given, model=model, counter=counter).count
    chosen = counter_for(model, counter=counter).counter
    return chosen.text(given) if isinstance(given, str) else tally(given, chosen).total


def model_named(given: str | Conversation) -> str:
    """The model that a body asks for itself."""
    return "" if isinstance(given, str) else model_of(given.fields)


def ask(given: str | Conversation, *, model: str, counter: str) -> Answer:
    """What a counting endpoint says about a text or a conversation; the estimate, with a note, where it fails."""
    from sash.counters.remote import Remote, endpoint

    remote, chosen = Remote(endpoint(counter, model)), counter_for(model, counter="estimate").counter
    if isinstance(given, str):
        return remote.text(given, lambda: chosen.text(given))
    body = {name: msgspec.Raw(field) for name, field in given.fields.items()} or {"messages": msgspec.Raw(given.source)}
    return remote.request(body, lambda: tally(given, chosen).total)


def tally(conversation: Conversation, counter: Counter) -> Tally:
    """The tokens of a conversation by role and by type of block."""
    by_role: dict[str, TokenCount] = {}
    by_type: dict[str, TokenCount] = {}

    def add(role: str, kind: str, count: TokenCount) -> None:
        by_role[role] = by_role.get(role, NO_TOKENS) + count
        by_type[kind] = by_type.get(kind, NO_TOKENS) + count

    for message in conversation.messages:
        if message.role == "meta":
            continue
        for block in message.blocks:
            add(message.role, str(block.__struct_config__.tag), counter.block(block))
        add(message.role, FRAMING, counter.around(message))
    if conversation.tools:
        add("tools", "tools", counter.tools([tool.source for tool in conversation.tools]))
    if counter.priming and conversation.messages:
        add("request", "request", TokenCount(counter.priming))
    turns = sum(turn.number > 0 for turn in group(conversation.messages))
    return Tally(
        total=total(by_role.values()),
        by_role=by_role,
        by_type=_without_nothing(by_type),
        messages=len(conversation.messages),
        turns=turns,
    )


def _without_nothing(counts: Mapping[str, TokenCount]) -> dict[str, TokenCount]:
    return {kind: count for kind, count in counts.items() if count.value}
