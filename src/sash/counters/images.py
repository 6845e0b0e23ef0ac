"""
What a picture costs, by each provider's rule and the picture's own size.

Never by the length of its base64: a picture of 1 MB is some 1,500 tokens, not a million.
A picture whose size nobody tells (an address, a file id, a format without a known header)
counts as one of 1536 x 1024 pixels, and that count is an estimate.
"""

from __future__ import annotations

import math

import msgspec

from sash.core.image import Size, size_of
from sash.core.message import Image
from sash.core.tokens import TokenCount

UNKNOWN_SIZE = Size(1536, 1024)
"""A common screenshot or generated picture: near the ceiling of most rules, so seldom an undercount."""


class Tiles(msgspec.Struct, frozen=True, tag="tiles"):
    """OpenAI's older rule: shrink to fit 2048 x 2048, then to a short side of 768, and pay for each 512 x 512 tile."""

    base: int
    """Always paid; all there is to pay for detail `low`."""
    tile: int
    exact: bool = True

    def tokens(self, size: Size, detail: str) -> int:
        """What a picture of this size costs."""
        if detail == "low":
            return self.base
        long, short = max(size.width, size.height), min(size.width, size.height)
        # The scale as a fraction: rounding a side up by a hair would pay for a whole row of tiles.
        over, under = (2048, long) if long > 2048 else (1, 1)
        if short * over > 768 * under:
            over, under = 768, short
        return self.base + self.tile * _over(long * over, under * 512) * _over(short * over, under * 512)


class Patches(msgspec.Struct, frozen=True, tag="patches"):
    """OpenAI's newer rule: pay for each 32 x 32 patch, after shrinking to what the detail allows."""

    multiplier: float
    budget: int = 1536
    """Most patches, unless the detail is `original`."""
    original: int = 0
    """Most patches of detail `original`; 0 where the model knows no such detail."""
    low: bool = False
    """Whether detail `low` shrinks the picture to 512 x 512; some models take no notice of it."""
    edge: int = 0
    """Most pixels of the longer side; 0 for no such limit."""
    exact: bool = True

    def tokens(self, size: Size, detail: str) -> int:
        """What a picture of this size costs."""
        budget, edge = self.budget, self.edge
        if detail == "original" and self.original:
            budget, edge = self.original, 0
        if detail == "low" and self.low:
            edge = 512
        return math.ceil(_patches(_fit(size, edge), budget) * self.multiplier)


class Grid(msgspec.Struct, frozen=True, tag="grid"):
    """Anthropic's rule: pay for each 28 x 28 patch of the largest picture within the model's limits."""

    edge: int
    """Most pixels of the longer side."""
    budget: int
    """Most patches."""
    exact: bool = True

    def tokens(self, size: Size, detail: str) -> int:  # noqa: ARG002 - every rule is asked in the same way
        """What a picture of this size costs."""
        long, short = max(size.width, size.height), min(size.width, size.height)
        fitting, too_long = 0, min(long, self.edge) + 1
        while too_long - fitting > 1:
            edge = (fitting + too_long) // 2
            if self._cells(edge, max(1, round(short * edge / long))) <= self.budget:
                fitting = edge
            else:
                too_long = edge
        return self._cells(fitting, max(1, round(short * fitting / long)))

    @staticmethod
    def _cells(width: int, height: int) -> int:
        return _over(width, 28) * _over(height, 28)


class Crops(msgspec.Struct, frozen=True, tag="crops"):
    """Gemini's rule up to 2.5: a small picture is one crop, a larger one is cut into crops that all cost the same."""

    crop: int = 258
    small: int = 384
    exact: bool = True

    def tokens(self, size: Size, detail: str) -> int:  # noqa: ARG002 - every rule is asked in the same way
        """What a picture of this size costs."""
        if max(size.width, size.height) <= self.small:
            return self.crop
        unit = min(768, max(256, int(min(size.width, size.height) / 1.5)))
        return self.crop * _over(size.width, unit) * _over(size.height, unit)


class Levels(msgspec.Struct, frozen=True, tag="levels"):
    """Gemini's rule from 3 on: a price for each level of detail, whatever the size."""

    low: int = 280
    medium: int = 560
    high: int = 1120
    ultra_high: int = 2240
    exact: bool = True

    def tokens(self, size: Size, detail: str) -> int:  # noqa: ARG002 - every rule is asked in the same way
        """What a picture of this size costs."""
        levels = {"low": self.low, "medium": self.medium, "ultra_high": self.ultra_high}
        return levels.get(detail, self.high)


class Flat(msgspec.Struct, frozen=True, tag="flat"):
    """A stated guess, for models whose rule nobody has published."""

    each: int = 1600
    exact: bool = False

    def tokens(self, size: Size, detail: str) -> int:  # noqa: ARG002 - every rule is asked in the same way
        """What a picture of this size costs."""
        return self.each


ImageRule = Tiles | Patches | Grid | Crops | Levels | Flat


def count_image(image: Image, rule: ImageRule) -> TokenCount:
    """What a picture costs under a rule: exact only if the rule is published and the picture tells its size."""
    size = size_of(image.data or (image.url if image.url.startswith("data:") else ""))
    return TokenCount(rule.tokens(size or UNKNOWN_SIZE, image.detail), rule.exact and size is not None)


def _over(number: int, by: int) -> int:
    """Divided and rounded up."""
    return -(-number // by)


def _fit(size: Size, edge: int) -> tuple[float, float]:
    """Width and height after shrinking the longer side to `edge`; 0 for no limit."""
    long = max(size.width, size.height)
    scale = edge / long if edge and long > edge else 1.0
    return size.width * scale, size.height * scale


def _patches(size: tuple[float, float], budget: int) -> int:
    width, height = size
    if math.ceil(width / 32) * math.ceil(height / 32) > budget:
        # OpenAI's two steps: shrink to the budget's area, then until the tighter side is whole patches.
        scale = math.sqrt(budget * 32 * 32 / (width * height))
        across, down = width * scale / 32, height * scale / 32
        scale *= min(max(1, int(across)) / across, max(1, int(down)) / down)
        width, height = width * scale, height * scale
    # A millionth of a pixel is an error of the arithmetic and must not become a row of patches.
    return min(budget, math.ceil(width / 32 - 1e-6) * math.ceil(height / 32 - 1e-6))
