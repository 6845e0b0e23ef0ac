"""Whole numbers on the command line: what is none is told in words, and what would be one."""

from __future__ import annotations

import click


class Number(click.IntRange):
    """A whole number from some least one on; `hint` says where somebody finds it."""

    name = "n"
    """What help shows in its place."""

    def __init__(self, least: int, most: int | None = None, *, hint: str = "") -> None:
        super().__init__(least, most)
        self.hint = hint

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        try:
            number = int(str(value))
        except ValueError:
            self.fail(f"{value!r} is no whole number{f'; {self.hint}' if self.hint else ''}", param, ctx)
        return super().convert(number, param, ctx)


TURN = Number(0, hint="turns are numbered, and `sash show` lists them")
EVENT = Number(0, hint="events are numbered, from 1 on")
