"""Names: paths, identifiers and numbers are, words of the language are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.names import REMEMBERED, is_name, names_in


@pytest.mark.parametrize(
    "name", ["src/a.py", "snake_case", "camelCase", "v2_1", "os.path", "4096", "utf8", "~/.bashrc"]
)
def test_paths_identifiers_and_numbers_are_names(name: str) -> None:
    assert is_name(name)
    assert names_in(f"see ({name}), please; and {name}.") == (name,)


@pytest.mark.parametrize("word", ["word", "Word", "a.b", "123", "well-known", "x" * 200 + "_y"])
def test_words_and_what_nobody_types_again_are_none(word: str) -> None:
    assert not is_name(word)


_WORD = re.compile(r"[A-Za-z0-9_~$@][\w./~@-]{2,}\w")

_LETTERS = st.one_of(st.sampled_from("ab1_./~@-$ \n:éA中→\ud800\x1c\x85"), st.characters())


@given(text=st.text(alphabet=_LETTERS))
def test_names_are_what_one_pattern_finds_in_any_text(text: str) -> None:
    assert names_in(text) == tuple(filter(is_name, dict.fromkeys(_WORD.findall(text))))


def test_what_is_remembered_of_words_is_bounded_and_changes_nothing() -> None:
    many = tuple(f"name_{number}" for number in range(70_000))
    assert names_in(" ".join(many)) == many
    assert names_in(many[0]) == many[:1]
    for length in (REMEMBERED, REMEMBERED + 1):
        text = f"name_1 {'x' * (length - 14)} name_2"
        assert len(text) == length
        assert names_in(text) == names_in(text) == ("name_1", "name_2")
