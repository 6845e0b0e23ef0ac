"""
JSON as it stands: taken apart and put together without changing a byte.

Values travel as `msgspec.Raw` or bytes, so numbers of 5,000 digits, key order and
escapes come out as they went in. A lone surrogate is the one thing that no
provider takes: it is read as U+FFFD, in its place and of its length.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from sash.errors import InvalidMessage
from sash.wire.kinds import wrong_kind

T = TypeVar("T")

ROOM = 64
"""Levels of nesting that are left free for whoever reads a message after us."""
_OPENED, _CLOSED = b"[" * ROOM, b"]" * ROOM

ABSENT = msgspec.Raw(b"")
"""Stands for a field that is not there; `null` is treated alike."""

_raw = msgspec.json.Decoder(msgspec.Raw)
_raw_items = msgspec.json.Decoder(list[msgspec.Raw])
_nested: Any = list[msgspec.Raw]
for _ in range(ROOM):
    _nested = list[_nested]
_deep_items: msgspec.json.Decoder[list[Any]] = msgspec.json.Decoder(_nested)
_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])

_escape = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)", re.DOTALL
)


def as_json(given: object) -> bytes:
    """The JSON of what a caller gave: bytes, text, plain objects or an SDK's."""
    if isinstance(given, str):
        # In JSON a lone surrogate has a spelling, in UTF-8 it has none.
        return given.removeprefix("\ufeff").encode("utf-8", "backslashreplace")
    if isinstance(given, bytes | bytearray | memoryview):
        text = bytes(given).removeprefix(b"\xef\xbb\xbf")
        try:
            if not text.isascii():
                text.decode()
        except UnicodeDecodeError as error:
            raise InvalidMessage(f"is not UTF-8 at byte {error.start}: {error.reason}; send UTF-8") from None
        return text
    return written(given)[0]


def written(given: object) -> tuple[bytes, bool]:
    """The JSON of objects, and whether they are plain: nothing but what JSON itself knows."""
    try:
        return _encoded(given), _refuse_nan(given)
    except InvalidMessage:
        raise
    except RecursionError:
        raise InvalidMessage("is nested too deeply") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidMessage(f"has no JSON: {error}; send it as JSON text") from None


def _encoded(given: object) -> bytes:
    try:
        return msgspec.json.encode(given, enc_hook=_dumped)
    except UnicodeEncodeError:
        return json.dumps(given, default=_dumped, separators=(",", ":"), allow_nan=False).encode()


def decode(decoder: msgspec.json.Decoder[T], text: bytes | msgspec.Raw) -> tuple[T, bool]:
    """What the text says, and whether lone surrogates had to be mended to read it."""
    try:
        return decoder.decode(text), False
    except RecursionError:
        raise InvalidMessage("is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise _invalid(error, decoder.type) from None
    except msgspec.DecodeError as error:
        mended = mend_surrogates(bytes(text))
        if mended == bytes(text):
            raise InvalidMessage(f"is no JSON: {error}") from None
        return decode(decoder, mended)[0], True


def present(value: bytes | msgspec.Raw | None) -> bool:
    """Whether a field was given and is not null."""
    return value is not None and bytes(value) not in (b"", b"null")


def fields(text: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The fields of an object, in order, as they can be sent: without lone surrogates."""
    return decode(_raw_fields, text)[0]


def fields_as_given(text: bytes) -> tuple[dict[str, msgspec.Raw], bool]:
    """The fields of an object as they stand, and whether there are lone surrogates in them."""
    whole, mended = decode(_raw_fields, text)
    return ({key: msgspec.Raw(value) for key, value in _as_given(text)} if mended else whole), mended


def items(text: bytes | msgspec.Raw) -> list[bytes]:
    """The items of a list as they stand, lone surrogates and all."""
    try:
        # Read as if it stood deeper than it does: what passes leaves room in the stack for those who read it next.
        nested = _deep_items.decode(b"".join((_OPENED, text, _CLOSED)))
        for _ in range(ROOM):
            (nested,) = nested
    except RecursionError:
        raise InvalidMessage("is nested too deeply") from None
    except (msgspec.DecodeError, ValueError):
        # Not one list: read as it is, that says what is wrong and where. Or one with lone surrogates.
        decode(_raw_items, text)
        return [value for _, value in _as_given(bytes(text))]
    return list(map(bytes, nested))


def _leave_room(text: bytes) -> None:
    """Refuse what could not be read from a little deeper in the stack: others will read it after us."""
    decode(_raw, b"".join((_OPENED, text, _CLOSED)))


_separators = re.compile(r"[\s,:]*")
_value_at = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def _as_given(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Keys (empty in a list) and values of a text; mending keeps lengths, so all stands where it stood."""
    _leave_room(text)
    original, mended = text.decode(), mend_surrogates(text).decode()
    opens = _after(_separators, mended, 0)
    keyed = mended[opens] == "{"
    at = _after(_separators, mended, opens + 1)
    while mended[at] not in "]}":
        key = ""
        if keyed:
            key, at = _value_at(mended, at)
            at = _after(_separators, mended, at)
        end = _value_at(mended, at)[1]
        yield key, original[at:end].encode()
        at = _after(_separators, mended, end)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    assert match is not None
    return match.end()


def object_of(fields: Mapping[str, bytes | msgspec.Raw]) -> bytes:
    """An object from its fields."""
    # A field may be megabytes: each is copied once.
    parts: list[bytes | msgspec.Raw] = []
    for key, value in fields.items():
        parts += (b",", msgspec.json.encode(key), b":", value)
    return b"".join((b"{", *parts[1:], b"}"))


def size_of_object(fields: Mapping[str, bytes | msgspec.Raw]) -> int:
    """Bytes that `object_of` takes for these."""
    # A name has two quotation marks, a colon, and a comma or the brace before it.
    return sum(len(name.encode()) + len(value) + 4 for name, value in fields.items()) + 1


def list_of(items: Iterable[bytes | msgspec.Raw]) -> bytes:
    """A list from its items."""
    whole = list(items)
    if not whole:
        return b"[]"
    # The brackets go with the ends: the whole, which may be megabytes, is copied once.
    whole[0] = b"[%b" % whole[0]
    whole[-1] = b"%b]" % whole[-1]
    return b",".join(whole)


def mend_surrogates(text: bytes) -> bytes:
    r"""The text with each lone surrogate escape replaced by `\ufffd`, of the same length."""
    if b"\\ud" not in text and b"\\uD" not in text:
        # Seen at once, where going through all escapes of a long text takes a moment.
        return text
    return _escape.sub(lambda match: b"\\ufffd" if len(match[0]) == 6 else match[0], text)


_packer = msgspec.msgpack.Encoder()


def packed(given: list[Any]) -> bytearray:
    """
    The items of a list in a form that is several times faster to make than JSON, and to compare.

    Of plain objects it is equal only where their JSON is. Empty where there is no such form.
    """
    form = bytearray()
    try:
        _packer.encode_into(given, form)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return bytearray()
    # How many they are stands before them: without it, the form of a list is the beginning of that of a longer one.
    del form[: 1 if len(given) < 16 else 3 if len(given) < 1 << 16 else 5]
    return form


def _refuse_nan(given: object) -> bool:
    """
    NaN and infinity have no JSON: msgspec would write null, which says something else.

    Tells whether all else is plain.
    """
    plain = True
    waiting: list[Any] = [[given]]
    while waiting:
        holder = waiting.pop()
        for value in holder.values() if isinstance(holder, dict) else holder:
            kind = type(value)
            if kind is str or value is None or kind is bool or kind is int:
                # By far the most: long histories come through here.
                continue
            if kind is float:
                if not math.isfinite(value):
                    problem = f"{value!r} has no JSON; send a finite number or a string"
                    raise InvalidMessage(problem, field=_place_of(value, given))
            elif isinstance(value, dict | list | tuple):
                waiting.append(value)
            else:
                plain = False
    return plain


def _place_of(wanted: object, holder: Any) -> str:
    """Where in what was given a value stands: `messages[3].content`; looked for only when it is to be refused."""
    named = (
        holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list | tuple) else ()
    )
    for name, value in named:
        step = f"[{name}]" if isinstance(name, int) else f".{name}"
        if value is wanted:
            return step.lstrip(".")
        if inner := _place_of(wanted, value):
            return f"{step}{'' if inner[0] == '[' else '.'}{inner}".lstrip(".")
    return ""


def _dumped(given: Any) -> Any:
    """An SDK's object as plain values: only what it was given, not the nulls it was not."""
    dump = getattr(given, "model_dump", None)
    if dump is None:
        raise InvalidMessage(f"{type(given).__name__!r} is neither JSON nor an object with `model_dump`")
    plain = dump(mode="json", exclude_unset=True)
    _refuse_nan(plain)
    return plain


def _invalid(error: msgspec.ValidationError, kind: Any) -> InvalidMessage:
    """msgspec's error as ours: `Expected ... - at `$.role`` names the field, and the field what it takes."""
    problem, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    known = _choices(kind, field) if problem.startswith("Invalid enum value") else []
    if known:
        problem = f"is {problem.removeprefix('Invalid enum value ')}; it takes {', '.join(map(repr, known))}"
    return InvalidMessage(wrong_kind(problem), field=field)


def _choices(kind: Any, name: str) -> list[str]:
    """The words that a field takes; none of a field further inside."""
    every = msgspec.structs.fields(kind) if hasattr(kind, "__struct_fields__") else ()
    own = [field.type for field in every if field.encode_name == name]
    given = [each for hint in own for each in (hint, *get_args(hint))]
    return [word for each in given if get_origin(each) is Literal for word in get_args(each)]


_ESCAPED = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|.)", re.DOTALL
)


def unescaped(text: str) -> str:
    """JSON with its letters as they are: some writers spell all but ASCII as numbers, which no model reads well."""
    return _ESCAPED.sub(_letter, text) if "\\u" in text else text


def _letter(escape: re.Match[str]) -> str:
    high, low, single = escape.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    code = int(single, 16) if single else 0
    # Controls stay escaped, as they must in JSON, and so do halves of pairs, which are no letters.
    return chr(code) if code >= 0xA0 and not 0xD800 <= code <= 0xDFFF else escape[0]
