"""Sources beside the conversation stay within what the ledger gives them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sash.core.budget import Ledger, Row, SourceName
from sash.core.sources import Source, asked_by, cut_to
from sash.core.tokens import TokenCount
from tests.builders import CHARS4

NAMES: tuple[SourceName, ...] = ("skills", "knowledge", "cross-thread")


def ledger(**given_to: int) -> Ledger:
    rows = [
        Row(source=name, allotted=0, asked=TokenCount(0), given=given_to.get(name, 0), used=TokenCount(0))
        for name in NAMES
    ]
    return Ledger(window=1_000, rows=tuple(rows))


def test_a_source_without_a_line_of_its_own_is_knowledge() -> None:
    assert [Source(name, "x").kind for name in ("skills", "cross-thread", "wiki")] == [
        "skills",
        "cross-thread",
        "knowledge",
    ]


def test_sources_of_one_kind_ask_together() -> None:
    asked = asked_by([Source("skills", "a" * 40), Source("wiki", "b" * 20), Source("knowledge", "c" * 20)], CHARS4)
    assert {name: count.value for name, count in asked.items()} == {"skills": 10, "knowledge": 10}


def test_what_fits_is_sent_whole_and_what_is_over_is_cut_at_a_lines_end() -> None:
    first, second = Source("skills", "a" * 40), Source("skills", "\n".join(["line " * 8] * 20))
    whole, cut = cut_to([first, second], ledger(skills=60), CHARS4)
    assert whole == first
    *lines, last = cut.text.split("\n")
    assert set(lines) == {"line " * 8}
    assert last.startswith("[sash: ")


def test_one_long_line_is_cut_by_characters_and_left_out_where_not_even_the_mark_fits() -> None:
    (cut,) = cut_to([Source("skills", "a" * 400)], ledger(skills=30), CHARS4)
    assert cut.text.startswith("aaaa")
    assert cut.text.endswith("[sash: the rest of it did not fit]")
    assert cut_to([Source("skills", "a" * 400)], ledger(skills=5), CHARS4) == ()


def test_what_others_of_the_kind_have_taken_is_gone() -> None:
    second = Source("skills", "a" * 40)
    assert cut_to([second], ledger(skills=10), CHARS4) == (second,)
    assert cut_to([second], ledger(skills=10), CHARS4, taken={"skills": TokenCount(5)}) == ()


@given(st.lists(st.tuples(st.sampled_from(["skills", "wiki"]), st.text(max_size=300))), st.integers(0, 80))
def test_no_kind_ever_takes_more_than_it_was_given(drawn: list[tuple[str, str]], room: int) -> None:
    sources = [Source(name, text) for name, text in drawn]
    sent = cut_to(sources, ledger(skills=room, knowledge=room), CHARS4)
    assert all(count.value <= room for count in asked_by(sent, CHARS4).values())
    assert all(source in sources or source.text.endswith("]") for source in sent)
