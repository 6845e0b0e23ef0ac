"""
The model of the estimator, and its fit to texts whose tokens are known.

A text costs something for each character, for each bit in which the codes of neighboring characters differ, and, for
each character beyond ASCII, something more and the bits of its bytes. What all of that costs, and which codes the bytes
have, is searched for so that every kind of text comes out right, one by one and in sum: by least squares, from which
`tools/fit_polish.py` goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from tools.fit_corpus import RARER
from tools.fit_search import LEVELS, Additive, Aim, Alphabet, Codes, EdgeSearch, Numbers, count_edges, search_levels

IMPORTANCE = dict.fromkeys(RARER, 0.4) | {"combining marks": 0.3, "emoji alone": 0.5, "tree": 0.5}
"""How much some kinds matter, where others are 1: they should be right but must not cost the others much."""
STEPS, HARD, MOST_HARDER = 4, 0.025, 8.0
"""In how many steps kinds come to weigh more, the bias from which on one does, and by how much at most."""
UNITS = (0.03, 0.05, 0.08, 0.12, 0.18, 0.26, 0.38)
"""Prices of a bit that are tried in the tables for what is beyond ASCII."""
RIDGE = 0.01

CONTINUING = bytes(range(0x80, 0xC0))
LEADING = [
    *([byte] for byte in (0xC2, 0xC3, 0xD0, 0xD1, 0xD7, 0xD8, 0xD9, *range(0xE0, 0xE4))),
    [0xC4, 0xC5],
    [*range(0xC6, 0xCC)],
    [0xCC, 0xCD],
    [0xCE, 0xCF],
    [0xD2, 0xD3],
    [0xD4, 0xD5, 0xD6],
    [*range(0xDA, 0xE0)],
    [*range(0xE4, 0xEA)],
    [*range(0xEA, 0xEE)],
    [0xEE, 0xEF],
    [*range(0xF0, 256)],
]
"""A character beyond ASCII is told by its first byte alone where edges are counted."""
CLASSES = Alphabet.of(
    [
        [byte for byte in range(32) if byte not in b"\t\n\r"] + [127],
        [9],
        [10, 13],
        list(b"0123456789"),
        *([byte] for byte in range(32, 127) if not 48 <= byte < 58),
        *LEADING,
    ],
    dropped=CONTINUING,
)


class Rows(msgspec.Struct, frozen=True):
    """What the search sees of some texts."""

    characters: Numbers
    beyond: Numbers
    """Characters beyond ASCII."""
    meetings: npt.NDArray[np.float32]
    leading: Numbers
    """How often each byte from 0xC0 on occurs: the first of a character beyond ASCII."""
    continuing: Numbers
    """How often each byte from 0x80 to 0xBF does."""
    blocks: Numbers
    """Characters in each block of 256, the first left out; those beyond the sixteenth bit by their surrogates."""

    @classmethod
    def of(cls, texts: Sequence[Sequence[bytes]]) -> Rows:
        """The rows of these texts, each given in parts that do not touch."""
        seen = np.array([_occurrences(parts) for parts in texts], np.float64)
        return cls(
            characters=seen.sum(1) - seen[:, list(CONTINUING)].sum(1),
            beyond=seen[:, 0xC0:].sum(1),
            meetings=np.array([CLASSES.meetings(parts) for parts in texts]),
            leading=seen[:, 0xC0:],
            continuing=seen[:, 0x80:0xC0],
            blocks=np.array([_blocks(parts) for parts in texts], np.float64),
        )

    @property
    def beyond_ascii(self) -> tuple[Numbers, ...]:
        """What has a table of bits."""
        return self.leading, self.continuing, self.blocks

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Rows:
        return Rows(*(column[chosen] for column in msgspec.structs.astuple(self)))

    def __add__(self, other: Rows) -> Rows:
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return Rows(*(np.concatenate(both) for both in zip(mine, theirs, strict=True)))


def _occurrences(parts: Sequence[bytes]) -> npt.NDArray[np.intp]:
    return np.bincount(np.frombuffer(b"".join(parts), np.uint8), minlength=256)


def _blocks(parts: Sequence[bytes]) -> npt.NDArray[np.intp]:
    high = b"".join(parts).decode().encode("utf-16-le")[1::2]
    found = np.bincount(np.frombuffer(high, np.uint8), minlength=256)
    found[0] = 0
    return found


class Truth(msgspec.Struct, frozen=True):
    """Texts to fit on: their rows, their tokens, and which of them are of one kind."""

    rows: Rows
    tokens: Numbers
    kinds: list[str]
    framing: Numbers
    """How often each part of the framing occurs in each text."""
    importance: float = 1.0
    harder: dict[str, float] = {}
    """How much more some kinds matter."""

    def weights(self) -> tuple[Numbers, list[npt.NDArray[np.intp]]]:
        """The weight of each text, so that each kind has the same, and the texts of each kind."""
        of_kind = [np.flatnonzero(np.array(self.kinds) == kind) for kind in sorted(set(self.kinds))]
        weight = np.zeros(len(self.kinds))
        for group in of_kind:
            weight[group] = (self.importance_of(self.kinds[group[0]]) / len(group)) ** 0.5
        return weight, of_kind

    def importance_of(self, kind: str) -> float:
        """How much a kind matters beside the others."""
        return self.importance * IMPORTANCE.get(kind, 1.0) * self.harder.get(kind, 1.0)


class Fitted(msgspec.Struct, frozen=True):
    """All tables, and what their bits and everything else cost."""

    codes: Codes
    levels: tuple[Codes, ...]
    """Bits of leading bytes, of continuing ones, and of blocks."""
    per_bit: tuple[float, ...]
    framing: Numbers
    per_character: float
    per_beyond: float
    per_continuing: float
    per_edge: float

    def estimate(self, rows: Rows) -> Numbers:
        """The estimate of each text, without its framing."""
        tokens = rows.characters * self.per_character + rows.beyond * self.per_beyond
        tokens += count_edges(rows.meetings, self.codes) * self.per_edge
        tokens += rows.continuing.sum(1) * self.per_continuing
        return tokens + _priced(rows, self.levels, self.per_bit)


def fit_in_steps(truth: Truth, *, per_character: float, rounds: int) -> Fitted:
    """Every kind alike; then, step by step, with those weighing more that came out badly; the best step of all."""
    harder = dict.fromkeys(truth.kinds, 1.0)
    codes, best, least = first_codes(), None, np.inf
    for step in range(STEPS):
        weighed = msgspec.structs.replace(truth, harder=harder)
        found = fit([weighed], per_character=per_character, rounds=rounds if step == 0 else rounds // 3, start=codes)
        codes = found.codes
        bias = _biases(truth, found.estimate(truth.rows))
        # By its power the worst kinds decide.
        worst = sum(truth.importance_of(kind) * off**4 for kind, off in bias.items())
        print("  % off:", {kind: round(100 * off, 1) for kind, off in bias.items() if off > HARD})
        if worst < least:
            best, least = found, worst
        for kind, off in bias.items():
            most = MOST_HARDER ** truth.importance_of(kind)
            harder[kind] = float(np.clip(harder[kind] * np.clip(off / HARD, 0.8, 2), 1, most))
    assert best is not None
    return best


def _biases(truth: Truth, estimate: Numbers) -> dict[str, float]:
    """By how much the sum of each kind is off."""
    kinds = np.array(truth.kinds)
    return {
        kind: abs(float(estimate[kinds == kind].sum() / truth.tokens[kinds == kind].sum() - 1))
        for kind in sorted(set(truth.kinds))
    }


def fit(truths: Sequence[Truth], *, per_character: float, rounds: int, start: Codes) -> Fitted:
    """The tables and weights that come nearest to all truths together."""
    rows = sum((truth.rows for truth in truths[1:]), truths[0].rows)
    weights, groups, group_weights, place = [], [], [], 0
    for truth in truths:
        weight, of_kind = truth.weights()
        weights.append(weight)
        groups += [group + place for group in of_kind]
        group_weights += [(4 * truth.importance_of(truth.kinds[group[0]])) ** 0.5 for group in of_kind]
        place += len(weight)
    framing = np.concatenate([truth.framing for truth in truths])
    framing = framing[:, framing.any(0)]
    aim = Aim(
        tokens=np.concatenate([truth.tokens for truth in truths]),
        weight=np.concatenate(weights),
        groups=tuple(groups),
        group_weight=np.array(group_weights),
    )
    known = rows.characters * per_character
    search = EdgeSearch(aim, rows.meetings, CLASSES.size)
    # At first each byte and block beyond ASCII has a price of its own; then the codes and the bits are fitted in turn.
    beyond = np.column_stack(rows.beyond_ascii)
    search.aim_beside(np.column_stack([framing, beyond[:, beyond.any(0)]]), known)
    codes, _ = search.search(start, rounds=rounds)
    added = _beyond(aim, rows, framing, known, codes)
    priced = _priced(rows, added.levels, added.per_bit)
    search.aim_beside(np.column_stack([framing, rows.beyond, rows.continuing.sum(1)]), known + priced)
    codes, left = search.search(codes, rounds=max(2, rounds // 3))
    added = _beyond(aim, rows, framing, known, codes)
    print(f"  squared error left: {left:.3f}; bits beyond ASCII cost {added.per_bit}", flush=True)
    per_beyond, per_continuing, per_edge = added.weights[-3:].tolist()
    return Fitted(
        codes=codes,
        levels=(*added.levels[:2], _of_unseen_blocks(added.levels[2], rows.blocks)),
        per_bit=added.per_bit,
        framing=added.weights[:-3],
        per_character=per_character,
        per_beyond=per_beyond,
        per_continuing=per_continuing,
        per_edge=per_edge,
    )


def _beyond(aim: Aim, rows: Rows, framing: Numbers, known: Numbers, codes: Codes) -> Additive:
    beside = np.column_stack([framing, rows.beyond, rows.continuing.sum(1), count_edges(rows.meetings, codes)])
    return search_levels(aim, rows.beyond_ascii, beside, known, units=UNITS, ridge=RIDGE)


def _priced(rows: Rows, levels: Sequence[Codes], per_bit: Sequence[float]) -> Numbers:
    """What the bits beyond ASCII come to."""
    priced = np.zeros(len(rows.beyond))
    for table, bits, price in zip(rows.beyond_ascii, levels, per_bit, strict=True):
        priced += table @ (bits * price)
    return priced


def _of_unseen_blocks(levels: Codes, blocks: Numbers) -> Codes:
    """Scripts that nothing was fitted on take many tokens; the first block is weighed by its bytes alone."""
    levels = np.where(blocks.sum(0) > 0, levels, LEVELS)
    levels[0] = 0
    return levels


def first_codes() -> Codes:
    """Codes to start from: letters near one another, digits far from everything."""
    first = {"etaoinsrhldcu": 1, "mfpgwybv": 5, "kxjqz": 129, "0123456789": 125, " ": 0, "\n\r": 76, "\t": 13}
    first |= {"_": 133, "-": 85, "/": 12, "\"'`": 69, "()[]{}<>": 68, "ABCDEFGHIJKLMNOPQRSTUVWXYZ": 2}
    codes = np.full(CLASSES.size, 4)
    codes[-len(LEADING) :] = 1
    for characters, code in first.items():
        codes[CLASSES.class_of[[ord(character) for character in characters]]] = code
    return codes
