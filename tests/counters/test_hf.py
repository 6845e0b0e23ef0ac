"""Any `tokenizer.json` that a user points to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sash.core.tokens import TokenCount
from sash.counters import counter_for
from sash.counters.hf import _loaded, hf
from sash.errors import MissingExtra, UnreadableTokenizer


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer that knows a few words, and adds one of its own before each text."""
    tokenizers = pytest.importorskip("tokenizers", reason="the extra `hf` is not installed")
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    made = tokenizers.Tokenizer(WordLevel({"[UNK]": 0, "<s>": 1, "hello": 2, "world": 3}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_words_are_counted_exactly_and_without_what_belongs_to_the_chat(tokenizer: Path) -> None:
    counter = hf(tokenizer)
    assert counter.count("hello world hello") == TokenCount(3)
    assert counter.count("") == TokenCount(0)
    assert counter.count("hello \ud83d") == TokenCount(2)


def test_it_is_had_by_name_from_a_file_or_its_directory(tokenizer: Path) -> None:
    for place in (tokenizer, tokenizer.parent):
        found = counter_for("my-own-model", counter=f"hf:{place}")
        assert found.exact
        assert found.counter.text("hello world") == TokenCount(2)
        assert found.counter.id == f"hf:{tokenizer.parent.name}"


def test_a_file_that_changed_is_another_version(tokenizer: Path) -> None:
    before = hf(tokenizer)
    tokenizer.write_text(tokenizer.read_text("utf-8").replace('"world": 3', '"earth": 3'), "utf-8")
    assert hf(tokenizer).version != before.version


def test_text_that_is_far_too_long_is_estimated(tokenizer: Path) -> None:
    assert not hf(tokenizer).count("hello " * 100_000).exact


@pytest.mark.parametrize("content", [None, "not json", "{}"])
def test_what_is_no_tokenizer_is_an_error_that_names_the_file(tmp_path: Path, content: str | None) -> None:
    pytest.importorskip("tokenizers", reason="the extra `hf` is not installed")
    place = tmp_path / "some.json"
    if content is not None:
        place.write_text(content, "utf-8")
    with pytest.raises(UnreadableTokenizer, match=r"some\.json.*tokenizer\.json"):
        hf(place)


def test_without_the_extra_the_error_names_it(tokenizer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    _loaded.cache_clear()
    with pytest.raises(MissingExtra, match=r"sash\[hf\]"):
        hf(tokenizer)
