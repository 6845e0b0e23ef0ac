"""How a command answers a program: one JSON object, or bytes as they are."""

from __future__ import annotations

import click
import msgspec


def answer(value: object) -> None:
    """One JSON object on a line of its own; in UTF-8 whatever the terminal speaks."""
    click.echo(msgspec.json.encode(value))
