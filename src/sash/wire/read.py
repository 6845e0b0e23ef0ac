"""A provider's request body, or a list of its messages, as messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sash.core.message import Message
from sash.errors import InvalidMessage
from sash.wire import json_text, openai_responses
from sash.wire.conversation import Conversation, Repair, Tool
from sash.wire.registry import WIRES, Wire, wire_named
from sash.wire.strangers import hinted, home_of


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A body taken apart, its messages not read yet."""

    wire: str
    listed: bytes
    """The messages, as a JSON list."""
    system: Message | None = None
    """The system prompt, where the wire keeps it apart."""
    tools: tuple[Tool, ...] = ()
    fields: Mapping[str, bytes] = {}
    """Every field as it came; empty when only messages were given."""
    source: bytes
    continued: bool = False
    """The provider keeps what came before: a result may answer a call that is only there, or nothing is said here."""
    sendable: bool = True
    """False when a field holds a lone surrogate: what came is not sent back, but written anew from what can be sent."""


def take_apart(given: object, wire: str) -> Body:
    """
    A body, a list of messages or a single message, without reading the messages.

    Takes bytes, text, plain objects and SDK objects.
    """
    spoken = wire_named(wire)
    source = spoken.as_json(given)
    if source[:64].lstrip()[:1] != b"{":
        return Body(wire=wire, listed=_list(source, spoken), source=source)
    fields, lone = json_text.fields_as_given(source)
    # A custom tool's call has an `input` of its own.
    if spoken.MESSAGES not in fields or fields.keys() >= {"call_id", "type"}:
        if not fields.keys() & {"role", "type"}:
            raise InvalidMessage(_without_messages(fields, spoken), field=spoken.MESSAGES)
        return Body(wire=wire, listed=json_text.list_of([source]), source=source)
    kept = {name: json_text.mend_surrogates(bytes(value)) if lone else bytes(value) for name, value in fields.items()}
    return Body(
        wire=wire,
        listed=_list(kept[spoken.MESSAGES] if not lone else bytes(fields[spoken.MESSAGES]), spoken),
        system=_system(fields, spoken),
        tools=read_tools(kept.get("tools"), wire),
        fields=kept,
        source=source,
        continued=wire == openai_responses.NAME and _continues(kept),
        sendable=not lone,
    )


def _without_messages(fields: Mapping[str, msgspec.Raw], wire: Wire) -> str:
    problem = f"a body of {wire.NAME!r} has a field {wire.MESSAGES!r}"
    others = [f'"{other.NAME}"' for other in WIRES.values() if other.MESSAGES in fields and other.RULES.tools]
    return f"{problem}; for this one say wire={' or '.join(others)}" if others else problem


def _continues(fields: Mapping[str, bytes]) -> bool:
    def told(name: str) -> bool:
        return json_text.present(fields.get(name)) and fields[name] not in (b'""', b"{}")

    return openai_responses.continues(
        previous_response_id=told("previous_response_id"),
        conversation=told("conversation"),
        prompt=told("prompt"),
        listed=fields[openai_responses.MESSAGES],
    )


def _list(given: bytes, wire: Wire) -> bytes:
    """The messages as a list, where text alone may stand for one."""
    return json_text.list_of([given]) if wire.TAKES_TEXT and given.lstrip()[:1] == b'"' else given


def _system(fields: Mapping[str, msgspec.Raw], wire: Wire) -> Message | None:
    given = fields.get(wire.SYSTEM, json_text.ABSENT)
    if not json_text.present(given):
        return None
    try:
        return wire.read_system(bytes(given))
    except InvalidMessage as error:
        raise InvalidMessage(error.problem, field=f"{wire.SYSTEM}{_after(error.field)}") from None


def _after(field: str) -> str:
    return f".{field}" if field and field[0] != "[" else field


def read(given: object, wire: str) -> Conversation:
    """
    What a body, a list of messages or a single message holds.

    Bad input raises `InvalidMessage`, which names the position and the field.
    """
    body = take_apart(given, wire)
    messages = read_list(body.listed, wire)
    if body.system is not None:
        messages = (body.system, *messages)
    repairs = mended(messages)
    return Conversation(
        wire=wire,
        messages=messages,
        tools=body.tools,
        fields=body.fields,
        source=body.source if body.sendable and not repairs else b"",
        repairs=repairs,
    )


def model_of(fields: Mapping[str, bytes]) -> str:
    """The model that a body names; empty where it names none."""
    named = msgspec.json.decode(fields["model"]) if "model" in fields else None
    return named if isinstance(named, str) else ""


def read_tools(given: object, wire: str) -> tuple[Tool, ...]:
    """The tools a body offers the model."""
    if given is None:
        return ()
    source = json_text.as_json(given)
    if not json_text.present(source):
        return ()
    read_tool = wire_named(wire).read_tool
    tools: list[Tool] = []
    try:
        items = json_text.items(source)
    except InvalidMessage as error:
        raise InvalidMessage(error.problem, field=f"tools{_after(error.field)}") from None
    for place, item in enumerate(items):
        try:
            tools.append(read_tool(item))
        except InvalidMessage as error:
            raise InvalidMessage(error.problem, field=f"tools[{place}]{_after(error.field)}") from None
    return tuple(tools)


def read_list(listed: bytes, wire: str, *, first: int = 0) -> tuple[Message, ...]:
    """The messages of a JSON list; `first` is the position of the first of them in the whole history."""
    spoken = wire_named(wire)
    try:
        items = json_text.items(listed)
    except InvalidMessage as error:
        text = "text or " if spoken.TAKES_TEXT else ""
        problem = error.problem.replace("must be ", f"must be {text}", 1)
        raise InvalidMessage(problem, field=f"{spoken.MESSAGES}{_after(error.field)}") from None
    try:
        return tuple(spoken.read_messages(listed, items))
    except (msgspec.DecodeError, RecursionError, InvalidMessage):
        # Something in it is unusual: one by one, so that the error can name the place.
        pass
    messages: list[Message] = []
    for position, item in enumerate(items, first):
        try:
            messages.append(spoken.read_message(item))
        except InvalidMessage as error:
            home, _ = home_of(item, wire)
            problem = hinted(error.problem, home) if home else error.problem
            raise InvalidMessage(problem, position=position, field=error.field, wire=home) from None
    return tuple(messages)


def mended(messages: Sequence[Message], *, first: int = 0) -> tuple[Repair, ...]:
    """A note for each message that could only be read after mending its text."""
    why = "a lone surrogate is sent as U+FFFD"
    return tuple(Repair(what="lone-surrogate", message=n, why=why) for n, m in enumerate(messages, first) if m.edited)
