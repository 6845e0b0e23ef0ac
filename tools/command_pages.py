"""
Writes docs/settings.md, and a page for each command into docs/commands: its own help, and what its `--json` prints.

`make docs` runs it; a gate compares the pages with what it would write.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any, ForwardRef, get_args, get_type_hints

import click
import msgspec

from sash.cli.group import COMMANDS, sash
from sash.settings import SETTINGS, Setting
from sash.settings.kinds import shown, wanted

PAGES = Path(__file__).parents[1] / "docs" / "commands"
WIDTH = 100


def page(name: str) -> str:
    """The page of one command."""
    context = click.Context(sash, info_name="sash", terminal_width=WIDTH, max_content_width=WIDTH)
    command = sash.get_command(context, name)
    assert command is not None, f"{name!r} is no command"
    # Click remembers the help option of whoever asked first, which may have been somebody without `-h`.
    command = copy(command)
    command._help_option = None  # noqa: SLF001 - there is no other way to make it forget
    own = click.Context(command, parent=context, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    own.help_option_names = ["-h", "--help"]
    parts = [f"# `sash {name}`\n", f"```text\n{command.get_help(own).rstrip()}\n```\n"]
    reported = getattr(command.callback, "reports", None)
    if reported is not None:
        parts.append(f"## What `--json` prints\n\n{_described(reported)}")
    return "\n".join(parts)


def settings_page() -> str:
    """The page of all settings."""
    parts = [_SETTINGS]
    for group, words in _GROUPS.items():
        rows = [setting for setting in SETTINGS if setting.group == group]
        if rows:
            parts += [f"## {words}\n", "| setting | takes | default | |", "|---|---|---|---|", *map(_setting, rows), ""]
    return "\n".join(parts)


def _setting(setting: Setting) -> str:
    kind = wanted(setting).replace(", such as 30000 or 30k", "")
    default = shown(setting, setting.default) or setting.meaning or "-"
    return f"| `{setting.name}` | {kind} | {default} | {setting.help} |"


_GROUPS = {
    "general": "In general",
    "pressure": "Pressure",
    "window": "The window: the fields of a policy",
    "server": "The server",
}

_SETTINGS = """# Settings

A setting has one name everywhere. In a file it is `history_tokens = 30_000`, in the environment
`SASH_HISTORY_TOKENS=30k`, on a command line `--history-tokens 30k` or `--set history_tokens=30k`. What counts more
stands first:

1. a flag
2. an environment variable: `SASH_` and the name in capitals; an empty one says nothing
3. the project's file: `sash.toml`, or a `.GITCLAW/context.json`, in this folder or the nearest one above it inside the
   repository; `--config FILE`, before the command (`sash --config FILE show ...`), or `SASH_CONFIG` names another
4. your own file: `sash/config.toml` in `$XDG_CONFIG_HOME`, or in `.config` at home
5. the default

`sash config` shows each value and where it comes from. A key that is no setting, or a value that cannot be meant,
fails at the start, with the file's line; the exit code is 2. Provider keys are no settings: they stay in the
environment, under the names that the providers' own SDKs use. Settings are for the commands and the server: the library
(`sash.fit`, `sash.open`) reads none, it has its arguments.

```toml
model = "claude-opus-5"
policy = "best"
history_tokens = 60_000

[budget.knowledge]
share = 0.05

[models]
my-qwen = 40_960

[models."gpt-5"]
window = 400_000
max_output = 128_000
```

What models take and give is built in (`sash doctor` says as of which day); `[models]` goes before it, in whatever
spelling a model is named, and knows those that the table does not. A model that neither knows has `default_window`, and
is shown with it as a default.

"""


def pages() -> dict[Path, str]:
    """Every page, by its path."""
    return {PAGES / f"{name}.md": page(name) for name in COMMANDS} | {PAGES.parent / "settings.md": settings_page()}


def _described(reported: type) -> str:
    """A struct and all that it is made of, as tables."""
    told: list[type] = []
    waiting = [reported]
    parts = []
    while waiting:
        kind = waiting.pop(0)
        if kind in told:
            continue
        told.append(kind)
        parts.append("\n".join(_rows(kind)) + "\n")
        waiting += [other for hint in get_type_hints(kind).values() for other in _structs(hint)]
    return "\n".join(parts)


def _rows(kind: type) -> Iterator[str]:
    words = (kind.__doc__ or "").strip().splitlines()[0]
    yield f"**{kind.__name__}**: {words}\n"
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    told = _field_words(kind)
    for field, hint in get_type_hints(kind).items():
        name = msgspec.structs.fields(kind)[kind.__struct_fields__.index(field)].encode_name  # type: ignore[attr-defined]  # of a struct
        yield f"| `{name}` | {_type(hint)} | {told.get(field, '')} |"


def _field_words(kind: type) -> dict[str, str]:
    """The docstring under each field."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    told: dict[str, str] = {}
    for before, after in zip(body.body, body.body[1:], strict=False):
        text = after.value if isinstance(after, ast.Expr) else None
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(text, ast.Constant):
            told[before.target.id] = " ".join(str(text.value).split()).replace("|", "\\|")
    return told


def _structs(hint: Any) -> list[type]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return [hint]
    return [found for part in get_args(hint) for found in _structs(part)]


def _type(hint: Any) -> str:
    if hint is type(None):
        return "null"
    if hint is msgspec.UnsetType:
        return "absent"
    if isinstance(hint, ForwardRef):
        return hint.__forward_arg__
    if isinstance(hint, type) and not get_args(hint):
        plain = {"int": "whole number", "float": "number", "str": "text", "bool": "true or false", "object": "any"}
        return plain.get(hint.__name__, hint.__name__)
    parts = get_args(hint)
    origin = getattr(hint, "__origin__", None)
    if origin in (tuple, list):
        kinds = [part for part in parts if part is not Ellipsis]
        return "list of " + " and ".join(map(_type, kinds))
    if origin is dict:
        return f"object of {_type(parts[1])} by name"
    if all(isinstance(part, str) for part in parts):
        return ", ".join(f"`{part}`" for part in parts)
    return " or ".join(map(_type, parts))


def main() -> None:
    """Writes them all, and removes pages of commands that are gone."""
    PAGES.mkdir(exist_ok=True)
    wanted = pages()
    for path in set(PAGES.glob("*.md")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
