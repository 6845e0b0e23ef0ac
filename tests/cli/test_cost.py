"""What the commands cost: what they import, and how much memory they take."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.front_door import SASH, environment
from tests.cli.sessions import exchange, long_session
from tests.gates.test_exports import HEAVY, loaded_after

PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=sys.stdin.buffer, stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.parametrize("command", ["show", "context", "explain", "pressure", "replay", "fit"])
def test_looking_into_a_file_brings_no_database_no_server_and_no_drawing(command: str, tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", turns=2)
    loaded = loaded_after(f"from sash.cli.main import main; assert main([{command!r}, {str(path)!r}]) == 0")
    assert not loaded & (HEAVY - {"click"} | {"matplotlib", "numpy"})


def test_a_status_line_brings_next_to_nothing(tmp_path: Path) -> None:
    status = json.dumps({"context_window": {"context_window_size": 9, "current_usage": {"input_tokens": 3}}})
    code = f"import io, sys; sys.stdin = io.TextIOWrapper(io.BytesIO({status.encode()!r}))"
    loaded = loaded_after(f"{code}; from sash.cli.main import main; assert main(['statusline']) == 0")
    assert not loaded & (HEAVY - {"click"})
    assert not {name for name in loaded if name.startswith(("sash.wire", "sash.counters", "sash.settings"))}


def peak(home: Path, *words: str | Path, pieces: Iterator[bytes] | None = None) -> float:
    """Megabytes that a command takes at the most."""
    command = [sys.executable, "-c", PEAK, SASH, *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(home), cwd=home
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for piece in pieces or ():
            process.stdin.write(piece)
        process.stdin.close()
        code, kilobytes = map(int, process.stdout.read().split())
    assert code == 0
    return kilobytes / 1000


def test_a_session_of_four_megabytes_takes_less_than_150_megabytes(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", turns=450, words=1_600)
    assert 3_500_000 < path.stat().st_size < 6_000_000
    assert peak(tmp_path, "show", path) < 150


def pieces(megabytes: int) -> Iterator[bytes]:
    """So much of a session that goes on and on, as it comes."""
    words = "\n".join(f"{line} what stands in line {line}" for line in range(2_000))
    sent = number = 0
    while sent < megabytes * 1_000_000:
        number += 1
        lines = exchange(number, f"Request {number}", result=words)
        piece = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        sent += len(piece)
        yield piece


@pytest.mark.soak
@pytest.mark.parametrize(
    ("megabytes", "words"),
    [
        (1_000, ("count", "-")),
        (1_000, ("convert", "-", "--as", "claude-code")),
        (1_000, ("convert", "-", "--as", "pi")),
        # It makes a window of what it reads, which takes longer.
        (200, ("show", "-", "--last", "5")),
    ],
)
def test_what_comes_through_a_pipe_takes_no_more_memory_than_its_window(
    megabytes: int, words: tuple[str, ...], tmp_path: Path
) -> None:
    assert peak(tmp_path, *words, pieces=pieces(megabytes)) < 100


def test_a_stream_that_is_converted_is_not_held(tmp_path: Path) -> None:
    little, much = (peak(tmp_path, "convert", "-", "--as", "pi", pieces=pieces(size)) for size in (2, 30))
    assert much < little + 25
