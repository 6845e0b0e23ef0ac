"""Shortened blocks: head, tail and a handle; never longer, always the same, arguments still JSON."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.message import Block, Document, Image, Opaque, Text, Thinking, ToolCall, ToolResult
from sash.core.shorten import shorten, weight
from sash.core.shorter import HEAD_LINES, TAIL_LINES, USUAL_CHARS, shorten_text
from tests.builders import PIXEL, lines, words

HANDLE = "3.0"
some_text = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=300),
    st.builds(lambda line, count: "\n".join([line] * count), st.text("ab \n", max_size=80), st.integers(0, 90)),
    st.integers(0, 9_000).map(lambda size: "x" * size),
    st.sampled_from([lines(21, 4), lines(400), words(4_000), "\n" * 5_000]),
)
keeps = st.sampled_from([0, 0, 1, 2, 160, 1_000, 5_000])


def test_a_long_text_shows_its_first_and_last_ten_lines_and_how_many_are_between() -> None:
    short = shorten_text(lines(100), HANDLE).split("\n")
    assert short[:HEAD_LINES] == lines(100).split("\n")[:10]
    assert short[HEAD_LINES] == "[sash: 80 lines left out, expand '3.0' to see them]"
    assert short[-TAIL_LINES:] == lines(100).split("\n")[-10:]


def test_few_but_huge_lines_are_cut_by_characters() -> None:
    short = shorten_text("a" * 50_000 + "\n" + "b" * 50_000, HANDLE)
    assert short.startswith("a" * 1_000)
    assert short.endswith("b" * 1_000)
    assert "characters left out" in short
    assert len(short) < USUAL_CHARS + 100


def test_many_huge_lines_are_cut_by_characters_too() -> None:
    assert len(shorten_text(lines(100, 5_000), HANDLE)) < USUAL_CHARS + 100


def test_what_is_cut_by_characters_ends_at_a_line_where_that_costs_little() -> None:
    head, _, tail = (
        shorten_text(lines(400), HANDLE, 1_000).split("\n[sash: ")[0],
        "",
        shorten_text(lines(400), HANDLE, 1_000),
    )
    assert all(len(line) == 40 for line in head.split("\n"))
    assert all(len(line) == 40 for line in tail.split("to see them]\n")[1].split("\n"))


def test_where_a_line_is_most_of_the_piece_it_is_cut_in_the_middle() -> None:
    short = shorten_text("a" * 5_000 + "\n" + "b" * 5_000, HANDLE, 200)
    assert short.startswith("a" * 100 + "\n[sash: ")
    assert short.endswith("]\n" + "b" * 100)


@given(text=some_text, keep=keeps)
def test_a_text_never_gets_longer_and_shortening_it_again_changes_nothing(text: str, keep: int) -> None:
    short = shorten_text(text, HANDLE, keep)
    assert len(short) <= len(text)
    assert short == shorten_text(text, HANDLE, keep)
    assert shorten_text(short, HANDLE, keep) == short
    assert len(short) <= max(keep or USUAL_CHARS, 20 * 60) + 100


def test_a_text_that_only_talks_of_handles_is_shortened_like_any_other() -> None:
    text = f"x left out, expand {HANDLE!r} to see them]\n" + lines(60)
    assert "[sash: 41 lines left out" in shorten_text(text, HANDLE)


def test_a_result_keeps_its_call_and_says_whether_it_failed() -> None:
    short = shorten(ToolResult("a", (Text(lines(50)), Text(lines(50))), error=True), HANDLE)
    assert isinstance(short, ToolResult)
    assert (short.call_id, short.error) == ("a", True)
    assert "80 lines left out" in str(short.content)


def test_pictures_in_a_result_become_placeholders_and_what_nobody_knows_stays() -> None:
    unknown = Opaque("search_result", b"{}")
    given = (Text("short"), Image("image/png", PIXEL), Document("application/pdf", "AAAA"), unknown)
    short = shorten(ToolResult("a", given), HANDLE)
    assert isinstance(short, ToolResult)
    assert short.content == (
        Text("short"),
        Text("[sash: image left out, expand '3.0' to see it]"),
        Text("[sash: document left out, expand '3.0' to see it]"),
        unknown,
    )
    assert shorten(ToolResult("a", given[1:]), HANDLE) == ToolResult("a", short.content[1:])


@pytest.mark.parametrize(
    "block",
    [
        ToolResult("a", (Text("short"), Opaque("search_result", b"{}"))),
        ToolResult("a", ()),
        ToolCall("a", "read", '{"path": "a.py"}'),
        Text("short"),
        Thinking("hm", "proof"),
        Opaque("server_tool_use", b"{}"),
    ],
)
def test_a_block_that_would_not_get_shorter_is_itself(block: Block) -> None:
    assert shorten(block, HANDLE) is block


def test_a_picture_becomes_a_placeholder() -> None:
    assert shorten(Image("image/png", PIXEL), HANDLE) == Text("[sash: image left out, expand '3.0' to see it]")
    assert shorten(Document("text/plain", "x"), HANDLE) == Text("[sash: document left out, expand '3.0' to see it]")


def test_long_strings_among_arguments_are_cut_and_all_else_stays() -> None:
    given = {"path": "a.py", "edits": [{"old": "x" * 9_000, "line": 3}], "dry": None}
    short = shorten(ToolCall("a", "edit", json.dumps(given)), HANDLE)
    assert isinstance(short, ToolCall)
    told = json.loads(short.arguments)
    assert (told["path"], told["dry"], told["edits"][0]["line"]) == ("a.py", None, 3)
    assert "8,760 characters left out, expand '3.0'" in told["edits"][0]["old"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | some_text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("ab", max_size=3), inner, max_size=5),
    max_leaves=8,
)


@given(value=st.dictionaries(st.sampled_from(["path", "text", "edits"]), json_values))
def test_shortened_arguments_are_valid_json_shorter_and_stay_so(value: dict[str, object]) -> None:
    call = ToolCall("a", "edit", json.dumps(value))
    short = shorten(call, HANDLE)
    assert isinstance(short, ToolCall)
    assert isinstance(json.loads(short.arguments), dict)
    assert len(short.arguments) <= len(call.arguments)
    assert shorten(short, HANDLE) == short
    short.arguments.encode()


@pytest.mark.parametrize(
    "arguments",
    [
        '{"broken": "' + "x" * 9_000,
        json.dumps({f"name {number}": number for number in range(1_000)}),
        '{"large": 1e999, "text": "' + "x" * 9_000 + '"}',
        '{"half": "\\ud800", "text": "' + "x" * 9_000 + '"}',
        "[" * 100_000 + "]" * 100_000,
        '{"digits": ' + "7" * 9_000 + "}",
    ],
)
def test_arguments_that_cannot_be_cut_inside_are_told_as_one_string(arguments: str) -> None:
    short = shorten(ToolCall("a", "edit", arguments), HANDLE)
    assert isinstance(short, ToolCall)
    assert list(json.loads(short.arguments)) == ["shortened"]
    assert len(short.arguments) < 1_000


def test_free_text_of_a_custom_tool_is_shortened_as_text() -> None:
    short = shorten(ToolCall("a", "patch", lines(100), custom=True), HANDLE)
    assert isinstance(short, ToolCall)
    assert "80 lines left out" in short.arguments


@pytest.mark.parametrize(
    ("block", "bytes_about"),
    [
        (Text("four"), 4),
        (ToolCall("a", "read", "{}"), 2),
        (ToolResult("a", (Text("four"), Image("image/png", "AAAA"))), 8),
        (Document("", "AAAA"), 4),
        (Thinking("four", "sign"), 8),
        (Opaque("x", b"{}"), 2),
    ],
)
def test_the_weight_of_a_block_is_what_it_says_and_holds(block: Block, bytes_about: int) -> None:
    assert weight(block) == bytes_about


def test_of_a_log_the_failures_are_kept_with_their_line_numbers() -> None:
    log = [f"test {n} passed" for n in range(300)]
    log[150] = "test 150 FAILED: AssertionError in parse"
    short = shorten_text("\n".join(log), HANDLE).split("\n")
    assert short[HEAD_LINES] == "[sash: 280 lines left out, expand '3.0' to see them]"
    assert short[HEAD_LINES + 1] == "   151: test 150 FAILED: AssertionError in parse"
    assert short[-1] == "test 299 passed"


_FAILURE = re.compile(
    r"\b(?:errors?|failed|failures?|fatal|exception|traceback|panic(?:ked)?|assert\w*error|segfault|undefined|cannot"
    r"|denied|not found|no such)\b|^E {2,}|^\s*[✗✘×]",
    re.IGNORECASE,
)
_ODDS = (
    *("error", "Errors", "terror", "éfailed", "FAILED", "AssertionError", "assert", "\u017fegfault", "not found"),
    *("E  x", " ✗", "3 × 4", "no \u017fuch", "cannot\r", "panicked", "e  ", " E  x", "x", "", "→ denied"),
    *("unden\u0131ed", "den\u0130ed", "pan\u0131c", "ex\u212aeption"),
)


@given(odd=st.lists(st.lists(st.sampled_from(_ODDS), max_size=2).map(" ".join), max_size=12))
def test_the_lines_that_tell_of_a_failure_are_those_one_pattern_finds(odd: list[str]) -> None:
    plain = [f"line {number}" for number in range(40)]
    between = [*odd, *plain[HEAD_LINES:-TAIL_LINES], *odd[:3]]
    short = shorten_text("\n".join([*plain[:HEAD_LINES], *between, *plain[-TAIL_LINES:]]), "7.0", 0)
    told = [
        f"{number:>6}: {line.strip()}" for number, line in enumerate(between, HEAD_LINES + 1) if _FAILURE.search(line)
    ]
    assert short.split("\n")[HEAD_LINES + 1 : -TAIL_LINES] == told


def test_lines_of_a_great_many_blanks_or_digits_are_passed_over() -> None:
    around = lines(60).split("\n")
    text = "\n".join([*around[:30], " " * 200_000 + "x", "1" * 200_000, "def found():", *around[30:]])
    assert "    33: def found():" in shorten_text(text, "7.0")


def test_of_a_diff_its_files_and_hunks_are_kept_and_of_source_its_definitions() -> None:
    diff = "\n".join(f"diff --git a/f{n} b/f{n}\n@@ -1 +1 @@\n" + "+x\n-y\n" * 8 for n in range(9))
    assert "diff --git a/f4 b/f4" in shorten_text(diff, HANDLE)
    source = "\n".join(f"    12→def name_{n}(self):\n" + "        pass  \n        x = 1\n" * 3 for n in range(20))
    assert "12→def name_9(self):" in shorten_text(source, HANDLE)


def test_lines_that_tell_are_spread_over_the_whole_where_there_are_too_many() -> None:
    source = "\n".join(f"def name_{n}():\n    {n}\n    {n} + 1" for n in range(600))
    short = shorten_text(source, HANDLE)
    shown = [int(line.split("name_")[1].split("(")[0]) for line in short.split("\n") if ": def name_" in line]
    assert len(short) <= USUAL_CHARS + 100
    assert shown == sorted(shown)
    assert shown[0] < 10
    assert shown[-1] > 500


def test_what_nearly_every_line_says_and_what_has_no_room_tells_nothing() -> None:
    assert ":" not in shorten_text("\n".join(f"error {n}" for n in range(200)), HANDLE).split("\n")[HEAD_LINES + 1]
    wide = [f"{n:>114}" for n in range(200)]
    wide[100] = f"error {'x' * 114}"
    assert "  101:" not in shorten_text("\n".join(wide), HANDLE)


def test_of_a_listing_entries_are_counted_by_folder() -> None:
    listing = "\n".join([f"./src/f{n}.py" for n in range(80)] + [f"./tests/t{n}.py" for n in range(40)])
    assert "entries left out: ./src 70, ./tests 30" in shorten_text(listing, HANDLE)
    deep = "\n".join(f"./{'d' * 100}{n}/{n % 7}.py" for n in range(200))
    assert "entries left out" not in shorten_text(deep, HANDLE)
    mixed = "\n".join([f"./src/f{n}.py" for n in range(40)] + [f"and words {n}" for n in range(40)])
    assert "entries left out" not in shorten_text(mixed, HANDLE)


def test_lines_that_repeat_are_folded() -> None:
    text = "start\n" + "waiting for the server\n" * 500 + "ready"
    assert shorten_text(text, HANDLE) == (
        "start\nwaiting for the server\n(499 times more)\nready\n[sash: 498 lines left out, expand '3.0' to see them]"
    )
    long = "\n".join(f"step {n}\n" + "waiting\n" * 9 + "\n" * 5 for n in range(40))
    assert "(8 times more)" in shorten_text(long, HANDLE)


def test_json_keeps_keys_counts_and_first_items() -> None:
    told = {"total": 12345678901234567890.5, "items": [{"id": n, "text": "y" * 400} for n in range(90)], "next": None}
    short = shorten_text(json.dumps(told), HANDLE).split("\n")
    assert short[1].startswith("[sash: ")
    outline = json.loads(short[0])
    assert outline["next"] is None
    assert len(outline["items"]) == 4
    assert outline["items"][0]["text"].endswith("… (280 characters more)")
    assert outline["items"][-1] == "(87 items more)"
    assert '"total":1.2345678901234567e+19' in short[0]


def test_json_that_is_too_wide_or_too_deep_or_none_is_shortened_as_text() -> None:
    wide = json.dumps({f"key number {n}": n for n in range(900)})
    assert "characters left out" in shorten_text(wide, HANDLE)
    for around in (lambda value: {"a": value}, lambda value: [value]):
        nested: object = "x" * 3_000
        for _ in range(9):
            nested = around(nested)
        assert "(1 " in shorten_text(json.dumps(nested), HANDLE)
    many = json.dumps([["x" * 100] * 30] * 9)
    assert "items more" in shorten_text(many, HANDLE)
    for broken in ("[" * 5_000, "{not json" * 900, '["\\ud800' + "x" * 3_000 + '"]'):
        assert "left out" in shorten_text(broken, HANDLE)


def test_what_was_expanded_is_not_shortened_behind_its_own_back() -> None:
    text = f"[sash: expanded '3.0', lines 1 to 400 of 400]\n{lines(400)}"
    assert shorten_text(text, HANDLE) == text
    assert len(shorten_text(text, HANDLE, 1_000)) < 1_200, "where it must, it shrinks all the same"
