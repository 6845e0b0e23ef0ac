"""Files that are damaged: what can be read is, what cannot is listed by its line, and nothing is fatal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.errors import UnknownFormat, UnknownTranscript, UnreadableTranscript
from sash.transcripts import FORMATS, Entry, Transcript, open_transcript

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/tmp"}'


def entry(name: str, parent: str | None, words: str) -> bytes:
    above = f'"{parent}"' if parent else "null"
    said = f'{{"role":"user","content":"{words}"}}'
    return f'{{"type":"message","id":"{name}","parentId":{above},"message":{said}}}'.encode()


ONE, TWO, THREE = entry("1", None, "one"), entry("2", "1", "two"), entry("3", "2", "three")


def read(content: bytes, format: str = "") -> tuple[Transcript, list[Entry]]:  # noqa: A002  (the word of the domain)
    transcript = open_transcript(io.BytesIO(content), format=format)
    return transcript, list(transcript.messages())


def texts(content: bytes) -> list[str]:
    return [entry.message.text for entry in read(content)[1]]


def damage(content: bytes) -> list[tuple[int, str]]:
    transcript, _ = read(content)
    return [(found.line, found.why) for found in transcript.damage]


def test_a_torn_last_line_is_listed_and_the_rest_is_read() -> None:
    content = b"\n".join((HEADER, ONE, TWO, THREE[:40]))
    assert texts(content) == ["one", "two"]
    assert damage(content) == [(4, "torn: it ends in the middle")]


def test_a_run_of_nul_bytes_is_a_line_of_its_own_or_stands_before_a_record() -> None:
    content = b"\n".join((HEADER, ONE, b"\0" * 300, b"\0" * 5 + TWO, THREE))
    assert texts(content) == ["one", "two", "three"]
    assert damage(content) == [(3, "300 NUL bytes"), (4, "5 NUL bytes")]


def test_two_records_on_one_line_are_both_read() -> None:
    content = b"\n".join((HEADER, ONE + TWO, THREE))
    assert texts(content) == ["one", "two", "three"]
    assert damage(content) == [(2, "2 records on one line, taken apart")]


def test_a_record_written_behind_a_torn_one_is_saved() -> None:
    torn = ONE[:30] + TWO.replace(b'"1"', b"null")
    content = b"\n".join((HEADER, torn, THREE))
    assert texts(content) == ["two", "three"]
    assert damage(content) == [(2, "30 bytes that belong to no record")]


def test_bom_crlf_and_empty_lines_are_no_damage() -> None:
    content = b"\xef\xbb\xbf" + b"\r\n".join((HEADER, b"", ONE, b"  ", TWO)) + b"\r\n"
    assert texts(content) == ["one", "two"]
    assert damage(content) == []


def test_foreign_lines_are_listed_by_their_number() -> None:
    content = b"\n".join((HEADER, b"npm WARN deprecated", ONE, b"[1,2]", b"17", TWO))
    assert texts(content) == ["one", "two"]
    assert [line for line, _ in damage(content)] == [2, 4, 5]


def test_bytes_that_are_no_utf8_and_half_surrogates_are_read_as_replacement_characters() -> None:
    content = b"\n".join((HEADER, entry("1", None, "one").replace(b"one", b"o\xffe"), entry("2", "1", "t\\ud83do")))
    assert texts(content) == ["o\ufffde", "t\ufffdo"]
    assert damage(content) == [(2, "not UTF-8 at byte 80"), (3, "half of a surrogate pair, read as U+FFFD")]


@pytest.mark.parametrize(
    ("cut", "why"), [(rb"\ud83d", "half of a surrogate pair, read as U+FFFD"), (b"\xff", "not UTF-8 at byte 29")]
)
def test_half_a_letter_in_the_first_line_loses_that_letter_and_not_the_file(cut: bytes, why: str) -> None:
    messages = b'{"role":"user","content":"cut%b"}\n{"role":"assistant","content":"ok"}\n' % cut
    assert texts(messages) == ["cut\ufffd", "ok"]
    assert damage(messages) == [(1, why)]
    runs = b'{"conversations":[{"from":"human","value":"cut%b"}]}\n{"conversations":[]}\n' % cut
    assert texts(runs) == ["cut\ufffd"]


def test_a_record_nested_too_deeply_is_listed() -> None:
    deep = b'{"type":"message","id":"2","parentId":"1","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    content = b"\n".join((HEADER, ONE, deep, entry("3", "1", "three")))
    assert texts(content) == ["one", "three"]
    assert [line for line, _ in damage(content)] == [3]


def test_what_is_no_transcript_is_refused_with_a_remedy(tmp_path: Path) -> None:
    for content in (b"", b"hello\n", b"17", b"\x89PNG\r\n\x1a\n\0\0", b'{"a": 1}', b"[]"):
        with pytest.raises(UnknownTranscript, match=r"--format|it is empty"):
            open_transcript(io.BytesIO(content))
    with pytest.raises(UnreadableTranscript, match="No such file"):
        open_transcript(tmp_path / "absent.jsonl")
    with pytest.raises(UnreadableTranscript, match="is a folder"):
        open_transcript(tmp_path)
    with pytest.raises(UnknownFormat, match="'claude-code'"):
        open_transcript(io.BytesIO(HEADER), format="claude")


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40)
@given(content=st.binary(max_size=300))
def test_any_bytes_are_read_in_any_format_without_a_crash(name: str, content: bytes) -> None:
    transcript, entries = read(content, name)
    assert all(entry.line >= 0 for entry in entries)
    assert transcript.damaged >= len(transcript.damage)
