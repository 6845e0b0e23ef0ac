"""A counter of whole messages: words by a tokenizer or an estimator, and what the provider adds around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from sash.core.message import Block, Document, Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from sash.core.tokens import NO_TOKENS, TokenCount, total
from sash.counters.documents import count_document
from sash.counters.estimate import Framing
from sash.counters.images import ImageRule, count_image
from sash.counters.memo import Memo, said
from sash.counters.schemas import as_json, schema_parts
from sash.counters.texts import TextCounter


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider makes of a message beside its words."""

    framing: Framing
    images: ImageRule
    priming: int = 0
    """Tokens that every request costs beside its messages and tools."""
    tools_as_json: bool = True
    """The model is shown the JSON of its tools, and not a form of the provider's own."""
    tools_prompt: int = 0
    """What the provider adds once to a request that has tools."""
    published: bool = False
    """True where the provider says what it adds to a plain message, so that such a message is counted exactly."""
    words_only: bool = False
    """Only what stands there is counted: of a call its arguments as JSON, of thinking its text."""


FEW = 3
"""Blocks of a message whose framing is remembered: with more there would be too many shapes."""

_Shape = tuple[str, type[Block] | tuple[type[Block], ...]]
"""Who speaks, and the kind of the one block or of all of them."""

COUNTED = Memo()
"""Shared by all counters, so that its bound is one for the process."""


class ModelCounter:
    """
    Counts what a model reads, as its provider would.

    A message is counted once: its count is remembered by what it says, in a bounded memo.
    """

    def __init__(self, texts: TextCounter, rules: Rules, *, memo: Memo = COUNTED) -> None:
        self.texts, self.rules = texts, rules
        self._count = texts.count
        self.id = texts.id
        self.exact = texts.exact
        self.priming = rules.priming
        # Two models may share a tokenizer and yet differ in their rule for images.
        self.version = f"{texts.version}-{blake2b(msgspec.json.encode(rules), digest_size=4).hexdigest()}"
        self._shapes: dict[_Shape, TokenCount] = {}
        self._memo, self._stamp = memo, blake2b(f"{self.id} {self.version}".encode(), digest_size=8).digest()

    def __repr__(self) -> str:
        return f"<counter {self.id} {self.version}>"

    def text(self, text: str) -> TokenCount:
        """Bare words, without any framing."""
        return self.texts.count(text)

    def image(self, image: Image) -> TokenCount:
        """A picture by the provider's rule, from the size its own header states."""
        return count_image(image, self.rules.images)

    def message(self, message: Message) -> TokenCount:
        """A message as it is sent: its blocks and what stands around them. Counted once, then remembered."""
        if message.role == "meta":
            return NO_TOKENS
        key = self._stamp + said(message)
        known = self._memo.get(key)
        return known or self._memo.keep(key, total(map(self.block, message.blocks)) + self.around(message))

    def tools(self, schemas: Sequence[bytes]) -> TokenCount:
        """
        Tool schemas as they are sent, each the JSON of one tool.

        Always an estimate: no provider says how it writes them for the model.
        """
        if not schemas:
            return NO_TOKENS
        if self.rules.tools_as_json:
            tokens = self.text(as_json(schemas)).value
        else:
            parts = schema_parts(schemas)
            tokens = self.text(parts.words).value + parts.between
        return TokenCount(tokens + self.rules.tools_prompt, exact=False)

    def block(self, block: Block) -> TokenCount:
        """One block by itself, with what each such block costs."""
        # By far the most are words, alone or in a result: asked first, without another call.
        kind = type(block)
        if kind is Text:
            return self._count(block.text)  # type: ignore[union-attr]  # mypy does not narrow by `kind is`
        if kind is ToolResult:
            content = block.content  # type: ignore[union-attr]  # as above
            if len(content) == 1 and type(content[0]) is Text:
                return self._count(content[0].text)
        match block:
            case ToolCall():
                return self._call(block)
            case Text():
                return self.text(block.text)
            case ToolResult():
                return total(self.block(part) for part in block.content)
            case Thinking():
                return self._thinking(block)
            case Image():
                return self.image(block)
            case Document():
                return count_document(block, self.text)
            case Opaque():
                # Its provider may read it quite differently from the JSON that stands here.
                return TokenCount(self.text(block.body.decode("utf-8", "replace")).value, exact=False)

    def around(self, message: Message) -> TokenCount:
        """
        What the provider adds around the blocks of a message.

        Exact only for a plain message: of calls and results no provider says it.
        """
        blocks = message.blocks
        # Nearly all messages have one of a few shapes.
        shape = (message.role, type(blocks[0]) if len(blocks) == 1 else tuple(map(type, blocks)))
        known = self._shapes.get(shape)
        if known is None:
            known = self._framed(message)
            if len(blocks) <= FEW:
                self._shapes[shape] = known
        if self.rules.priming and (name := _speaker(message)):
            return self._framed(message, 1 + self.text(name).value)
        return known

    def _framed(self, message: Message, named: int = 0) -> TokenCount:
        framing, kinds = self.rules.framing, [type(block) for block in message.blocks]
        calls, results = kinds.count(ToolCall), kinds.count(ToolResult)
        tokens = 0.0
        if message.role == "assistant":
            tokens += framing.assistant
        elif not results or calls + results < len(kinds):
            tokens += framing.user
        if calls:
            tokens += framing.first_call
        if results:
            tokens += framing.first_result + (results - 1) * framing.further_result
        # Fitted prices may make up for one another; a message never costs less than its words.
        tokens = max(tokens + named, -calls * framing.call)
        return TokenCount(math.ceil(tokens), self.rules.published and not calls and not results)

    def _call(self, call: ToolCall) -> TokenCount:
        framing = self.rules.framing
        if self.rules.words_only:
            return self.text(_compact(call.arguments))
        words, parameters = call.arguments, 0
        if not call.custom:
            words, parameters = _arguments(call.arguments)
        between = framing.call + parameters * framing.parameter
        return TokenCount(self.text(f"{call.name}\n{words}").value + math.ceil(between), exact=False)

    def _thinking(self, thinking: Thinking) -> TokenCount:
        framing = self.rules.framing
        words = self.text(thinking.text).value
        if thinking.signature and not self.rules.words_only:
            # The text is often only a summary of what was thought; its signature grows with the thing itself.
            if framing.thinking_per_character:
                words = framing.thought(thinking.signature)
            else:
                words = max(words, _encrypted(thinking.signature))
        return TokenCount(words, exact=False)


def _encrypted(signature: str) -> int:
    """Reasoning that OpenAI gives back encrypted: base64, of which Codex found 650 bytes to be wrapping."""
    return max(0, math.ceil((len(signature) * 0.75 - 650) / 4))


class _Named(msgspec.Struct):
    name: str = ""


_named = msgspec.json.Decoder(_Named)


def _speaker(message: Message) -> str:
    """The name of who speaks, which OpenAI's chat messages may have: the model reads it."""
    if message.wire != "openai-chat" or b'"name"' not in message.source:
        return ""
    try:
        return _named.decode(message.source).name
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _arguments(arguments: str) -> tuple[str, int]:
    """The names and values of a call's arguments as words, unescaped, and how many there are."""
    try:
        named = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # A model may break off in the middle of its JSON.
        return arguments, 0
    if not isinstance(named, dict):
        return arguments, 0
    words: list[str] = []
    for name, value in named.items():
        words.append(name)
        words.append(value if isinstance(value, str) else msgspec.json.encode(value).decode())
    return "\n".join(words), len(named)


def _compact(arguments: str) -> str:
    """JSON without the space between its parts; what is no JSON, as it is."""
    try:
        return msgspec.json.format(arguments, indent=-1)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return arguments
