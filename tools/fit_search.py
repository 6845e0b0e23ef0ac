"""
The search for the estimator's codes: which 8-bit code each class of bytes gets, and what an edge then costs.

An estimate is `base columns x weights + per_edge x edges`, where the edges of a text are the bits in which the codes of
neighbouring bytes differ. Of a text only the number of times each class meets each other one is kept, so that a changed
code can be judged without reading it again. Codes are changed one class at a time to the best of all 256, with the
weights solved anew for each by least squares, until no change helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.float32]

_BITS = np.array([code.bit_count() for code in range(256)])
_DISTANCE = _BITS[np.arange(256)[:, None] ^ np.arange(256)[None, :]].astype(np.float32)


class Alphabet(msgspec.Struct, frozen=True):
    """The classes that a table tells apart: for each byte its class."""

    class_of: npt.NDArray[np.intp]
    size: int
    examples: npt.NDArray[np.intp]
    """A byte of each class."""

    @classmethod
    def of(cls, classes: Sequence[Sequence[int]]) -> Alphabet:
        """The alphabet with these classes of bytes; bytes in none of them are in the first."""
        class_of = np.zeros(256, np.intp)
        for number, members in enumerate(classes):
            class_of[list(members)] = number
        return cls(class_of, len(classes), np.array([members[0] for members in classes]))

    def meetings(self, texts: Sequence[bytes]) -> npt.NDArray[np.uint16]:
        """How often each class stands beside each other one in the texts, either way around."""
        found = np.zeros((self.size, self.size), np.int64)
        for text in texts:
            classes = self.class_of[np.frombuffer(text, np.uint8)]
            np.add.at(found, (classes[:-1], classes[1:]), 1)
        both: npt.NDArray[np.uint16] = np.minimum(found + found.T, 65_535).astype(np.uint16)
        return both


class Table:
    """A table of codes in the search, and the edges that it gives each text."""

    def __init__(
        self,
        alphabet: Alphabet,
        meetings: npt.NDArray[np.uint16],
        codes: npt.NDArray[np.intp],
        free: npt.NDArray[np.bool_],
    ) -> None:
        self.alphabet, self.meetings, self.codes = alphabet, meetings, codes.copy()
        self.places = np.flatnonzero(free & (meetings.sum((0, 2)) > 0))
        self.edges = self.count_edges(meetings)

    def count_edges(self, meetings: npt.NDArray[np.uint16]) -> Numbers:
        """The edges of texts with these meetings."""
        distance = _DISTANCE[np.ix_(self.codes, self.codes)]
        # Each meeting is in the counts both ways around.
        return np.array([(each * distance).sum() / 2 for each in meetings], np.float32)

    def with_each_code(self, place: int) -> Numbers:
        """The edges of each text if the class at this place had each of the 256 codes."""
        beside = self.meetings[:, place, :].astype(np.float32)
        beside[:, place] = 0
        change = _DISTANCE[self.codes] - _DISTANCE[self.codes][:, [self.codes[place]]]
        edges: Numbers = self.edges[:, None] + beside @ change
        return edges


class Aim(msgspec.Struct, frozen=True):
    """What the estimates should come near to: a target for each row, where a row is a weighted sum of texts."""

    base: Numbers
    """Columns that no code changes, one row for each text; there may be none."""
    known: Numbers
    """Tokens of each text that are settled beforehand."""
    tokens: Numbers
    """The truth of each text."""
    weight: Numbers
    """Of each text's relative error."""
    groups: tuple[npt.NDArray[np.intp], ...]
    """Texts whose sum should be right as well: a kind of text, a session."""
    group_weight: Numbers
    """Of the relative error of each group's sum."""

    def rows(self, column: Numbers) -> Numbers:
        """A column of numbers for each text, as columns of the least-squares problem."""
        each = column * (self.weight / self.tokens)[:, None]
        sums = [column[group].sum(0) / self.tokens[group].sum() for group in self.groups]
        summed = np.array(sums).reshape(len(sums), -1) * self.group_weight[:, None]
        return np.concatenate([each, summed]).astype(np.float32)

    @property
    def target(self) -> Numbers:
        """What the rows should add up to."""
        whole = np.concatenate([self.weight, self.group_weight])
        return (whole - self.rows(self.known[:, None])[:, 0]).astype(np.float32)


def search(aim: Aim, tables: Sequence[Table], *, sweeps: int, chance: np.random.Generator) -> float:
    """Improve the codes of the tables in place; what is left of the squared error."""
    target, base = aim.target, aim.rows(aim.base)
    left = np.inf
    for _ in range(sweeps):
        changed = 0
        for turn, table in enumerate(tables):
            others = [aim.rows(other.edges[:, None]) for place, other in enumerate(tables) if place != turn]
            known, _ = np.linalg.qr(np.concatenate([base, *others], axis=1))
            missing = target - known @ (known.T @ target)
            for place in chance.permutation(table.places):
                edges = table.with_each_code(place)
                column = aim.rows(edges)
                column -= known @ (known.T @ column)
                explained = np.maximum(missing @ column, 0) ** 2 / ((column**2).sum(0) + 1e-12)
                best = int(explained.argmax())
                if explained[best] > explained[table.codes[place]] * (1 + 1e-9):
                    table.codes[place], table.edges = best, edges[:, best].copy()
                    changed += 1
                left = float(missing @ missing - explained[best])
        if not changed:
            break
    return left


def solve(aim: Aim, tables: Sequence[Table]) -> Numbers:
    """The weight of each base column and of an edge of each table."""
    columns = np.concatenate([aim.rows(aim.base), *(aim.rows(table.edges[:, None]) for table in tables)], axis=1)
    weights: Numbers = np.linalg.lstsq(columns, aim.target, rcond=None)[0]
    return weights
