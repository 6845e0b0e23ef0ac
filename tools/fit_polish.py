"""
The last step of a fit: from the least squares on to what the estimator is judged by.

Least squares care for the mean, users for the worst kind of text. So every code, every number of bits and every price
is tried anew, one after the other, and a change is kept where it is worth `WORTH` of what the biases and the errors of
all kinds come to beside their aims, by a power at which the worst of them decide. Few changes are: this centers kinds
that lie badly between their styles, and learns no text by heart. For that it looks at every file, also at those that
the least squares have held out, either side of a kind as a kind of its own; so how good the weights are is told by
`tools/fit_unseen.py`, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from tools.fit_corpus import Sample, aim_of
from tools.fit_model import CLASSES, Fitted, Rows
from tools.fit_search import DISTANCE, LEVELS, Codes, Numbers

Few: TypeAlias = npt.NDArray[np.float32]
POWER, STYLE = 6, 0.2
"""Of errors beside their aims; and how much the biases of single files, squared, matter beside those of kinds."""
FILE_CHUNKS = 4
"""Fewer chunks than that are no style: their file counts with its kind only."""
FAR_OFF = 4.0
"""No file counts more than one that is twice its aim off: an odd one is not worth a whole kind."""
COMMON = frozenset(
    {"english", "chat", "python", "typescript", "javascript", "go", "rust", "java", "json", "tool results", "diff"}
    | {"hash log", "ls -la", "base64", "markdown", "zh", "ar", "ru", "th", "hi", "ja", "ko", "emoji"}
)
MARGIN, COMMON_MARGIN = 0.9, 0.75
"""Of an aim: other texts will be a little worse, and of what most conversations are made of that matters most."""
WORTH, SWEEPS = 0.003, 4
PRICES: tuple[str | int, ...] = ("per_edge", "per_beyond", "per_continuing", 0, 1, 2)
TIMES = tuple(1 + sign * step for step in (0.003, 0.01, 0.03) for sign in (-1, 1))
"""By which factors a price is changed."""


class Judge:
    """How bad estimates are: one number for each column of them."""

    def __init__(self, chunks: Sequence[Sample], tokens: Numbers) -> None:
        named = [(chunk.kind, chunk.held_out, chunk.file) for chunk in chunks]
        files = sorted(set(named))
        place = {name: number for number, name in enumerate(files)}
        of_row = np.array([place[name] for name in named])
        self.order = np.argsort(of_row, kind="stable")
        self._files = np.searchsorted(of_row[self.order], np.arange(len(files)))
        sides = [(kind, held_out) for kind, held_out, _ in files]
        kinds = sorted(set(sides))
        self._kinds = np.array([sides.index(kind) for kind in kinds])
        self._rows_of_kinds = self._files[self._kinds]
        self._inverse = (1 / tokens[self.order]).astype(np.float32)[:, None]
        self._of_files = np.add.reduceat(tokens[self.order], self._files)[:, None]
        self._of_kinds = np.add.reduceat(tokens[self.order], self._rows_of_kinds)[:, None]
        size = np.diff([*self._files, len(tokens)])
        self._chunks = np.add.reduceat(size, self._kinds)[:, None]
        aims = [aim_of(kind) for kind, _ in kinds]
        margin = np.array([COMMON_MARGIN if kind in COMMON else MARGIN for kind, _ in kinds])[:, None] / 100
        self._bias = np.array([aim.bias for aim in aims])[:, None] * margin
        self._miss = np.array([aim.error for aim in aims])[:, None] * margin
        number = Counter(side for side, chunks_of_it in zip(sides, size, strict=True) if chunks_of_it >= FILE_CHUNKS)
        self._matters = np.where(size >= FILE_CHUNKS, [STYLE / max(1, number[side]) for side in sides], 0)
        self._bias_of_files = np.array([aim_of(kind).bias for kind, _ in sides])[:, None] / 100

    def loss(self, estimates: Few) -> Numbers:
        """Of estimates for the rows in `order`, a column for each."""
        sums = np.add.reduceat(estimates, self._files).astype(np.float64)
        bias = (np.add.reduceat(sums, self._kinds) / self._of_kinds - 1) / self._bias
        miss = np.add.reduceat(np.abs(estimates * self._inverse - 1), self._rows_of_kinds) / self._chunks / self._miss
        style = ((sums / self._of_files - 1) / self._bias_of_files) ** 2
        loss: Numbers = (bias**POWER).sum(0) + (miss.astype(np.float64) ** POWER).sum(0)
        loss += self._matters @ np.minimum(style, FAR_OFF)
        return loss


class Polish:
    """A fit that is being changed, and its estimate of every row."""

    def __init__(self, judge: Judge, rows: Rows, found: Fitted) -> None:
        self._judge = judge
        rows = Rows(*(column[judge.order] for column in msgspec.structs.astuple(rows)))
        self._rows, self.found, self.changes = rows, found, 0
        one, other = np.triu_indices(CLASSES.size, 1)
        seen = rows.meetings.any(0)
        self._meetings: list[tuple[Codes, Few]] = []
        for place in range(CLASSES.size):
            mine = np.flatnonzero(((one == place) | (other == place)) & seen)
            self._meetings.append((one[mine] + other[mine] - place, np.ascontiguousarray(rows.meetings[:, mine])))
        self._tables = tuple(np.ascontiguousarray(table.T) for table in rows.beyond_ascii)
        self._settle()

    def _settle(self) -> None:
        """Everything anew: running sums gather rounding errors."""
        self._estimate = self.found.estimate(self._rows).astype(np.float32)
        self.least = float(self._judge.loss(self._estimate[:, None])[0])

    def _better(self, changes: Few) -> int | None:
        """Which of these changes to the estimates is best, if any is better than none."""
        losses = self._judge.loss(self._estimate[:, None] + changes)
        best = int(losses.argmin())
        if losses[best] > self.least * (1 - WORTH):
            return None
        self._estimate += changes[:, best]
        self.changes += 1
        self.least = float(losses[best])
        return best

    def sweep(self, chance: np.random.Generator) -> None:
        """Each code, each number of bits and each price once."""
        for place in chance.permutation(CLASSES.size):
            self._try_code(place)
        for table in range(len(self._tables)):
            for place in np.flatnonzero(self._tables[table].any(1)):
                self._try_level(table, int(place))
        for price in PRICES:
            self._try_price(price)
        self._settle()

    def _try_code(self, place: int) -> None:
        classes, meetings = self._meetings[place]
        if not len(classes):
            return
        codes = self.found.codes
        change = DISTANCE[codes[classes]] - DISTANCE[codes[classes], codes[place]][:, None]
        best = self._better(meetings @ (change * self.found.per_edge).astype(np.float32))
        if best is not None:
            codes[place] = best

    def _try_level(self, table: int, place: int) -> None:
        levels, price = self.found.levels[table], self.found.per_bit[table]
        steps = (np.arange(LEVELS + 1) - levels[place]) * price
        best = self._better(np.outer(self._tables[table][place], steps).astype(np.float32))
        if best is not None:
            levels[place] = best

    def _try_price(self, price: str | int) -> None:
        changed = [_dearer(self.found, price, times) for times in TIMES]
        now = self.found.estimate(self._rows)
        best = self._better(np.column_stack([each.estimate(self._rows) - now for each in changed]).astype(np.float32))
        if best is not None:
            self.found = changed[best]


def _dearer(found: Fitted, price: str | int, times: float) -> Fitted:
    """With another price: of a name, or of a bit of one of the tables."""
    if isinstance(price, str):
        return msgspec.structs.replace(found, **{price: getattr(found, price) * times})
    per_bit = tuple(now * times if table == price else now for table, now in enumerate(found.per_bit))
    return msgspec.structs.replace(found, per_bit=per_bit)


def polished(judge: Judge, rows: Rows, found: Fitted) -> Fitted:
    """The fit with everything tried anew, until nothing more is worth it."""
    chance = np.random.default_rng(1)
    levels = tuple(levels.copy() for levels in found.levels)
    polish = Polish(judge, rows, msgspec.structs.replace(found, codes=found.codes.copy(), levels=levels))
    for _ in range(SWEEPS):
        before, changes = polish.least, polish.changes
        polish.sweep(chance)
        print(f"  {polish.changes - changes} changes, from {before:.3f} to {polish.least:.3f}", flush=True)
        if polish.changes == changes:
            break
    return polish.found
