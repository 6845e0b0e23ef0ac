"""`sash bench` tells what of a session is still there when it is needed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner

from sash.cli.bench import Bench
from sash.cli.group import sash
from tests.builders import Script, lines


def session(folder: Path) -> str:
    script = Script().user("Fix the parser, mind old_flag in src/parse.py").assistant("on it").user("go")
    for number in range(60):
        script.step(f"{number}", f"line about token_{number} and how it is parsed\n{lines(20)}", text=f"step {number}")
    path = folder / "session.json"
    path.write_text(json.dumps(script.assistant("token_3 in src/parse.py is done").said))
    return str(path)


def test_strategies_are_compared_within_the_same_cap(tmp_path: Path) -> None:
    shown = CliRunner().invoke(sash, ["bench", session(tmp_path), "--cap", "4000", "--json"])
    assert shown.exit_code == 0, shown.output
    told = msgspec.json.decode(shown.stdout, type=Bench)
    by_name = {one.strategy: one for one in told.kept}
    assert told.probes == 2
    assert all(one.largest <= 4_000 for one in told.kept)
    assert by_name["digest"].named == 1.0 > by_name["last messages"].named


def test_the_table_names_the_strategies_and_explains_its_numbers(tmp_path: Path) -> None:
    shown = CliRunner().invoke(sash, ["bench", session(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "digest, facts, recall" in shown.output
    assert "in setting: among words" in shown.output
    refused = CliRunner().invoke(sash, ["bench", session(tmp_path), "--cap", "3"])
    assert refused.exit_code == 2
