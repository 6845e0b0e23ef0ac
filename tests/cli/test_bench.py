"""`sash bench` tells what of a session is still there when it is needed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner

from sash.cli.bench import Bench
from sash.cli.group import sash
from tests.builders import Script, lines, words


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
    assert (told.commands, by_name["digest"].commands) == (0, None)
    assert (told.wishes, by_name["digest"].wishes) == (0, None)


def test_the_table_names_the_strategies_and_explains_its_numbers(tmp_path: Path) -> None:
    shown = CliRunner().invoke(sash, ["bench", session(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "digest, facts, recall" in shown.output
    assert "in setting: among words" in shown.output
    refused = CliRunner().invoke(sash, ["bench", session(tmp_path), "--cap", "3"])
    assert refused.exit_code == 2


def test_what_a_hook_says_behind_a_result_is_sent_above_the_cap_and_that_is_told(tmp_path: Path) -> None:
    script = Script().user("Fix the parser, mind old_flag in src/parse.py").assistant("on it").user("go")
    for number in range(60):
        script.step(f"{number}", f"line about token_{number}\n{lines(20)}", text=f"step {number}")
    hooked = [*script.said, {"role": "system", "content": words(4_000)}, {"role": "assistant", "content": "done"}]
    path = tmp_path / "hooked.json"
    path.write_text(json.dumps(hooked))
    shown = CliRunner().invoke(sash, ["bench", str(path), "--cap", "4000", "--json"])
    by_name = {one.strategy: one for one in msgspec.json.decode(shown.stdout, type=Bench).kept}
    assert by_name["clip only"].largest > 4_000
    told = " ".join(CliRunner().invoke(sash, ["bench", str(path), "--cap", "4000"]).output.split())
    assert "largest above the cap: what a tool adds behind a result" in told
    within = CliRunner().invoke(sash, ["bench", session(tmp_path), "--cap", "4000"]).output
    assert "above the cap" not in within


def test_a_model_may_write_summaries_and_is_told_apart_from_what_was_believed(tmp_path: Path) -> None:
    script = Script()
    for number in range(60):
        script.user(f"Please look at part_{number} of it. {words(40)}").assistant(f"part_{number} is fine. {words(40)}")
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(script.user("And?").assistant("So part_3 and part_5 are fine").said))
    shown = CliRunner().invoke(sash, ["bench", str(path), "--cap", "4000", "--summarizer", "echo", "--json"])
    assert shown.exit_code == 0, shown.output
    by_name = {one.strategy: one for one in msgspec.json.decode(shown.stdout, type=Bench).kept}
    echoed = by_name["summary by echo"]
    # What only says back what it was told is never believed: the digest stands, and it cost what it cost.
    assert (echoed.summaries, echoed.rejected > 0, echoed.spent > 1_000) == (0, True, True)
    assert echoed.named == by_name["digest, facts"].named
    told = CliRunner().invoke(sash, ["bench", str(path), "--cap", "4000", "--summarizer", "echo"])
    assert "0 summaries believed" in told.output
