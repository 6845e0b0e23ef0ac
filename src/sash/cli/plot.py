"""A picture of live tokens over time, slides marked; needs the extra `plot`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sash.errors import MissingExtra
from sash.window.replay import Replayed

KINDS = (".png", ".svg")


def draw(path: Path, title: str, policies: Sequence[Replayed], *, high: int) -> None:
    """Draws it into a file: PNG or SVG, by its ending."""
    if path.suffix.lower() not in KINDS:
        raise click.BadParameter(f"{path.name!r} ends in none of {', '.join(KINDS)}", param_hint="'--plot'")
    figure = _figure()
    axes = figure.subplots()
    for number, one in enumerate(policies):
        colour = f"C{number}"
        axes.plot(range(1, len(one.live) + 1), one.live, color=colour, linewidth=1.2, label=_label(one))
        slides = [slid.request for slid in one.slid if slid.request <= len(one.live)]
        axes.plot(slides, [one.live[request - 1] for request in slides], "v", color=colour, markersize=5)
    axes.axhline(high, color="gray", linestyle=":", linewidth=1)
    axes.annotate("slides above", (1, high), color="gray", fontsize=8, va="bottom")
    axes.set(title=_plain(title), xlabel="request", ylabel="tokens sent", ylim=(0, None))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}k")
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise MissingExtra("--plot", extra="plot", package="matplotlib") from None
    return Figure(figsize=(9, 4.5), dpi=110, layout="constrained")


def _label(one: Replayed) -> str:
    relative = "" if one.relative is None else f", cost {one.relative:.2f}"
    return _plain(f"{one.policy}: {one.slides} slides, {100 * one.cached:.0f} % cached{relative}")


def _plain(text: str) -> str:
    """Matplotlib reads what stands between two dollars as a formula."""
    return text.replace("$", r"\$")
