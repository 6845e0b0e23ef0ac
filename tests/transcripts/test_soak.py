"""A gigabyte of lines through a pipe: memory holds the largest line and what is looked at, not the file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.transcripts.samples import claude, pi

LINES = 250_000
PER_LINE = 4_000
MOST = 250_000_000
"""Bytes of memory; the interpreter and sash take about 50 MB of it."""

READER = """
import resource, sys
from sash.transcripts import open_transcript
count = sum(1 for _ in open_transcript(sys.stdin.buffer).messages())
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.soak
@pytest.mark.parametrize("name", ["claude-code", "pi"])
def test_a_gigabyte_of_lines_is_read_in_bounded_memory(name: str) -> None:
    reader = subprocess.Popen([sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert reader.stdin is not None
    assert reader.stdout is not None
    words = "word " * (PER_LINE // 5)
    if name == "pi":
        reader.stdin.write(b'{"type":"session","version":3,"id":"s","timestamp":"2026-05-12T01:02:27Z","cwd":"/tmp"}\n')
    for number in range(LINES):
        if name == "pi":
            said = {"role": "user", "content": words}
            record = pi("message", f"{number:08x}", f"{number - 1:08x}" if number else None, message=said)
        else:
            said = {"role": "user", "content": words}
            record = claude("user", f"u{number}", f"u{number - 1}" if number else None, message=said)
        reader.stdin.write(json.dumps(record).encode() + b"\n")
    reader.stdin.close()
    count, memory = map(int, reader.stdout.read().split())
    assert reader.wait() == 0
    assert count == LINES
    assert memory < MOST
