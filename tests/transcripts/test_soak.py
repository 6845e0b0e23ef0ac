"""A gigabyte of lines through a pipe: memory holds the largest line and what is looked at, not the file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.transcripts.samples import SAMPLES, claude, pi

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
    words = "word " * (PER_LINE // 5)
    with subprocess.Popen([sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        if name == "pi":
            reader.stdin.write(json.dumps(SAMPLES["pi"][0]).encode() + b"\n")
        for number in range(LINES):
            said = {"role": "user", "content": words}
            before = f"{number - 1:08x}" if number else None
            if name == "pi":
                record = pi("message", f"{number:08x}", before, message=said)
            else:
                record = claude("user", f"{number:08x}", before, message=said)
            reader.stdin.write(json.dumps(record).encode() + b"\n")
        reader.stdin.close()
        count, memory = map(int, reader.stdout.read().split())
    assert reader.returncode == 0
    assert count == LINES
    assert memory < MOST
