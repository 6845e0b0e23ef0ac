"""
Messages as providers take them: a request's body, a list of messages, or one of either a line; the requests of a batch.

A body that was logged with its answer (OpenHands, LiteLLM) is read with it, and with the usage it reports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from sash.core.message import Message
from sash.errors import InvalidMessage
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.batch import Request, request_in
from sash.transcripts.document import Document, document, items, taken
from sash.transcripts.entry import Entry, Part, Usage
from sash.transcripts.lines import lines, readable, records
from sash.transcripts.moment import moment
from sash.transcripts.request_body import asked_in
from sash.transcripts.source import Source
from sash.wire import json_text, read_tools, wire_named

_any = msgspec.json.Decoder(Any)
_one = msgspec.json.Decoder(msgspec.Raw)
_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LISTS = frozenset({"messages", "conversations", "traj", "history"})
"""Fields that only a body has."""
_HOLDS = _LISTS | {"input", "output"}
"""With those that a message may have too."""
_SAYS = frozenset({"role", "type"})
"""What each message has one of: who speaks, or what it is."""


def read(source: Source, about: About, asked: Asked, wire: str) -> Iterator[Entry]:
    """The messages of a file in this wire's JSON."""
    if is_lines(source):
        yield from _lines(source, about, wire, asked.part)
        return
    found = document(source, about)
    if found.listed and (requests := _requests(found.items, wire, about)):
        found = _picked(requests, asked.part, about)
    elif found.listed and found.items and _holds_more(found.items[0]):
        found = chosen(found.items, asked.part, about)
    elif (request := request_in(found.fields)) and asked.part in ("", request.name):
        found = taken(request.body, about)
    elif asked.part:
        raise about.lacks(asked.part)
    if _SAYS & found.fields.keys() and not _is_body(found.fields):
        yield from _message(found.text, found.fields, about, wire, 1)
    else:
        yield from entries(found, about, wire)


def _holds_more(item: bytes) -> bool:
    """Whether an item of a list is a conversation itself."""
    try:
        return bool(json_text.fields(item).keys() & _HOLDS) and b'"role"' in item
    except InvalidMessage:
        return False


def _is_body(fields: Mapping[str, object]) -> bool:
    """Whether an object holds messages; if not, it may be one."""
    names = fields.keys()
    return bool(_LISTS & names) or bool(_HOLDS & names and not _SAYS & names)


def chosen(bodies: Sequence[bytes], part: str, about: About) -> Document:
    """One of several conversations in a list: the first, unless another is named by its place."""
    about.parts = tuple(_run(place, part) for place in range(len(bodies)))
    if part and part not in {each.name for each in about.parts}:
        raise about.lacks(part)
    return taken(bodies[int(part or 0)], about) if bodies else Document()


def _run(place: int, asked: str, name: str = "") -> Part:
    name = name or str(place)
    return Part(name=name, current=name == asked if asked else place == 0, usual=place == 0)


def _requests(given: Sequence[bytes], wire: str, about: About) -> list[Request]:
    """The requests of a batch that is one list; none of another list."""
    try:
        found = [(place, request_in(json_text.fields(item))) for place, item in enumerate(given, 1)]
    except InvalidMessage:
        return []
    return [request for place, request in found if request is not None and _is_asked(request, wire, about, place)]


def _is_asked(request: Request, wire: str, about: About, place: int) -> bool:
    """Whether a request is in the wire that the file is read in."""
    if request.wire != wire:
        about.hurt(place, f"a request in another wire ({request.wire})")
    return request.wire == wire


def _picked(requests: Sequence[Request], part: str, about: About) -> Document:
    names: list[str] = []
    for request in requests:
        names.append(_name_of(request, names))
    about.parts = tuple(_run(place, part, name) for place, name in enumerate(names)) if len(names) > 1 else ()
    if part and part not in names:
        raise about.lacks(part)
    return taken(requests[names.index(part) if part else 0].body, about)


def _name_of(request: Request, taken_by: Collection[str]) -> str:
    """Its own name, which a provider wants to be there once; one that is there again has its place beside it."""
    return request.name if request.name not in taken_by else f"{request.name}#{len(taken_by)}"


def _lines(source: Source, about: About, wire: str, part: str) -> Iterator[Entry]:
    """One message a line, or one conversation a line, of which the first is read unless another is named."""
    bodies: list[Part] = []
    names: set[str] = set()
    for number, fields, line in records(source, about, _raw):
        request, text = request_in(fields), line
        if request is not None and not _is_asked(request, wire, about, number):
            continue
        if request is None and not _is_body(fields):
            yield from _message(line, fields, about, wire, number)
            continue
        name = ""
        if request is not None:
            name, text = _name_of(request, names), request.body
            names.add(name)
        bodies.append(_run(len(bodies), part, name))
        if bodies[-1].current:
            yield from entries(taken(text, about, number), about, wire)
    about.parts = tuple(bodies) if len(bodies) > 1 else ()
    if part and not any(body.current for body in bodies):
        raise about.lacks(part)


def _message(
    text: bytes, fields: Mapping[str, bytes | msgspec.Raw], about: About, wire: str, line: int
) -> Iterator[Entry]:
    """A message that stands by itself, with what its tool noted beside it; what is none is listed as damage."""
    for said in entry(text, about, wire, line):
        yield msgspec.structs.replace(said, at=_time(fields), key=_key(fields))


def _time(fields: Mapping[str, bytes | msgspec.Raw]) -> float | None:
    for name in ("timestamp", "created_at", "created"):
        if name in fields:
            return moment(_value(fields[name]))
    return None


def _key(fields: Mapping[str, bytes | msgspec.Raw]) -> str:
    name = _value(fields.get("id", json_text.ABSENT))
    return name if isinstance(name, str) else ""


def _value(raw: bytes | msgspec.Raw) -> Any:
    if not raw:
        return None
    try:
        return json_text.decode(_any, raw)[0]
    except InvalidMessage:
        return None


def entries(found: Document, about: About, wire: str) -> Iterator[Entry]:
    """The messages of one body."""
    spoken = wire_named(wire)
    fields = found.fields
    about.asked = asked_in(fields, wire)
    about.model = str(_value(fields.get("model", b"")) or about.model)
    name = _value(fields.get("id", b"")) or _value(fields.get("instance_id", b""))
    about.id = name if isinstance(name, str) else about.id
    if spoken.SYSTEM and spoken.SYSTEM in fields and json_text.present(fields[spoken.SYSTEM]):
        try:
            about.system = spoken.read_system(fields[spoken.SYSTEM])
        except InvalidMessage as error:
            about.hurt(0, f"{spoken.SYSTEM}: {error}")
    try:
        about.tools = read_tools(fields.get("tools"), wire)
    except InvalidMessage as error:
        about.hurt(0, str(error))
    given = found.items if found.listed else items(_said(fields, spoken.MESSAGES, wire), about)
    place = 0
    for place, item in enumerate(given, 1):
        yield from entry(item, about, wire, place)
    yield from _answers(fields, about, wire, place + 1)


def _said(fields: Any, name: str, wire: str) -> bytes | None:
    for holds in (name, "messages", "traj", "output"):
        if holds in fields:
            given: bytes = fields[holds]
            if given[:1] == b'"' and wire == "openai-responses":
                return json_text.list_of([given])
            return given
    return None


def entry(item: bytes, about: About, wire: str, place: int) -> Iterator[Entry]:
    """One message of a list; what is none is listed as damage."""
    try:
        message = wire_named(wire).read_message(item)
    except InvalidMessage as error:
        about.hurt(place, f"no message: {error}")
        return
    yield Entry(message=message, line=place)


class _Choice(msgspec.Struct, gc=False):
    message: msgspec.Raw = json_text.ABSENT


class _Details(msgspec.Struct, gc=False):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None


class _Answer(msgspec.Struct, gc=False):
    model: str | None = None
    created: Any = None
    choices: list[_Choice] = []
    role: str | None = None
    content: msgspec.Raw = json_text.ABSENT
    output: msgspec.Raw = json_text.ABSENT
    usage: _Usage | None = None


_answer = msgspec.json.Decoder(_Answer)
_KNOWN = ("role", "content", "tool_calls", "name", "refusal")


def _answers(fields: Any, about: About, wire: str, place: int) -> Iterator[Entry]:
    """What the model answered to a logged request, with the usage that came with it."""
    if "response" not in fields:
        return
    try:
        answer = json_text.decode(_answer, fields["response"])[0]
    except InvalidMessage as error:
        about.hurt(0, f"response: {error}")
        return
    model, at, usage = answer.model or "", moment(answer.created), reported(answer.usage)
    about.model = model or about.model
    for message in _answered(answer, about, wire):
        yield Entry(message=message, at=at, model=model, usage=usage, line=place)
        place, usage = place + 1, None


def _answered(answer: _Answer, about: About, wire: str) -> Iterator[Message]:
    spoken = wire_named(wire)
    try:
        for choice in answer.choices[:1]:
            said = json_text.fields(choice.message)
            kept = {name: said[name] for name in _KNOWN if name in said and json_text.present(said[name])}
            yield spoken.read_message(json_text.object_of({"content": msgspec.Raw(b"null")} | kept))
        if json_text.present(answer.output):
            for item in json_text.items(answer.output):
                yield spoken.read_message(item)
        elif answer.role == "assistant" and json_text.present(answer.content):
            yield spoken.read_message(json_text.object_of({"role": b'"assistant"', "content": answer.content}))
    except InvalidMessage as error:
        about.hurt(0, f"response: {error}")


def reported(usage: _Usage | None) -> Usage | None:
    """Usage as OpenAI, Anthropic or somebody between them tells it."""
    if usage is None:
        return None
    details = usage.prompt_tokens_details or usage.input_tokens_details
    cached = (details.cached_tokens or 0) if details is not None else 0
    if usage.prompt_tokens is not None:
        whole = usage.prompt_tokens
        told = Usage(input=max(whole - cached, 0), output=usage.completion_tokens or 0, cache_read=cached)
    else:
        # Only Anthropic counts cached tokens apart from the input.
        read, made = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        told = Usage(
            input=max((usage.input_tokens or 0) - cached, 0),
            output=usage.output_tokens or 0,
            cache_read=cached or read,
            cache_write=made,
        )
    return told if told.context else None


def is_lines(source: Source) -> bool:
    """Whether a file holds several JSON values, one a line."""
    for seen, (_, text) in enumerate(lines(source, About())):
        try:
            _one.decode(readable(text))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return seen > 0
        if seen:
            return True
    return False
