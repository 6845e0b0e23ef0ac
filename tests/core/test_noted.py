"""Names that left the window: those worth most stay, with the line in which each stood."""

from __future__ import annotations

import pytest

from sash.core.noted import NAMES, OF_A_RESULT, Noted, Voice, note, note_text
from tests.builders import Call, assistant


def noted(*texts: tuple[Voice, str]) -> dict[str, Noted]:
    table: dict[str, Noted] = {}
    for now, (voice, text) in enumerate(texts, start=1):
        note_text(table, text, voice, source="somebody", turn=now, now=now)
    return table


def many(first: int, count: int) -> str:
    return "\n".join(f"line with name_{number} in it" for number in range(first, first + count))


def test_a_name_keeps_the_line_in_which_it_stood() -> None:
    table = noted(("given", "first line\nhere is  src/fold.py:\tand more\nlast line about src/slide.py"))
    assert {name: entry.line for name, entry in table.items()} == {
        "src/fold.py": "here is src/fold.py: and more",
        "src/slide.py": "last line about src/slide.py",
    }


def test_what_a_model_writes_to_a_file_is_noted_as_it_stands_there() -> None:
    table: dict[str, Noted] = {}
    written = assistant("", Call("a", '{"path":"src/a.py","text":"x = 1\\n\\tname_of = \\"dim_gray\\"\\n"}', "write"))
    note(table, written, turn=1, now=1, calls={})
    assert table["dim_gray"].line == 'name_of = "dim_gray"'


def test_what_somebody_says_later_has_the_later_line_and_what_a_tool_gives_does_not() -> None:
    table = noted(
        ("given", "found name_1 here"), ("said", "so name_1 it is"), ("given", "again name_1"), ("asked", "name_1?")
    )
    entry = table["name_1"]
    assert (entry.line, entry.asked, entry.said, entry.called, entry.given) == ("name_1?", 1, 1, 0, 2)
    assert (entry.turn, entry.last) == (4, 4)


@pytest.mark.parametrize("count", [2 * NAMES, 3 * NAMES + 1, 5 * NAMES])
def test_those_that_stay_are_those_that_are_worth_most(count: int) -> None:
    texts: list[tuple[Voice, str]] = [
        ("said", many(10_000, NAMES)),
        ("called", many(20_000, 40)),
        ("given", many(10_100, 50)),
        ("asked", many(10_020, 10)),
        ("given", many(40_000, 80)),
        ("said", many(30_000, count)),
    ]
    table, now = noted(*texts), len(texts)
    everything: dict[str, Noted] = {}
    for at, (voice, text) in enumerate(texts, start=1):
        # One by one: a small text never fills the table.
        for line in text.split("\n"):
            one: dict[str, Noted] = {name: entry for name, entry in everything.items() if name in line}
            note_text(one, line, voice, source="somebody", turn=at, now=at)
            everything.update(one)
    if len(everything) <= 3 * NAMES:
        assert table == everything
        return
    best = sorted(everything, key=lambda name: (-everything[name].worth(now), name))[:NAMES]
    assert table == {name: everything[name] for name in best}
    assert list(table) == [name for name in everything if name in table]


def test_of_a_result_with_very_many_names_both_ends_are_kept() -> None:
    table = noted(("given", many(10_000, 2 * OF_A_RESULT)), ("given", many(10_000, 10)))
    half = OF_A_RESULT // 2
    ends = [*range(10_000, 10_000 + half), *range(10_000 + 2 * OF_A_RESULT - half, 10_000 + 2 * OF_A_RESULT)]
    assert list(table) == [f"name_{number}" for number in ends]
    assert table["name_10000"].given == 2
