"""What may go to a terminal, and tables that fit it."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.cli.characters import clean, clean_lines, columns_of, speaks_ascii
from sash.cli.progress import PATIENCE, Progress
from sash.cli.screen import Screen, screen_of, wrapped
from sash.cli.table import Cell, Column, print_table


class Terminal(io.StringIO):
    """Somebody looks at it."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def printed(width: int, columns: list[Column], rows: list[list[str]], *, ascii_only: bool = False) -> list[str]:
    stream = io.StringIO()
    print_table(Screen(stream=stream, width=width, ascii_only=ascii_only), columns, rows)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("größer 中文 🙂", "größer 中文 🙂"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]52;c;AAAA\x07", "\\x1b]52;c;AAAA\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb\nc\td", "a\\rb\\nc\\td"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\u200b\u2028", "\\u200b\\u2028"),
        ("\ud83d", "\\ud83d"),
        ("tag\U000e0041", "tag\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(st.characters()))
def test_nothing_clean_is_obeyed(text: str) -> None:
    for character in clean(text):
        assert character.isprintable() or character == " " or ord(character) > 0x9F
        assert character not in "\x1b\x9b\u202e\u2066\r\n"


def test_lines_stay_lines() -> None:
    assert clean_lines("a\r\nb\tc\nd\x07") == ["a", "b       c", "d\\x07"]


def test_wide_and_combining_characters_take_their_columns() -> None:
    assert columns_of("中文") == 4
    assert columns_of("e\u0301") == 1
    assert Screen(stream=io.StringIO()).cut("中文字符", 5) == "中文…"
    assert Screen(stream=io.StringIO(), ascii_only=True).cut("abcdef", 4) == "ab.."


COLUMNS = [
    Column(title="name", gives_way=True, least=5),
    Column(title="tokens", right=True),
    Column(title="why", rank=1),
    Column(title="age", rank=2),
]
ROWS = [["a rather long name", "12,345", "because", "3 h"], ["short", "7", "no reason", "1 min"]]


def test_a_table_gives_way_column_by_column() -> None:
    assert printed(80, COLUMNS, ROWS) == [
        "name                tokens  why        age",
        "a rather long name  12,345  because    3 h",
        "short                    7  no reason  1 min",
    ]
    assert printed(26, COLUMNS, ROWS) == [
        "name     tokens  why",
        "a rath…  12,345  because",
        "short         7  no reason",
    ]
    assert printed(13, COLUMNS, ROWS) == ["name   tokens", "a ra…  12,345", "short       7"]
    assert printed(8, COLUMNS, ROWS)[:3] == ["a rathe…", "  12,345", "  becau…"]


@given(
    width=st.integers(20, 100),
    rows=st.lists(st.lists(st.text(st.characters(codec="utf-8"), max_size=40).map(clean), min_size=4, max_size=4)),
    ascii_only=st.booleans(),
)
def test_no_line_of_a_table_is_wider_than_its_screen(width: int, rows: list[list[str]], ascii_only: bool) -> None:
    assert all(columns_of(line) <= width for line in printed(width, COLUMNS, rows, ascii_only=ascii_only))


@pytest.mark.parametrize(
    ("locale", "bare"),
    [
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LC_ALL": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "C"}, False),
        ({"LC_CTYPE": "de_DE.UTF-8", "LANG": "C"}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({}, False),
    ],
)
def test_the_c_locale_is_ascii(locale: dict[str, str], bare: bool) -> None:
    assert speaks_ascii(io.TextIOWrapper(io.BytesIO(), "utf-8"), locale) is bare
    assert speaks_ascii(io.TextIOWrapper(io.BytesIO(), "latin-1"), locale)


def test_colour_is_for_terminals() -> None:
    assert screen_of(Terminal(), {}).color
    assert not screen_of(Terminal(), {"NO_COLOR": "1"}).color
    assert not screen_of(Terminal(), {"TERM": "dumb"}).color
    assert not screen_of(io.StringIO(), {}).color
    assert screen_of(io.StringIO(), {}, color=True).color


def test_a_screen_is_as_wide_as_it_says() -> None:
    assert screen_of(io.StringIO(), {}).width == 80
    assert screen_of(io.StringIO(), {"COLUMNS": "100"}).width == 100
    assert screen_of(io.StringIO(), {"COLUMNS": "3"}).width == 20
    assert screen_of(io.StringIO(), {"COLUMNS": "x"}).width == 80


def test_words_are_broken_where_the_screen_ends() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("seventeen", 4) == ["seve", "ntee", "n"]
    assert wrapped("a seventeen", 4) == ["a", "seve", "ntee", "n"]
    assert wrapped("中文 字符", 5) == ["中文", "字符"]
    assert wrapped("中文字", 3) == ["中", "文", "字"]
    assert wrapped("", 9) == [""]


def test_a_screen_is_as_wide_as_its_own_terminal() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 57, 0, 0))
    with os.fdopen(theirs, "w") as stream:
        assert screen_of(stream, {}).width == 57
    os.close(ours)


@given(words=st.text(st.characters(codec="utf-8"), max_size=60), columns=st.integers(2, 30))
def test_no_line_of_a_paragraph_is_wider_than_it_may_be(words: str, columns: int) -> None:
    lines = wrapped(clean(words), columns)
    assert all(columns_of(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean(words).split())


def test_an_ascii_screen_draws_with_what_it_has() -> None:
    screen = Screen(stream=io.StringIO(), width=20, ascii_only=True)
    screen.rule("context")
    assert screen.stream.getvalue() == "----- context ------\n"  # type: ignore[attr-defined]  # a StringIO
    assert screen.bar(0.5, 4) == "##.."
    assert Screen(stream=io.StringIO()).bar(0.001, 4) == "█░░░"


def test_progress_is_shown_after_a_second_and_wiped() -> None:
    now = [0.0]
    stream = Terminal()
    with Progress("reading x", 100, stream=stream, clock=lambda: now[0]) as progress:
        progress.at(10)
        assert stream.getvalue() == ""
        now[0] = PATIENCE + 0.1
        progress.at(50)
        assert "reading x ██████░░░░░░  50%" in stream.getvalue()
        progress.at(60)
        assert "60%" not in stream.getvalue()
    assert stream.getvalue().split("\r")[-1] == ""


def test_progress_is_for_somebody_who_looks() -> None:
    stream = io.StringIO()
    now = [0.0]
    with Progress("reading", stream=stream, clock=lambda: now[0]) as progress:
        now[0] = 100.0
        progress.at(10)
    assert stream.getvalue() == ""
    with Progress("\x1breading", stream=(looked := Terminal()), clock=lambda: now[0]) as progress:
        now[0] = 200.0
        progress.at(1_234)
    assert "\\x1breading 1,234" in looked.getvalue()


def test_cells_have_styles_where_there_is_colour() -> None:
    stream = io.StringIO()
    print_table(Screen(stream=stream, color=True), [Column(), Column(right=True)], [[Cell("a", "red"), Cell("b")]])
    assert stream.getvalue() == "\x1b[31ma\x1b[0m  b\n"


def test_what_stands_last_in_a_line_is_whole_where_nobody_looks() -> None:
    columns = [Column(title="name"), Column(title="why", gives_way=True)]
    rows = [["first", "word " * 40 + "end"]]

    def shown(stream: io.StringIO, **environment: str) -> str:
        print_table(screen_of(stream, environment), columns, rows)
        return stream.getvalue()

    assert shown(io.StringIO()).rstrip().endswith("end")
    assert max(map(len, shown(io.StringIO(), COLUMNS="60").splitlines())) <= 60
    assert max(map(len, shown(Terminal()).splitlines())) <= 80
    # In the middle of a line it would push all others away.
    print_table(screen_of(stream := io.StringIO(), {}), columns[::-1], [row[::-1] for row in rows])
    assert max(map(len, stream.getvalue().splitlines())) <= 80
