"""`sash show`, `context`, `explain`, `pressure` and `replay` on session files, through the front door."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sash import count_tokens
from sash.cli.characters import columns_of
from sash.cli.context import ShownContext
from sash.cli.replay import Comparison
from sash.cli.show import ShownTurns
from sash.cli.spoken import OpenedTurn
from sash.core.explanation import Explanation
from sash.core.pressure import Pressure
from sash.transcripts import WRITERS
from sash.wire.repair import ORPHAN
from tests.cli.front_door import SASH, environment, here, here_on_terminal, on_terminal, piped, plain
from tests.cli.sessions import exchange, long_session, written
from tests.transcripts.samples import SAMPLES

SMALL = ("--history-tokens", "4k")
COMMANDS = ("show", "context", "explain", "pressure", "replay")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return long_session(tmp_path_factory.mktemp("sessions") / "session.jsonl")


def test_the_divider_stands_between_what_left_and_what_the_model_sees(session: Path, tmp_path: Path) -> None:
    ran = here("show", session, *SMALL, home=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran == piped("show", session, *SMALL, home=tmp_path)
    told = msgspec.json.decode(here("show", session, *SMALL, "--json", home=tmp_path).out, type=ShownTurns)
    assert told.boundary > 1
    divider = next(place for place, line in enumerate(ran.lines) if " context " in line)
    assert f"Request number {told.boundary - 1} " in ran.lines[divider - 1]
    assert f"Request number {told.boundary} " in ran.lines[divider + 1]
    assert "evicted" in ran.lines[divider - 1]
    assert "live" in ran.lines[divider + 1]
    assert "claude-sonnet-4-5 · 30 turns, 120 messages" in ran.words


def test_nothing_left_means_no_divider(session: Path, tmp_path: Path) -> None:
    ran = here("show", session, home=tmp_path)
    assert not [line for line in ran.lines if " context " in line]


def test_show_as_json_is_what_is_documented(session: Path, tmp_path: Path) -> None:
    told: dict[str, Any] = here("show", session, *SMALL, "--json", home=tmp_path).json()
    assert {"turns", "boundary", "tokens", "damage"} <= told.keys()
    assert [turn["number"] for turn in told["turns"]] == list(range(1, 31))
    for turn in told["turns"]:
        assert {"number", "title", "messages", "tokens", "state", "reason"} <= turn.keys()
        assert turn["messages"] == 4
        assert turn["tokens"].keys() == {"value", "exact"}
        assert turn["state"] == ("live" if turn["number"] >= told["boundary"] else "evicted")
    live = sum(turn["tokens"]["value"] for turn in told["turns"] if turn["state"] == "live")
    assert told["tokens"] == {"value": live, "exact": False}
    assert told["tokens"]["value"] <= told["high"] == 4_000
    assert told["damage"] == []
    assert told["turns"][0]["at"].startswith("2023-11-")


def test_one_turn_can_be_opened(session: Path, tmp_path: Path) -> None:
    for number in (1, 30):
        ran = here("show", session, *SMALL, "--turn", str(number), home=tmp_path)
        assert ran.code == 0
        assert f"turn {number}: Request number {number}" in ran.out
        assert f"what stands in line 49 of file {number}" in ran.out
        assert f"Answer {number}." in ran.out
        opened = msgspec.json.decode(
            here("show", session, *SMALL, "--turn", str(number), "--json", home=tmp_path).out, type=OpenedTurn
        )
        assert [message.role for message in opened.messages] == ["user", "assistant", "user", "assistant"]
        assert [said.kind for message in opened.messages for said in message.blocks] == [
            "text",
            "call",
            "result",
            "text",
        ]
    ran = here("show", session, "--turn", "99", home=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "there is no turn 99" in ran.err


def test_messages_can_be_shown_under_their_turns(session: Path, tmp_path: Path) -> None:
    ran = here("show", session, "-v", "--last", "1", home=tmp_path)
    assert ran.lines[-4:] == [
        "    ├─ User: Request number 30",
        "    ├─ Read src/30.py",
        "    ├─   -> 1,829 characters: 0 what stands in line 0 of file 30 1 what stands…",
        "    └─ Assistant: Answer 30.",
    ]
    assert "29 turns before" in ran.out


def test_what_the_tool_says_in_the_users_name_belongs_to_their_turn(tmp_path: Path) -> None:
    said = [
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>",
        "[Request interrupted by user]",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>",
    ]
    lines = [
        line for number, words in enumerate(said, 1) for line in exchange(number, words)[: 2 if number == 1 else 1]
    ]
    path = written(tmp_path / "s.jsonl", lines)
    told = here("show", path, "--json", home=tmp_path).json()
    assert [(turn["title"], turn["messages"]) for turn in told["turns"]] == [("/review 12", 3), ("! ls", 2)]
    shown = here("show", path, "-v", home=tmp_path).out
    for words in ("User: /review 12", "(aside) [Request interrupted by user]", "User: ! ls", "(aside) a.py"):
        assert words in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_it_fits_the_terminal(session: Path, tmp_path: Path, command: str) -> None:
    widths = (80, 40, 20)
    shown = [here_on_terminal(command, session, *SMALL, home=tmp_path, width=width) for width in widths]
    for width, ran in zip(widths, shown, strict=True):
        assert ran.code == 0
        assert "\x1b[" in ran.out
        assert max(columns_of(line) for line in plain(ran.out).splitlines()) <= width
    assert on_terminal(command, session, *SMALL, home=tmp_path, width=20) == shown[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bare_locale_gets_ascii(session: Path, tmp_path: Path, command: str) -> None:
    ran = here(command, session, *SMALL, home=tmp_path, env={"LC_ALL": "C"})
    assert ran.code == 0
    assert ran.out.isascii()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_leaves_early_causes_no_noise(session: Path, tmp_path: Path, command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [SASH, command, session], stdout=writer, stderr=subprocess.PIPE, env=environment(tmp_path), check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_none_is_told_in_one_line(tmp_path: Path, command: str) -> None:
    ran = here(command, "nowhere.jsonl", home=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "sash: there is no file 'nowhere.jsonl'\n"
    (tmp_path / "words.txt").write_text("just words\n")
    ran = here(command, "words.txt", home=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1


def test_a_file_of_another_tool_is_told_with_what_it_looks_like(session: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("nothing but words\n", "utf-8")
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_bytes(b"")
    for command in ("show", "context", "explain", "fit", "count", "convert"):
        more = ("--as", "pi") if command == "convert" else ()
        for named in ("pi", "codex", "gemini", "openai-chat"):
            ran = here(command, session, "--format", named, *more, home=tmp_path)
            assert (ran.code, ran.out) == (1, "")
            assert f"does not look like {named!r} but like 'claude-code'; leave `--format` out" in ran.err
    ran = here("show", words, "--format", "codex", home=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "does not look like 'codex', nor like any other" in ran.err
    (tmp_path / "none.json").write_text("[]", "utf-8")
    assert "0 turns" in here("show", "none.json", "--format", "openai-chat", home=tmp_path).out
    # A session may be about to begin.
    assert here("show", nothing, "--format", "codex", home=tmp_path).code == 0


def test_what_is_wrong_with_a_file_is_told(session: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing.jsonl").write_bytes(b"")
    (tmp_path / "torn.json").write_text('{"sessionId": "s", "startTime": "2026', "utf-8")
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "folder").mkdir()
    for name, why in (
        ("nothing.jsonl", "it is empty"),
        ("torn.json", "it is JSON that ends in the middle"),
        ("noise.bin", "where you know its format, name it with `--format`"),
        ("folder", "it is a folder; name a file in it"),
        ("./folder", "it is a folder; name a file in it"),
    ):
        ran = here("show", name, home=tmp_path)
        assert (ran.code, ran.out) == (1, "")
        assert why in ran.err
    assert "not UTF-8 at byte 128" in here("count", "noise.bin", home=tmp_path).words
    # A folder may be called like a thread.
    here("import", session, "--thread", "folder", home=tmp_path)
    assert here("show", "folder", home=tmp_path).code == 0


def test_of_a_session_in_which_nothing_was_said_no_request_is_made(tmp_path: Path) -> None:
    named = written(tmp_path / "named.jsonl", [{"type": "summary", "summary": "Nothing yet", "leafUuid": "u"}])
    assert "0 turns, 0 messages" in here("show", named, home=tmp_path).out
    for command in ("show", "count", "explain", "replay"):
        said = here(command, named, home=tmp_path)
        assert (said.code, said.err) == (0, "")
        assert "Nothing was said in it: there is no message." in said.lines
        assert "\n\n\n" not in said.out
        assert not said.out.endswith("\n\n")
        assert not any(title in said.out for title in ("share", "policy", "never slid"))
        assert here(command, named, "--json", home=tmp_path).json()
    ran = here("fit", named, home=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing was said in" in ran.err
    for format_as in WRITERS:
        ran = here("convert", named, "--as", format_as, "-o", "written", home=tmp_path)
        assert (ran.code, ran.out) == (1, "")
        assert "nothing was said in" in ran.err
        assert not (tmp_path / "written").exists()


def test_a_session_that_begins_with_a_long_paste_is_known(tmp_path: Path) -> None:
    path = written(tmp_path / "long.jsonl", exchange(1, "look at this: " + "a b c " * 20_000))
    assert "claude-code · claude-sonnet-4-5 · 1 turn" in here("show", path, home=tmp_path).out
    chat = tmp_path / "chat.jsonl"
    chat.write_text(
        json.dumps({"role": "user", "content": "word " * 20_000}) + '\n{"role": "assistant", "content": "ok"}\n'
    )
    assert "openai-chat · 1 turn, 2 messages" in here("show", chat, home=tmp_path).out


def test_a_pipe_can_be_named_as_a_file(session: Path, tmp_path: Path) -> None:
    shown = here("show", session, *SMALL, home=tmp_path).lines[1:]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=lambda: pipe.write_bytes(session.read_bytes()))
    writing.start()
    assert here("show", pipe, *SMALL, home=tmp_path).lines[1:] == shown
    writing.join()


def test_damage_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    lines = exchange(1, "First") + exchange(2, "Second")
    path = written(tmp_path / "torn.jsonl", lines, tail='{"type":"user","mess')
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\0\0\0\0\n", 1))
    ran = here("show", path, home=tmp_path)
    assert ran.code == 0
    assert "First" in ran.out
    assert "Second" in ran.out
    assert "2 places are damaged; what can be read of the file was:" in ran.out
    told = here("show", path, "--json", home=tmp_path).json()
    assert [hurt["line"] for hurt in told["damage"]] == [2, 6]
    assert told["damaged"] == 2


def test_what_a_transcript_says_cannot_command_the_terminal(tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe \x9b31m\r\nsecond"
    path = written(tmp_path / "n.jsonl", exchange(1, nasty, result=nasty, answer=nasty))
    for words in (["show"], ["show", "-v"], ["show", "--turn", "1"], ["explain", "--results"], ["context"]):
        ran = here_on_terminal(words[0], path, *words[1:], home=tmp_path)
        assert ran.code == 0
        shown = plain(ran.out)
        assert not set(shown) & set("\x1b\x07\x9b\u202e")
        assert "\r" not in shown


def test_a_session_may_come_through_a_pipe(session: Path, tmp_path: Path) -> None:
    by_file = here("show", session, "--json", home=tmp_path).json()
    by_pipe = piped("show", "-", "--json", home=tmp_path, stdin=session.read_bytes()).json()
    assert by_pipe["turns"] == by_file["turns"]
    assert by_pipe["name"] == "standard input"


def test_context_adds_up_and_names_the_remedy(session: Path, tmp_path: Path) -> None:
    ran = here("context", session, *SMALL, home=tmp_path)
    assert "history" in ran.out
    assert "set history_tokens, or compact" in ran.out
    assert "history slides above 4.0k, down to 2.0k" in ran.out
    assert "Read src/30.py" in ran.out
    assert "The provider reported 2.7k for the newest answer, 99 % from its cache" in ran.words
    told = msgspec.json.decode(here("context", session, *SMALL, "--json", home=tmp_path).out, type=ShownContext)
    rows = {row.source: row.used.value for row in told.context.ledger.rows if row.source != "reserve"}
    assert sum(rows.values()) + told.context.around == told.context.used.value
    parts = {name: count.value for name, count in told.by_kind.items() if count.value}
    assert set(parts) == {"results", "calls", "assistant", "user", "around messages", "digest"}
    assert sum(parts.values()) == told.context.used.value
    assert parts["digest"] == pytest.approx(rows["summary"], abs=8)
    assert {result.about for result in told.largest} <= {f"src/{number}.py" for number in range(20, 31)}
    assert told.context.model == "claude-sonnet-4-5"


def test_every_command_tells_the_tokens_that_fit_sends(tmp_path: Path) -> None:
    answered = [line for number in (1, 2) for line in exchange(number, f"Request {number}", result="x " * 400)]
    for place in (2, 5):
        # A call without its result is repaired with words that nobody said.
        torn = written(tmp_path / f"torn-{place}.jsonl", answered[:place] + answered[place + 1 :])
        for options in ((), ("--history-tokens", "500"), ("-m", "gpt-5")):
            sent = here("fit", torn, *options, "--json", home=tmp_path).json()["tokens"]
            told = msgspec.json.decode(here("context", torn, *options, "--json", home=tmp_path).out, type=ShownContext)
            pressure = here("pressure", torn, *options, "--json", home=tmp_path).json()
            assert msgspec.to_builtins(told.context.used) == pressure["used"] == sent
            assert told.context.ledger.used.value + told.context.around == told.context.used.value
            history = here("show", torn, *options, "--json", home=tmp_path).json()["tokens"]["value"]
            assert told.context.ledger.row("history").used.value == history - told.context.unsent
            shown = here("context", torn, *options, home=tmp_path)
            assert ("repairs, framing" in shown.out) == bool(told.context.around)


def test_what_repairs_leave_out_is_taken_off_history_and_told(tmp_path: Path) -> None:
    answered = [line for number in (1, 2) for line in exchange(number, f"Request {number}", result="x " * 400)]
    # A result without its call cannot be sent.
    torn = written(tmp_path / "torn.jsonl", [*answered[:1], *answered[2:]])
    told = msgspec.json.decode(here("context", torn, "--json", home=tmp_path).out, type=ShownContext).context
    history = here("show", torn, "--json", home=tmp_path).json()["tokens"]["value"]
    sent = here("fit", torn, "--json", home=tmp_path).json()
    assert told.unsent > 100
    # What stands in the place of the result was said by nobody.
    stub = {"role": "user", "content": ORPHAN}
    assert told.around == count_tokens([stub], model="claude-sonnet-4-5").value
    assert told.ledger.row("history").used.value == history - told.unsent == sent["after"]["value"]
    assert told.ledger.used.value + told.around == told.used.value == sent["tokens"]["value"]
    assert sent["before"]["value"] == history
    shown = here("context", torn, home=tmp_path)
    assert not [line for line in shown.lines if re.search(r" -\d", line)]
    assert f"~{told.unsent} that history counts is not sent: repairs leave it out" in shown.words
    assert f"~{told.unsent} of it is not sent" in here("show", torn, home=tmp_path).words


TORN = [
    {"role": "system", "content": "be brief " * 20},
    {"role": "user", "content": "look"},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "found " * 10},
    {"role": "tool", "tool_call_id": "gone", "content": "lost " * 400},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "read", "arguments": '{"path": "b.py"}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "again " * 10},
]
TOOLS = [{"type": "function", "function": {"name": "read", "description": "reads a file", "parameters": {}}}]


@pytest.mark.parametrize("options", [(), ("-m", "gpt-5"), ("--policy", "recent")])
def test_what_the_request_is_made_of_adds_up_and_holds_only_what_is_sent(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    session = tmp_path / "torn.json"
    session.write_text(json.dumps({"messages": TORN, "tools": TOOLS}))
    told = msgspec.json.decode(here("context", session, *options, "--json", home=tmp_path).out, type=ShownContext)
    parts = {name: count.value for name, count in told.by_kind.items()}
    assert sum(parts.values()) == told.context.used.value
    if "recent" in options:
        assert (list(parts), told.largest) == (["prompt"], ())
        return
    rows = {row.source: row.used.value for row in told.context.ledger.rows}
    assert parts["tools"] == rows["tools"] > 0
    assert parts["system"] == pytest.approx(rows["system"], abs=8)
    assert parts["repairs"] > 0
    # The second call has another id in the request, and its result the handle that it has in the log.
    assert {(result.handle, result.about) for result in told.largest} == {("3.0", "a.py"), ("6.0", "b.py")}
    assert "all that is sent" in here("context", session, *options, home=tmp_path).out


def test_what_every_request_costs_is_no_system_prompt(tmp_path: Path) -> None:
    session = tmp_path / "plain.json"
    session.write_text('[{"role": "user", "content": "hello"}]')
    ran = here("context", session, "-m", "gpt-5", home=tmp_path)
    assert "system" not in ran.out
    assert next(line.split()[:2] for line in ran.lines if "framing" in line) == ["framing", "3"]
    assert "repairs" not in ran.out


def test_words_that_stand_for_a_result_are_not_what_was_said(tmp_path: Path) -> None:
    orphan = tmp_path / "orphan.json"
    orphan.write_text('[{"role": "tool", "tool_call_id": "x", "content": "a result that nobody asked for"}]')
    sent = here("fit", orphan, "--json", home=tmp_path).json()
    assert sent["after"]["value"] == 0
    assert sent["ratio"] == 1
    size = sent["before"]["value"]
    assert f"~{size} of it is not sent" in here("show", orphan, home=tmp_path).words


def test_under_recent_every_command_tells_the_flat_prompt(tmp_path: Path) -> None:
    session = long_session(tmp_path / "session.jsonl", turns=14)
    recent = (session, "--policy", "recent")
    prompt = here("fit", *recent, home=tmp_path).json()["prompt"]
    assert "[Recent Turns]" in prompt
    sent = here("fit", *recent, "--json", home=tmp_path).json()
    told = msgspec.json.decode(here("context", *recent, "--json", home=tmp_path).out, type=ShownContext).context
    assert msgspec.to_builtins(told.used) == sent["tokens"]
    assert told.used == count_tokens(prompt, model="claude-sonnet-4-5")
    assert (told.ledger.used, told.around) == (told.used, 0)
    assert here("pressure", *recent, "--json", home=tmp_path).json()["used"] == sent["tokens"]
    assert sent["after"]["value"] <= sent["before"]["value"]
    assert "a flat prompt has no place for it" in here("context", *recent, home=tmp_path).words
    chat = here("fit", *recent, "--wire", "openai-chat", home=tmp_path).json()
    assert len(chat["messages"]) > 20


def test_turns_and_messages_are_counted_alike_by_every_command(tmp_path: Path) -> None:
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Hello, what shall we do?"},
        {"role": "user", "content": "What is in a.py?"},
        {"role": "assistant", "content": "It prints 1. " * 200},
        {"role": "user", "content": "And in b.py?"},
    ]
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps(said), "utf-8")
    assert "2 turns, 4 messages" in here("show", chat, home=tmp_path).out
    assert "2 turns, 4 messages and a system prompt" in here("count", chat, home=tmp_path).words
    counted = here("count", chat, "--json", home=tmp_path).json()
    assert (counted["turns"], counted["messages"]) == (2, 4)
    assert "all 2 turns;" in here("fit", chat, home=tmp_path).err
    assert here("import", chat, "--thread", "chat", "--json", home=tmp_path).json()["turns"] == 2
    assert "2 turns, 4 messages" in here("show", "chat", home=tmp_path).out
    assert "2 turns, 4 messages" in here("count", "chat", home=tmp_path).out
    assert "4 messages, 2 requests" in here("replay", chat, home=tmp_path).out
    short = here("fit", chat, "-m", "gpt-5", "--history-tokens", "100", home=tmp_path).err
    assert "1 of 2 turns left out" in short


@pytest.mark.parametrize("name", SAMPLES)
def test_the_messages_of_the_turns_are_the_messages_that_are_counted(tmp_path: Path, name: str) -> None:
    session = tmp_path / "session"
    session.write_text("\n".join(map(json.dumps, SAMPLES[name])), "utf-8")
    counted = here("count", session, "--json", home=tmp_path).json()["messages"]
    for words in (["show"], ["show", "--history-tokens", "5"], ["explain"]):
        turns = here(*words, session, "--json", home=tmp_path).json()["turns"]
        assert sum(turn["messages"] for turn in turns) == counted


def test_fit_compares_what_was_said_with_what_is_sent_of_it(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    said = [{"role": "system", "content": "Be brief. " * 400}, {"role": "user", "content": "Hello"}]
    chat.write_text(json.dumps(said), "utf-8")
    told = here("fit", chat, "-m", "gpt-5", "--json", home=tmp_path).json()
    assert told["before"] == told["after"]
    assert told["tokens"]["value"] > 10 * told["after"]["value"]
    before, request = told["before"]["value"], f"{told['tokens']['value'] / 1000:.1f}k"
    ran = here("fit", chat, "-m", "gpt-5", home=tmp_path)
    assert ran.err == f"{before} said, {before} of it sent: its one turn; the request takes {request}\n"


def test_every_turn_is_explained_with_the_way_back(session: Path, tmp_path: Path) -> None:
    ran = here("explain", session, *SMALL, home=tmp_path)
    assert "evicted: it left at frame" in ran.out
    assert "raise `history_tokens`" in ran.out
    assert "the current turn always stays" in ran.out
    told = msgspec.json.decode(here("explain", session, *SMALL, "--json", home=tmp_path).out, type=Explanation)
    assert len(told.turns) == 30
    assert len(told.results) == 30
    assert {result.state for result in told.results} >= {"evicted", "whole"}
    one = here("explain", session, *SMALL, "--turn", "1", home=tmp_path)
    assert "Request number 1 " in one.out
    assert "2.0" in one.out
    assert here("explain", session, "--turn", "99", home=tmp_path).code == 1
    assert "It never slid" in here("explain", session, home=tmp_path).out


def test_pressure_speaks_to_people_issues_and_programs(session: Path, tmp_path: Path) -> None:
    tight = ("--window", "6k", "--set", "reserve_tokens=0", "--history-tokens", "5k")
    told = msgspec.json.decode(here("pressure", session, *tight, "--json", home=tmp_path).out, type=Pressure)
    ran = here("pressure", session, *tight, home=tmp_path)
    assert f"{told.percent} %" in ran.out
    footer = here("pressure", session, *tight, "--markdown", "--set", "show_above=0", home=tmp_path)
    assert footer.out.startswith("<sub>📊 Context: ")
    assert footer.out.rstrip().endswith("</sub>")
    assert (
        footer.out
        == here("pressure", session, *tight, "--markdown", "--show-above", "0", home=tmp_path, env={"LC_ALL": "C"}).out
    )
    assert here("pressure", session, "--markdown", home=tmp_path).out == ""
    noticed = ("pressure", session, *tight, "--set", "notice_above=0.1", "--set", "warn_above=1")
    for form in ((), ("--markdown",)):
        assert "Older conversation turns leave the window" in here(*noticed, *form, home=tmp_path).words
        asked = here(*noticed, *form, "--set", "summarizer=openai:gpt-5", home=tmp_path)
        assert "Older conversation turns are being summarized" in asked.words
    whole = here("pressure", session, *tight, "--whole", home=tmp_path)
    assert "over the window" in whole.out
    assert "Context is more than full" in whole.words
    # What left may not help: nobody promises that it will.
    assert "a request is refused where that is not enough" in whole.words


def test_policies_are_replayed_side_by_side(session: Path, tmp_path: Path) -> None:
    words = ("replay", session, "--history-tokens", "8k", "-p", "sliding", "-p", "best", "-p", "best,keep_share=0.2")
    told = msgspec.json.decode(here(*words, "--json", home=tmp_path).out, type=Comparison)
    sliding, best, lower = told.policies
    assert [one.policy for one in told.policies] == ["sliding", "best", "best,keep_share=0.2"]
    assert {one.requests for one in told.policies} == {60}
    assert (sliding.relative, told.messages) == (1.0, 120)
    assert best.relative is not None
    assert best.relative < 1
    assert lower.slides < best.slides < sliding.slides
    assert best.cached > sliding.cached
    assert len(best.live) == 60
    assert max(best.live) == best.peak
    assert best.evicted == tuple(range(1, len(best.evicted) + 1))
    ran = here(*words, home=tmp_path)
    assert ran.out.count("▲") == sum(slid.request <= one.requests for one in told.policies for slid in one.slid)
    assert f"best, up to {best.peak / 1000:.1f}k" in ran.out
    assert "█" in ran.out


def test_a_replay_tells_why_a_policy_sends_more_than_its_cap(session: Path, tmp_path: Path) -> None:
    ran = here("replay", session, "--history-tokens", "3k", "-p", "sliding", "-p", "best", home=tmp_path)
    assert "sliding stands above its cap of 3.0k: it counts by chars4, and this table by " in ran.words
    assert "; it looks only when a turn closes" in ran.words
    assert "best stands above its cap of 3.0k: the cap is for history, and words for what left come" in ran.words
    assert "above its cap" not in here("replay", session, "-p", "sliding", home=tmp_path).words


def test_a_replay_marks_the_policy_in_force(session: Path, tmp_path: Path) -> None:
    def marked(*words: str | Path, **env: str) -> tuple[str | None, list[str]]:
        told = msgspec.json.decode(here("replay", *words, "--json", home=tmp_path, env=env).out, type=Comparison)
        shown = here("replay", *words, home=tmp_path, env=env)
        rows = [line.split()[1] for line in shown.lines if line.startswith("*  ")]
        assert rows == ([] if told.in_force is None else [told.in_force.split()[0]])
        assert ("none of these policies is the one in force" in shown.words) == (told.in_force is None)
        return told.in_force, [one.policy for one in told.policies]

    usual = ["sliding", "best", "priority"]
    assert marked(session) == ("best", usual)
    assert marked(session, "--history-tokens", "9k") == ("best", usual)
    assert marked(session, SASH_POLICY="priority") == ("priority", usual)
    assert marked(session, "-p", "sliding", "-p", "priority") == (None, ["sliding", "priority"])
    # A thread has a policy of its own.
    here("import", session, "--thread", "own", "--set", "keep_share=0.3", home=tmp_path)
    assert marked("own") == ("in force", [*usual, "in force"])
    assert marked("own", "-p", "best,keep_share=0.3") == ("best,keep_share=0.3", ["best,keep_share=0.3"])


def test_a_replay_counts_what_is_shortened_as_it_comes_in(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "session.jsonl"
    limits = ("--history-tokens", "4k", "-p", "priority")
    (replayed,) = json.loads(here("replay", example, *limits, "--json", home=tmp_path).out)["policies"]
    assert (replayed["slides"], replayed["shortened"]) == (0, 1)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_replay_can_be_drawn(session: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"picture.{ending}"
    ran = here("replay", session, *SMALL, "--plot", path, home=tmp_path)
    assert ran.code == 0
    assert path.read_bytes().startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert str(path) in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-p", "fast"], "policy is 'fast'; it takes one of best"),
        (["-p", "best,keep_share"], "keep_share has no value"),
        (["-p", "best,keep_share=7"], "keep_share is '7'; it takes a share"),
        (["--plot", "x.gif"], "ends in none of .png, .svg"),
    ],
)
def test_what_cannot_be_replayed_is_refused(session: Path, tmp_path: Path, words: list[str], said: str) -> None:
    ran = here("replay", session, *words, home=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--set", "history_tokens=many"),
        ("--history-tokens", "many"),
        ("--set", "keep_share=7"),
        ("-p", "best,window=x"),
    ],
)
def test_a_wrong_value_is_told_with_the_option_that_gave_it(
    session: Path, tmp_path: Path, option: str, value: str
) -> None:
    ran = here("replay", session, option, value, home=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"sash: {'--policy' if option == '-p' else option}: ")


def test_a_broken_settings_file_stops_a_command(session: Path, tmp_path: Path) -> None:
    (tmp_path / "sash.toml").write_text("window = 'large'\n")
    for command in COMMANDS:
        ran = here(command, session, home=tmp_path)
        assert (ran.code, ran.out) == (2, "")
        assert "sash.toml:1: window is 'large'" in ran.err


def test_json_stays_json_in_a_bare_locale(tmp_path: Path) -> None:
    path = written(tmp_path / "n.jsonl", exchange(1, "größer 中文"))
    ran = here("show", path, "--json", home=tmp_path, env={"LC_ALL": "C"})
    assert json.loads(ran.out)["turns"][0]["title"] == "größer 中文"
    assert r"gr\xf6\xdfer \u4e2d" in here("show", path, home=tmp_path, env={"LC_ALL": "C"}).out
