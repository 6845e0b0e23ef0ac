"""
The search for the estimator's codes: which 8-bit code each class of bytes gets, and what each bit of it then costs.

In the first table a text costs the bits in which the codes of neighboring bytes differ; in the others, which only
characters beyond ASCII are weighed by, it costs the bits of the codes themselves. Both are linear in counts that can be
taken beforehand: how often each class meets each other one, and how often each byte occurs. So all that the search
needs of the texts is one matrix of products of these counts: a changed code is judged without looking at any text
again, and thousands of them in a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.intp]
Precision = TypeVar("Precision", np.float32, np.float64)

BITS = np.array([code.bit_count() for code in range(256)])
DISTANCE = BITS[np.arange(256)[:, None] ^ np.arange(256)[None, :]].astype(np.float64)
LEVELS = 8
"""Most bits of a code."""


class Alphabet(msgspec.Struct, frozen=True):
    """The classes that a table tells apart, and the bytes that it passes over."""

    class_of: Codes
    size: int
    dropped: bytes

    @classmethod
    def of(cls, classes: Sequence[Sequence[int]], *, dropped: bytes) -> Alphabet:
        """The alphabet with these classes of bytes."""
        class_of = np.zeros(256, np.intp)
        for number, members in enumerate(classes):
            class_of[list(members)] = number
        return cls(class_of, len(classes), dropped)

    def meetings(self, texts: Sequence[bytes]) -> npt.NDArray[np.float32]:
        """How often each class stands beside each other one in the texts, either way around, as a flat triangle."""
        found = np.zeros(self.size * self.size, np.int64)
        for text in texts:
            classes = self.class_of[np.frombuffer(text.translate(None, self.dropped), np.uint8)]
            found += np.bincount(classes[:-1] * self.size + classes[1:], minlength=self.size * self.size)
        square = found.reshape(self.size, self.size)
        triangle: npt.NDArray[np.float32] = (square + square.T)[np.triu_indices(self.size, 1)].astype(np.float32)
        return triangle


class Aim(msgspec.Struct, frozen=True):
    """What the estimates should come near to, each text and the sum of each group of texts."""

    tokens: Numbers
    """The truth of each text."""
    weight: Numbers
    """Of each text's relative error."""
    groups: tuple[npt.NDArray[np.intp], ...]
    """Texts whose sum should be right as well: a kind of text, a session."""
    group_weight: Numbers
    """Of the relative error of each group's sum."""

    def rows(self, columns: npt.NDArray[Precision]) -> npt.NDArray[Precision]:
        """Columns of numbers for each text, as columns of the least-squares problem."""
        scale = (self.weight / self.tokens).astype(columns.dtype)
        sums = np.array([columns[group].sum(0) / self.tokens[group].sum() for group in self.groups])
        summed = (sums * self.group_weight[:, None]).astype(columns.dtype)
        both: npt.NDArray[Precision] = np.concatenate([columns * scale[:, None], summed])
        return both


class EdgeSearch:
    """The search for the codes of the first table."""

    def __init__(self, aim: Aim, meetings: npt.NDArray[np.float32], size: int) -> None:
        used = np.flatnonzero(meetings.any(0))
        self._one, self._other = (index[used] for index in np.triu_indices(size, 1))
        self._aim, self._columns = aim, aim.rows(meetings[:, used])
        self._squares = self._columns.T @ self._columns
        self._neighbors = [self._meetings_of(place, size) for place in range(size)]
        self.places = np.array([place for place in range(size) if len(self._neighbors[place][0])])

    def _meetings_of(self, place: int, size: int) -> tuple[Codes, Codes]:
        """The classes that a class meets, and the columns of these meetings."""
        column_of = np.full(size, -1)
        for mine, other in ((self._one, self._other), (self._other, self._one)):
            here = np.flatnonzero(mine == place)
            column_of[other[here]] = here
        classes = np.flatnonzero(column_of >= 0)
        return classes, column_of[classes]

    def aim_beside(self, beside: Numbers, known: Numbers) -> None:
        """Search for what is missing when some tokens are known and some columns are weighted freely."""
        basis, _ = np.linalg.qr(self._aim.rows(beside))
        target = self._aim.rows((self._aim.tokens - known)[:, None])[:, 0]
        missing = target - basis @ (basis.T @ target)
        shadow = basis.T.astype(np.float32) @ self._columns
        self._toward = (missing.astype(np.float32) @ self._columns).astype(np.float64)
        self._products = self._squares - shadow.T @ shadow
        self._all = float(missing @ missing)
        self._blocks = [self._products[np.ix_(columns, columns)].astype(np.float64) for _, columns in self._neighbors]

    def improve(self, codes: Codes, chance: np.random.Generator, *, sweeps: int) -> tuple[Codes, float]:
        """Change one class after the other to the best of all codes until nothing helps; the error that is left."""
        codes = codes.copy()
        explained = 0.0
        for _ in range(sweeps):
            # Anew in each sweep: the running products gather rounding errors.
            edges = DISTANCE[codes[self._one], codes[self._other]]
            pull = (self._products @ edges.astype(np.float32)).astype(np.float64)
            toward, square = self._toward @ edges, edges @ pull
            changed = 0
            for place in chance.permutation(self.places):
                classes, columns = self._neighbors[place]
                change = DISTANCE[codes[classes]] - DISTANCE[codes[classes], codes[place]][:, None]
                towards = toward + self._toward[columns] @ change
                squares = square + 2 * (pull[columns] @ change) + (change * (self._blocks[place] @ change)).sum(0)
                gains = np.maximum(towards, 0) ** 2 / np.maximum(squares, 1e-12)
                best = int(gains.argmax())
                if gains[best] > gains[codes[place]] * (1 + 1e-7):
                    pull += change[:, best].astype(np.float32) @ self._products[columns]
                    toward, square, codes[place] = towards[best], squares[best], best
                    changed += 1
                explained = float(gains[codes[place]])
            if not changed:
                break
        return codes, self._all - explained

    def search(self, start: Codes, *, rounds: int, sweeps: int = 10, thrown: float = 0.15) -> tuple[Codes, float]:
        """The best of several rounds, each from the best so far with some codes thrown about."""
        chance = np.random.default_rng(1)
        best, least = self.improve(start, chance, sweeps=sweeps)
        for _ in range(rounds - 1):
            about = np.where(chance.random(len(best)) < thrown, chance.integers(0, 256, len(best)), best)
            codes, left = self.improve(about, chance, sweeps=sweeps)
            if left < least:
                best, least = codes, left
        return best, least


def count_edges(meetings: npt.NDArray[np.float32], codes: Codes) -> Numbers:
    """The bits in which neighbors differ, of texts with these meetings."""
    one, other = np.triu_indices(len(codes), 1)
    edges: Numbers = meetings @ DISTANCE[codes[one], codes[other]]
    return edges


class Additive(msgspec.Struct, frozen=True):
    """Tables of bits: how many each byte and each block has, what a bit of each costs, and the other weights."""

    levels: tuple[Codes, ...]
    per_bit: tuple[float, ...]
    weights: Numbers


def search_levels(
    aim: Aim, tables: Sequence[Numbers], beside: Numbers, known: Numbers, *, units: Sequence[float], ridge: float
) -> Additive:
    """
    The bits of each column of each table, for the best prices of a bit among `units`.

    `ridge` draws the columns together: of those that hardly occur nothing is known.
    """
    target = aim.rows((aim.tokens - known)[:, None])[:, 0]
    fixed = aim.rows(beside)
    columns = [aim.rows(table) for table in tables]
    places = np.cumsum([table.shape[1] for table in tables])[:-1]

    def tried(which: tuple[int, ...]) -> tuple[float, Additive]:
        prices = tuple(units[place] for place in which)
        priced = np.concatenate([table * price for table, price in zip(columns, prices, strict=True)], axis=1)
        pull = np.repeat([ridge * price**2 for price in prices], [table.shape[1] for table in tables])
        levels, weights, left = _levels(target, fixed, priced, pull)
        return left, Additive(tuple(np.split(levels, places)), prices, weights)

    # From the middle to whichever neighboring price is better, until none is.
    here = (len(units) // 2,) * len(tables)
    known_prices = {here: tried(here)}
    while True:
        for table in range(len(tables)):
            for step in (-1, 1):
                there = (*here[:table], here[table] + step, *here[table + 1 :])
                if 0 <= there[table] < len(units) and there not in known_prices:
                    known_prices[there] = tried(there)
        best = min(known_prices, key=lambda which: known_prices[which][0])
        if best == here:
            return known_prices[best][1]
        here = best


def _levels(target: Numbers, fixed: Numbers, columns: Numbers, ridge: Numbers) -> tuple[Codes, Numbers, float]:
    """Levels from 0 to 8 of each column, one changed after the other, with the fixed columns' weights solved anew."""
    basis, _ = np.linalg.qr(fixed)
    rest, free = target - basis @ (basis.T @ target), columns - basis @ (basis.T @ columns)
    middle = LEVELS / 2
    products, toward = free.T @ free + np.diag(ridge), free.T @ rest + ridge * middle
    levels = np.full(len(ridge), middle)
    # First without rounding, then whole levels only.
    for whole in (False, True):
        levels = np.round(levels) if whole else levels
        pull = products @ levels
        for _ in range(60):
            moved = 0.0
            for place in np.flatnonzero(products.diagonal() > ridge):
                wanted = levels[place] + (toward[place] - pull[place]) / products[place, place]
                wanted = min(max(round(wanted) if whole else wanted, 0), LEVELS)
                change = wanted - levels[place]
                if change:
                    pull += products[:, place] * change
                    levels[place] = wanted
                    moved = max(moved, abs(change))
            if moved < 0.01:
                break
    weights = np.linalg.lstsq(fixed, target - columns @ levels, rcond=None)[0]
    off = fixed @ weights + columns @ levels - target
    return levels.astype(np.intp), weights, float(off @ off)
