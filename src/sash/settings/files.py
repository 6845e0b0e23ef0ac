"""Settings files: `sash.toml` of a project or a user, and a `context.json`. Each value knows its line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from sash.core.context_json import read_context_json
from sash.errors import InvalidPolicy, InvalidSetting
from sash.settings.kinds import checked
from sash.settings.table import setting_named

PROJECT_FILE = "sash.toml"
CONTEXT_JSON = Path(".GITCLAW", "context.json")
"""Where the product that brought the format keeps it."""
LARGEST = 1_000_000
"""Bytes of a settings file at the most: what is larger is something else."""


class Written(msgspec.Struct, frozen=True):
    """A value that somebody states."""

    value: object
    where: str
    """The file and, after a colon, the line; or the variable, or the option."""


def project_file(start: Path) -> Path | None:
    """The nearest `sash.toml`, or a `context.json` in its usual place, from a folder upwards."""
    for folder in (start, *start.parents):
        for name in (Path(PROJECT_FILE), CONTEXT_JSON):
            if (folder / name).is_file():
                return folder / name
        if (folder / ".git").exists():
            # A project ends where its repository ends.
            return None
    return None


def user_file(environment: Mapping[str, str]) -> Path:
    """The user's own file: in `$XDG_CONFIG_HOME`, or in `.config` at home."""
    base = environment.get("XDG_CONFIG_HOME", "")
    return Path(base if base.startswith("/") else Path.home() / ".config", "sash", "config.toml")


def read_file(path: Path) -> dict[str, Written]:
    """What a file sets. Anything in it that cannot be a setting is refused, with its line."""
    content = _content(path)
    return _read_json(path, content) if path.suffix == ".json" else _read_toml(path, content)


def open_to_all(path: Path) -> bool:
    """Whether everybody on this machine may read it."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o004)


def _content(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise InvalidSetting("", where=str(path), problem=f"more than {LARGEST:,} bytes: this is no settings file")
    try:
        return content.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidSetting("", where=f"{path}:{line}", problem="is not UTF-8") from None


def _read_toml(path: Path, text: str) -> dict[str, Written]:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        problem = str(error).partition(" (at ")[0] or "nested too deeply"
        raise InvalidSetting("", where=f"{path}:{line}", problem=f"no TOML: {problem}") from None
    lines = dict(_toml_lines(text))
    found: dict[str, Written] = {}
    for key, value in table.items():
        where = f"{path}:{lines.get(key, 1)}"
        setting = setting_named(key, where=where)
        if setting.name in found:
            raise InvalidSetting(key, where=where, problem=f"is set twice: {found[setting.name].where} sets it too")
        found[setting.name] = Written(checked(setting, value, where=where), where)
    return found


_KEY = re.compile(r"""\s*(?:\[\[?\s*)?(?:"([^"]+)"|'([^']+)'|([\w-]+))\s*(?:[=.\]])""")


def _toml_lines(text: str) -> Iterator[tuple[str, int]]:
    """Each top-level key with the first line that it stands in."""
    seen: set[str] = set()
    inside_table, quotes = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if quotes:
            if quotes in line:
                quotes = ""
            continue
        header = line.lstrip().startswith("[")
        match = _KEY.match(line)
        if match and (header or not inside_table):
            key = match[1] or match[2] or match[3]
            if key not in seen:
                seen.add(key)
                yield key, number
        inside_table = inside_table or header
        for marks in ('"""', "'''"):
            # A text over several lines: what looks like a key in it is none.
            if line.count(marks) % 2:
                quotes = marks


_FROM_CONTEXT_JSON = {
    "policy": "allocations",
    "window": "totalTokens",
    "reserve_tokens": "allocations",
    "history_tokens": "allocations",
    "keep_share": "allocations",
    "summary_tokens": "allocations",
    "budget": "allocations",
    "trigger_share": "compressionThreshold",
    "show_above": "showPressureAbove",
}
"""Our settings, and the field of a `context.json` that they come from."""


def _read_json(path: Path, text: str) -> dict[str, Written]:
    try:
        read = read_context_json(text.encode())
    except InvalidPolicy as error:
        line = _json_line(text, error.field.rpartition(".")[2])
        # Its own words name the field already; of the file as a whole its place does.
        problem = f"it takes {error.wanted}" if error.field == CONTEXT_JSON.name else str(error)
        raise InvalidSetting("", where=f"{path}:{line}", problem=problem) from None
    values: dict[str, object] = {"policy": "priority", "show_above": read.pressure.show, "budget": read.budget}
    found = {}
    for name, field in _FROM_CONTEXT_JSON.items():
        value = values[name] if name in values else getattr(read.policy, name)
        found[name] = Written(value, f"{path}:{_json_line(text, field)}")
    return found


def _json_line(text: str, field: str) -> int:
    place = text.find(f'"{field}"')
    return text.count("\n", 0, max(0, place)) + 1
