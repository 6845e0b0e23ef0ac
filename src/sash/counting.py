"""How many tokens a text or a conversation takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from sash.arguments import TEXT, takes
from sash.core.message import Message, ToolResult
from sash.core.tokens import NO_TOKENS, Counter, TokenCount, total
from sash.core.turn import SYSTEM, Placing
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
    """
    Each role that speaks, results as `tool` on every wire; `tools` for their schemas, `request` for what every
    request costs.
    """
    by_type: Mapping[str, TokenCount]
    """Each kind of block; `framing` for what stands around them, `tools` and `request` as above."""
    messages: int
    """All that was said: neither the system prompt nor what a log notes between."""
    turns: int
    """That the user started: what was said before the first of them is turn 0, and not counted."""
    system: int
    """Messages of the system prompt."""


@takes(model=TEXT, wire=TEXT, counter=TEXT)
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
    tallying = Tallying(counter)
    for message in conversation.messages:
        tallying.add(message)
    return tallying.tally(tools=[tool.source for tool in conversation.tools])


class Tallying:
    """The tokens of what is said, added up as it comes: none of it is kept."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._by_role: dict[str, TokenCount] = {}
        self._by_type: dict[str, TokenCount] = {}
        self._placing = Placing()
        self._turns = self._messages = self._system = 0

    def add(self, message: Message) -> None:
        """One more message; what a log says about itself takes no tokens."""
        placed = self._placing.add(message)
        self._turns += placed.starts
        if message.role == "meta":
            return
        self._system += placed.turn == SYSTEM
        self._messages += placed.turn != SYSTEM
        # Anthropic writes results into the user's messages; they are a tool's words all the same.
        results = [type(block) is ToolResult for block in message.blocks]
        for block, is_result in zip(message.blocks, results, strict=True):
            role = "tool" if is_result else message.role
            self._add(role, str(block.__struct_config__.tag), self._counter.block(block))
        self._add("tool" if results and all(results) else message.role, FRAMING, self._counter.around(message))

    def _add(self, role: str, kind: str, count: TokenCount) -> None:
        self._by_role[role] = self._by_role.get(role, NO_TOKENS) + count
        self._by_type[kind] = self._by_type.get(kind, NO_TOKENS) + count

    def tally(self, tools: Sequence[bytes] = ()) -> Tally:
        """All of it, with the schemas of the tools that stand beside it."""
        if tools:
            self._add("tools", "tools", self._counter.tools(tools))
        if self._counter.priming and self._placing.length:
            self._add("request", "request", TokenCount(self._counter.priming))
        return Tally(
            total=total(self._by_role.values()),
            by_role=self._by_role,
            by_type=_without_nothing(self._by_type),
            messages=self._messages,
            turns=self._turns,
            system=self._system,
        )


def _without_nothing(counts: Mapping[str, TokenCount]) -> dict[str, TokenCount]:
    return {kind: count for kind, count in counts.items() if count.value}
