"""Values as people write them: in an environment variable, on a command line, in a file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from sash.errors import InvalidSetting
from sash.settings.table import Setting

_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([kKmM]?)")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
_SWITCH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}

_LAST_PORT = 65_535
_WANTED = {
    "text": "some words",
    "number": "a whole number, such as 30000 or 30k",
    "port": "a whole number from 0 to 65535",
    "decimal": "a number",
    "share": "a share from 0 to 1",
    "switch": "true or false",
    "names": "a list of words",
    "table": "a table",
}


def said(setting: Setting, text: str, *, where: str) -> object:
    """A value out of a text: what an environment variable or an option says."""
    value: object = text
    match setting.kind:
        case "number" | "port":
            value = _number(text)
        case "decimal" | "share":
            value = _decimal(text)
        case "switch":
            value = _SWITCH.get(text.strip().lower())
        case "names":
            value = tuple(word for word in re.split(r"[,\s]+", text) if word)
        case "table":
            value = _table(text)
        case _:
            value = text
    if value is not None and _fits(setting, value):
        return value
    raise InvalidSetting(setting.name, where=where, problem=f"is {text!r}; it takes {wanted(setting)}")


def checked(setting: Setting, value: object, *, where: str) -> object:
    """A value out of a file or a program, if it is one that its setting can have."""
    if not _fits(setting, value):
        raise InvalidSetting(setting.name, where=where, problem=f"is {value!r}; it takes {wanted(setting)}")
    return tuple(value) if isinstance(value, list) else value


def _fits(setting: Setting, value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match setting.kind:
        case "text":
            return isinstance(value, str)
        case "choice":
            return value in setting.choices
        case "number":
            return number and isinstance(value, int) and value >= 0
        case "port":
            return number and isinstance(value, int) and 0 <= value <= _LAST_PORT
        case "decimal":
            return number and value >= 0  # type: ignore[operator]  # a number, as just seen
        case "share":
            return number and 0 <= value <= 1  # type: ignore[operator]  # likewise
        case "switch":
            return isinstance(value, bool)
        case "names":
            return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
        case "table":
            return isinstance(value, Mapping)


def wanted(setting: Setting) -> str:
    """What it takes, in words."""
    if setting.kind == "choice":
        return f"one of {', '.join(setting.choices)}"
    return _WANTED[setting.kind]


def shown(setting: Setting, value: object) -> str:
    """A value as it may be shown: whole numbers with their commas, passwords without."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return json.dumps(value, default=str)
    return without_password(str(value)) if setting.secret else str(value)


def without_password(url: str) -> str:
    """An address with `***` where its password stands."""
    try:
        parts = urlsplit(url)
    except ValueError:
        # No address, so nobody can tell where in it a password ends.
        return f"{url.partition(':')[0]}:***"
    query = re.sub(r"(?i)(password=)[^&]*", r"\1***", parts.query)
    if parts.password is None and query == parts.query:
        return url
    place = parts.netloc
    if parts.password is not None:
        name, _, host = place.rpartition("@")
        place = f"{name.partition(':')[0]}:***@{host}"
    return urlunsplit(parts._replace(netloc=place, query=query))


def _number(text: str) -> int | None:
    match = _NUMBER.fullmatch(text.strip().replace("_", "").replace(",", ""))
    if match is None:
        return None
    value = float(match[1]) * _UNITS[match[2].lower()]
    return int(value) if value.is_integer() else None


def _decimal(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _table(text: str) -> object | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
