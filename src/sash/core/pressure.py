"""How full the window is: a share, a level, a bar of twenty cells, and the forms in which people are told."""

from __future__ import annotations

from typing import Literal

import msgspec

from sash.core.budget import share_of
from sash.core.tokens import TokenCount, short
from sash.errors import InvalidPolicy

Level = Literal["none", "shown", "notice", "warning"]

CELLS = 20

NOTICE = "Older conversation turns leave the window as it fills."
SUMMARIZING = "Older conversation turns are being summarized to preserve context quality."
"""Seed 001's notice, where a model does that."""
WARNING = (
    "Context is nearly full. "
    "Consider starting a new issue for fresh context, or I'll start compressing older conversation turns."
)
FULL = (
    "Context is more than full. Older conversation turns leave the window, and a request is refused where that is not "
    "enough: consider starting a new issue for fresh context."
)
"""In the place of seed 001's warning, where that would promise too much."""
OVER = "over the window"


class Marks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From which share of the window on people are told, and how urgently. Seed 001's numbers."""

    show: float = 0.3
    """From here on the pressure is shown."""
    notice: float = 0.6
    """Above it there is a notice."""
    warn: float = 0.8
    """Above it there is a warning."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            share_of(name, getattr(self, name), zero=True)
        if self.warn < self.notice:
            raise InvalidPolicy("warn", self.warn, f"at least `notice`, which is {self.notice!r}")


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """How full the window is. As JSON this is the form for programs."""

    used: TokenCount
    window: int
    share: float
    """Unrounded; above 1 when more is in use than the window holds."""
    percent: int
    """Rounded, halves up: what is shown, and what the level is decided on."""
    level: Level
    over: bool
    """More is in use than the window holds."""
    bar: str

    @property
    def sizes(self) -> str:
        """`~96k / 200k`."""
        return f"{self.used} / {short(self.window)}"

    def advice(self, *, summarized: bool = False) -> str:
        """Seed 001's sentence for the level, as far as it is true; empty below the notice."""
        notice, warning = SUMMARIZING if summarized else NOTICE, FULL if self.over else WARNING
        return {"notice": notice, "warning": warning}.get(self.level, "")

    def markdown(self, *, summarized: bool = False) -> str:
        """Seed 001's footer, to be put after an answer; empty while there is nothing to show."""
        if self.level == "none":
            return ""
        sign, advice = {"notice": "ℹ️", "warning": "⚠️"}.get(self.level, ""), self.advice(summarized=summarized)
        told = f"\n{sign} {advice}" if advice else ""
        return f"\n\n<sub>📊 Context: {self.bar} {self.percent}%{self._over()}{told}</sub>"

    def line(self, *, ascii_only: bool = False) -> str:
        """One line for a terminal or a status line, whatever the level: the bar, `48 % · ~96k / 200k`."""
        bar, dot = (ascii_bar(self.percent), "-") if ascii_only else (self.bar, "·")
        return f"{bar} {self.percent} %{self._over()} {dot} {self.sizes}"

    def terminal(self, *, ascii_only: bool = False, summarized: bool = False) -> str:
        """The line, and below it the advice when there is one."""
        sign = {"notice": "i" if ascii_only else "ℹ️", "warning": "!" if ascii_only else "⚠️"}.get(self.level, "")
        line = self.line(ascii_only=ascii_only)
        return f"{line}\n{sign} {self.advice(summarized=summarized)}" if sign else line

    def _over(self) -> str:
        return f" ({OVER})" if self.over else ""


SEED_MARKS = Marks()


def pressure_of(used: TokenCount, window: int, marks: Marks = SEED_MARKS) -> Pressure:
    """
    How full a window of that many tokens is.

    The level follows the percentage that is shown, as in seed 001, so that nobody
    reads "60 %" beside a notice that starts above 60.
    """
    if window < 1:
        raise InvalidPolicy("window", window, "at least 1")
    tokens = max(0, used.value)
    # In whole numbers: 0.295 x 100 must not become 29.499... on its way to 30.
    percent = (200 * tokens + window) // (2 * window)
    return Pressure(
        used=used,
        window=window,
        share=tokens / window,
        percent=percent,
        level=_level(percent, marks),
        over=tokens > window,
        bar=bar_of(percent),
    )


def bar_of(percent: int, full: str = "█", empty: str = "░") -> str:
    """Twenty cells, one for each whole five percent; full from 100 % on."""
    cells = min(CELLS, percent * CELLS // 100)
    return full * cells + empty * (CELLS - cells)


def ascii_bar(percent: int) -> str:
    """The bar for a terminal that has no block characters: `[#########-----------]`."""
    return f"[{bar_of(percent, '#', '-')}]"


def _level(percent: int, marks: Marks) -> Level:
    if percent > _percent(marks.warn):
        return "warning"
    if percent > _percent(marks.notice):
        return "notice"
    return "shown" if percent >= _percent(marks.show) else "none"


def _percent(share: float) -> float:
    # 0.07 x 100 is 7.000000000000001: that must not hide a window that is 7 % full.
    return round(share * 100, 6)
