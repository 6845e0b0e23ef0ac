"""
Exact counters against tiktoken, OpenAI's own tokenizer.

tiktoken downloads its vocabularies, which a test may not. The vocabularies inside splintr-rs
are handed to it instead, after their SHA-256 was found to be the one that tiktoken itself
demands of a download: so they are OpenAI's, byte for byte.

Known differences between the two: none. Beside what runs here, every code point of the first
four planes was compared, alone and between letters, and 120,000 more fuzz strings.
"""

from __future__ import annotations

import random
import sysconfig
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sash.core.tokens import TokenCount
from sash.counters import counter_for
from sash.counters.estimate import estimate_text, family
from sash.counters.exact import VOCABULARIES, exact
from sash.counters.texts import Tokenized, whole
from sash.errors import UnknownCounter
from tests.real import DATA

if TYPE_CHECKING:
    from tiktoken import Encoding

tiktoken = pytest.importorskip("tiktoken", reason="the oracle is not installed")
splintr = pytest.importorskip("splintr", reason="the extra `exact` is not installed")

ORDINARY = {"o200k_base": 199_998, "cl100k_base": 100_256}
"""Ids below these are words; what follows are special tokens."""


@cache
def oracle(name: str) -> Encoding:
    """tiktoken's encoding, made from a vocabulary that it would have accepted as a download."""
    from tiktoken_ext import openai_public  # type: ignore[import-untyped]  # tiktoken types only its core

    tokenizer = splintr.Tokenizer.from_pretrained(name)

    def load(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
        ranks = {tokenizer.decode_token_bytes(rank): rank for rank in range(ORDINARY[name])}
        file = b"".join(b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
        assert sha256(file).hexdigest() == expected_hash, f"splintr's {name} is not OpenAI's"
        return ranks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", load)
        made: Encoding = tiktoken.Encoding(**getattr(openai_public, name)())
        return made


ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789",
    " \t\n\r",
    "_-./\\,:;'\"!?()[]{}<>@#$%^&*+=|~`",
    "éüñçßøåæœğşıİΣςσ",
    "абвгдеёжзЁЖЗ",
    "中文字符測試日本語かなカナ한국어",
    "ابتثجحखगघङचกขฃ",
    "😀🎉👨‍👩‍👧‍👦🏳️‍🌈❤️",
    "\u0301\u0300\u200d\ufe0f\u00a0\u2028\u3000\u0085\x00\x7f",
    "ǅǈʰˀªº²½ⅧⓐA\u0345",
)
PIECES = ("'s", "'T", "'re", "'LL", "  \n  ", "\r\n\r\n", "<|endoftext|>", "<|im_start|>", "```", "://", "0x", "...")


def fuzz(seed: int, number: int) -> Iterator[str]:
    """Texts of every kind of character in every mixture; the same ones in every run."""
    draw = random.Random(seed)
    for _ in range(number):
        kind = draw.random()
        if kind < 0.15:
            points = (draw.choice((draw.randrange(0xD800), draw.randrange(0xE000, 0x110000))) for _ in range(40))
            yield "".join(map(chr, islice(points, draw.randint(0, 40))))
        elif kind < 0.3:
            yield draw.choice("".join(ALPHABETS)) * draw.randint(1, 80)
        else:
            text = ""
            while len(text) < 40 * kind:
                alphabet = draw.choice(ALPHABETS)
                text += (
                    draw.choice(PIECES)
                    if draw.random() < 0.2
                    else "".join(draw.choices(alphabet, k=draw.randint(1, 6)))
                )
            yield text


@pytest.mark.parametrize("name", ORDINARY)
def test_twenty_thousand_odd_texts_count_as_tiktoken_counts_them(name: str) -> None:
    counter, judge = exact(name), oracle(name)
    different = [
        text for text in fuzz(20, 20_000) if counter.count(text) != TokenCount(len(judge.encode_ordinary(text)))
    ]
    assert different == []


def corpus() -> Iterator[str]:
    """Real text: the standard library, and what people and agents wrote where that is at hand."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for place in ("argparse.py", "ast.py", "email/message.py", "html/entities.py", "typing.py", "unittest/mock.py"):
        yield (library / place).read_text("utf-8")
    if DATA.is_dir():
        for file in sorted(DATA.rglob("*"))[:400]:
            if file.is_file() and file.suffix in (".txt", ".json", ".jsonl", ".md", ".log"):
                with file.open("rb") as opened:
                    yield opened.read(20_000).decode("utf-8", "replace")


@pytest.mark.parametrize("name", ORDINARY)
def test_real_text_counts_as_tiktoken_counts_it(name: str) -> None:
    counter, judge = exact(name), oracle(name)
    texts = list(corpus())
    assert sum(map(len, texts)) > 300_000
    assert [n for n, text in enumerate(texts) if counter.count(text).value != len(judge.encode_ordinary(text))] == []


def test_a_special_token_that_somebody_typed_is_ordinary_text() -> None:
    for name in ORDINARY:
        assert exact(name).count("<|endoftext|>").value == len(oracle(name).encode_ordinary("<|endoftext|>")) > 1


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_vocabulary_counts(name: str) -> None:
    counter = exact(name)
    assert counter.id == f"exact:{name}"
    assert counter.version.startswith("splintr-")
    assert counter.count("") == TokenCount(0)
    assert counter.count("Hello, world. 你好，世界。 <|endoftext|> <s>").exact
    assert 2 <= counter.count("Hello world").value <= 4


@pytest.mark.parametrize("name", VOCABULARIES)
def test_half_a_surrogate_pair_counts_as_the_mark_that_stands_for_it(name: str) -> None:
    counter = exact(name)
    assert counter.count("a\ud83db") == counter.count("a\ufffdb")
    assert counter.count("\ud83d\ude00") == counter.count("😀")


def test_no_other_text_is_changed_before_it_is_counted() -> None:
    for text in fuzz(3, 2_000):
        assert whole(text) == text


PATHOLOGICAL = {"letter": "a", "spaces": " ", "lines": "\n", "emoji": "😀", "marks": "\u0301", "dots": "."}


@pytest.mark.parametrize("kind", PATHOLOGICAL)
@pytest.mark.parametrize("model", ["gpt-5", "qwen3-8b", "gemma3:27b", "llama2:7b"])
def test_text_that_no_tokenizer_should_be_given_is_estimated_and_marked(kind: str, model: str) -> None:
    endless = PATHOLOGICAL[kind] * 1_000_001
    counted = counter_for(model).counter.text(endless)
    assert not counted.exact
    weights = family("openai" if model == "gpt-5" else "gemini" if model.startswith("gemma") else "generic")
    assert counted.value == estimate_text(endless, weights)


def test_the_tokenizer_never_sees_text_that_is_too_long() -> None:
    seen: list[str] = []

    def encode(text: str) -> int:
        seen.append(text)
        return 1

    counter = Tokenized("seen", encode, version="1", longest=10, beyond=family("generic"))
    assert counter.count("x" * 10) == TokenCount(1)
    assert not counter.count("x" * 11).exact
    assert seen == ["x" * 10]


def test_a_relatives_vocabulary_gives_estimates() -> None:
    near = exact("o200k_base", near=True)
    assert near.id == "near:o200k_base"
    assert near.count("hello") == TokenCount(1, exact=False)


def test_a_vocabulary_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UnknownCounter, match="exact:o200k_base"):
        exact("o300k")
