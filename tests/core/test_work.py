"""What calls work on, and which results later work makes stale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Image, Message, Text, ToolCall, ToolResult
from sash.core.priority import superseded
from sash.core.size import Size
from sash.core.work import Answered, Work, answered, failing_among, outcomes, works_of
from sash.wire import read
from tests.builders import Call, assistant, result, user
from tests.real import DATA, needs_data

LONG = "line of a file\n" * 100


class Log:
    """A log being written: turns of calls with their results."""

    def __init__(self) -> None:
        self.turns: list[LiveTurn] = []
        self.length = 0

    def say(self, text: str = "go on") -> Log:
        """The user starts a turn."""
        self.turns.append(LiveTurn(len(self.turns) + 1, text, [], []))
        return self._add(Message(role="user", blocks=(Text(text),)))

    def call(self, name: str, result: str = LONG, *, error: bool = False, **arguments: Any) -> Log:
        """The model calls a tool and gets its result: a step of two messages."""
        call = ToolCall(f"c{self.length}", name, json.dumps(arguments))
        self._add(Message(role="assistant", blocks=(call,)))
        return self._add(Message(role="tool", blocks=(ToolResult(call.id, (Text(result),), error),)))

    def _add(self, message: Message) -> Log:
        self.turns[-1].add(LiveMessage(self.length, message, Size(1)), 1)
        self.length += 1
        return self

    def stale(self) -> list[int]:
        """Positions of the results that are stale; each result here is the only block of its message."""
        return sorted(position for position, _ in superseded(self.turns))

    def failing(self) -> list[int]:
        return sorted(outcome.place[0] for outcome in failing_among(outcomes(self.turns)))


def work(name: str, **arguments: Any) -> tuple[Work, ...]:
    return works_of(ToolCall("c", name, json.dumps(arguments)))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Read", {"file_path": "a.py"}),
        ("read", {"path": "a.py"}),
        ("read", {"filePath": "a.py"}),
        ("read_file", {"target_file": "a.py", "explanation": "to see it"}),
        ("read_file", {"absolute_path": "a.py", "offset": None}),
        ("mcp__filesystem__read_text_file", {"path": "a.py"}),
        ("developer.view", {"path": "a.py"}),
        ("cat", {"filename": "a.py"}),
        ("NotebookRead", {"notebook_path": "a.py"}),
        ("str_replace_editor", {"command": "view", "path": "a.py", "security_risk": "LOW"}),
    ],
)
def test_the_tools_that_read_a_file_are_known_by_the_names_agents_give_them(
    name: str, arguments: dict[str, Any]
) -> None:
    assert work(name, **arguments) == (Work("read", "a.py"),)


@pytest.mark.parametrize(
    ("name", "arguments", "deed"),
    [
        ("Write", {"file_path": "a.py", "content": "x"}, "write"),
        ("write_to_file", {"path": "a.py", "content": "x"}, "write"),
        ("create", {"filename": "a.py"}, "write"),
        ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"}, "write"),
        ("developer__text_editor", {"command": "write", "path": "a.py", "file_text": "x"}, "write"),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "edit"),
        ("edit", {"path": "a.py", "oldText": "x", "newText": "y"}, "edit"),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "a.py", "insert_line": 1}, "edit"),
        ("replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "edit"),
    ],
)
def test_a_tool_that_changes_a_file_says_whether_all_of_it(name: str, arguments: dict[str, Any], deed: str) -> None:
    assert [(done.deed, done.target, done.rest) for done in work(name, **arguments)] == [(deed, "a.py", "")]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Bash", {"command": "make", "description": "build", "timeout": 120}),
        ("exec_command", {"cmd": "make", "yield_time_ms": 1000}),
        ("terminal", {"command": "make", "security_risk": "LOW"}),
    ],
)
def test_a_command_is_the_same_whatever_is_said_about_it(name: str, arguments: dict[str, Any]) -> None:
    assert work(name, **arguments) == (Work("run", "make"),)


def test_a_command_given_as_words_is_known_by_all_of_them() -> None:
    assert work("shell", command=["bash", "-lc", "make"]) == (Work("run", '["bash","-lc","make"]'),)


def test_a_command_run_elsewhere_is_another() -> None:
    assert work("shell", command="make", workdir="/a") != work("shell", command="make", workdir="/b")


def test_a_patch_names_its_files_itself() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    named = (Work("edit", "a.py"), Work("write", "b.py"))
    assert works_of(ToolCall("c", "apply_patch", patch, custom=True)) == named
    assert work("apply_patch", input=patch) == named
    assert work("shell", command=["apply_patch", patch], timeout=5) == named
    assert work("exec_command", cmd=f"apply_patch <<'EOF'\n{patch}\nEOF") == named


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_weather", '{"path": "a.py"}'),
        ("read", "{not json"),
        ("read", '["a.py"]'),
        ("read", "{}"),
        ("read", '{"path": ""}'),
        ("read", '{"path": "a.py", "file": "b.py"}'),
        ("read", "[" * 5000),
        ("read", '{"path": "\ud800"}'),
        ("terminal", '{"command": ""}'),
        ("terminal", '{"command": "y", "is_input": true}'),
        ("edit_file", '{"path": "a.py", "edits": [], "dryRun": true}'),
        ("apply_patch", '{"input": 5}'),
    ],
)
def test_what_is_not_certain_is_no_work(name: str, arguments: str) -> None:
    assert works_of(ToolCall("c", name, arguments)) == ()


def test_a_file_read_again_makes_the_first_reading_stale() -> None:
    log = Log().say().call("read", path="a.py").call("read", path="b.py").call("read", path="a.py")
    assert log.stale() == [2]


def test_only_the_same_lines_read_again_make_a_reading_stale() -> None:
    log = Log().say().call("read", path="a.py", offset=1, limit=50).call("read", path="a.py", offset=51, limit=50)
    assert log.stale() == []
    # All of a file is not all of it either: tools stop after so many lines.
    assert log.call("read", path="a.py").stale() == []
    assert log.call("read", path="a.py", offset=51, limit=50).stale() == [4]


def test_another_spelling_of_a_path_is_taken_for_another_file() -> None:
    assert Log().say().call("read", path="./a.py").call("read", path="a.py").stale() == []


def test_a_file_written_anew_makes_every_reading_of_it_stale() -> None:
    log = Log().say().call("read", path="a.py").call("read", path="a.py", offset=9).call("read", path="b.py")
    assert log.call("write", path="a.py", content="x", result="ok").stale() == [2, 4]


def test_an_edit_makes_a_reading_stale_once_its_turn_is_over() -> None:
    log = Log().say().call("read", path="a.py").call("edit", path="a.py", result="ok")
    assert log.stale() == []
    assert log.say("and now the tests").stale() == [2]


def test_what_an_edit_showed_is_stale_once_all_of_the_file_was_seen_or_written() -> None:
    assert Log().say().call("edit", path="a.py").call("read", path="a.py").stale() == [2]
    assert Log().say().call("edit", path="a.py").call("write", path="a.py", result="ok").stale() == [2]
    assert Log().say().call("edit", path="a.py").call("edit", path="a.py").say().stale() == []


def test_a_patch_result_is_stale_only_when_all_its_files_are() -> None:
    patch = "*** Update File: a.py\n*** Update File: b.py\n"
    log = Log().say().call("apply_patch", input=patch).call("write", path="a.py", result="ok")
    assert log.stale() == []
    assert log.call("write", path="b.py", result="ok").stale() == [2]


def test_a_command_run_again_makes_its_first_output_stale() -> None:
    log = Log().say().call("bash", command="make").call("bash", command="make -j").call("bash", command="make")
    assert log.stale() == [2]


def test_a_command_that_now_says_little_still_replaces_what_it_said() -> None:
    assert Log().say().call("bash", command="make").call("bash", result="ok", command="make").stale() == [2]


def test_a_command_means_something_else_after_a_change_of_directory() -> None:
    log = Log().say().call("bash", command="ls").call("bash", command="cd src").call("bash", command="ls")
    assert log.stale() == []
    assert log.call("bash", command="ls").stale() == [6]


def test_work_that_failed_makes_nothing_stale() -> None:
    assert Log().say().call("read", path="a.py").call("read", "no such file", error=True, path="a.py").stale() == []
    assert Log().say().call("read", path="a.py").call("write", "denied", error=True, path="a.py").stale() == []
    assert Log().say().call("bash", command="make").call("bash", error=True, command="make").stale() == []


def test_a_command_that_fails_again_makes_its_first_failure_stale() -> None:
    log = Log().say().call("bash", error=True, command="make").call("bash", error=True, command="make")
    assert log.stale() == [2]
    assert log.call("bash", command="make").stale() == [2, 4]


def test_a_reading_stays_when_the_second_one_only_points_back_to_it() -> None:
    log = Log().say().call("read", path="a.py").call("read", "File unchanged since last read.", path="a.py")
    assert log.stale() == []


def test_a_small_file_read_twice_is_stale_the_first_time() -> None:
    assert Log().say().call("read", "x = 1", path="a.py").call("read", "x = 2", path="a.py").stale() == [2]


def test_a_picture_looked_at_again_makes_the_first_look_stale() -> None:
    log = Log().say()
    for call in ("a", "b"):
        log._add(Message(role="assistant", blocks=(ToolCall(call, "view", '{"path": "a.png"}'),)))
        log._add(Message(role="tool", blocks=(ToolResult(call, (Image(data="x"),)),)))
    assert log.stale() == [2]


def test_an_unanswered_call_and_a_result_without_its_call_say_nothing() -> None:
    log = Log().say().call("read", path="a.py")
    log._add(Message(role="tool", blocks=(ToolResult("gone", (Text(LONG),)),)))
    log._add(Message(role="assistant", blocks=(ToolCall("open", "read", '{"path": "a.py"}'),)))
    assert log.stale() == []


def test_digested_steps_are_work_but_no_longer_results_in_the_window() -> None:
    log = Log().say().call("read", path="a.py").call("read", path="a.py").call("read", path="a.py")
    log.turns[0].digested = 1
    assert log.stale() == [4]


def test_nothing_is_stale_in_an_empty_window() -> None:
    assert superseded([]) == frozenset()


@pytest.mark.parametrize(
    "words", ["Error: no such user", "Exit code 2\nmake: ***", f"{LONG}Command exited with code 1", "fatal: not a repo"]
)
def test_a_failure_is_known_by_its_words_where_no_flag_says_so(words: str) -> None:
    assert Log().say().call("bash", words, command="make").failing() == [2]


def test_a_result_without_words_did_not_fail() -> None:
    log = Log().say()
    log._add(Message(role="assistant", blocks=(ToolCall("a", "bash", '{"command": "make"}'),)))
    log._add(Message(role="tool", blocks=(ToolResult("a"),)))
    assert log.failing() == []


def test_a_failure_is_resolved_when_the_same_work_goes_well() -> None:
    log = Log().say().call("bash", error=True, command="make").call("edit", error=True, path="a.py")
    assert log.failing() == [2, 4]
    assert log.call("bash", command="make").failing() == [4]
    assert log.call("write", path="a.py").failing() == []


def test_of_work_that_keeps_failing_the_last_failure_counts() -> None:
    log = Log().say().call("get_user", error=True, id=7).call("get_user", error=True, id=7)
    assert log.failing() == [4]


def test_looking_for_what_is_not_there_is_no_failure() -> None:
    log = Log().say().call("read", error=True, path="a.py").call("bash", "Exit code 1", command="cd x && grep -n y z")
    assert log.failing() == []


def spoken(transcript: Path) -> list[Message]:
    """What was said in a Claude Code transcript, as far as its lines can be read."""
    messages: list[Message] = []
    for line in transcript.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("type") in ("user", "assistant") and entry.get("message", {}).get("content"):
            said = {key: entry["message"][key] for key in ("role", "content")}
            messages += read([said], "anthropic").messages
    return messages


@needs_data
def test_in_real_sessions_a_stale_result_has_a_later_call_on_the_very_same_thing() -> None:
    found = 0
    for transcript in sorted((DATA / "claude-code").glob("*.jsonl")):
        messages = spoken(transcript)
        turn = LiveTurn(1, "", [], [])
        for position, message in enumerate(messages):
            turn.add(LiveMessage(position, message, Size(1)), 1)
        # As if all of it were over: then edits count too.
        stale = superseded([turn, LiveTurn(2, "", [], [])])
        calls = {
            block.id: (position, json.loads(block.arguments))
            for position, message in enumerate(messages)
            for block in message.blocks
            if isinstance(block, ToolCall)
        }
        for position, place in stale:
            result = messages[position].blocks[place]
            assert isinstance(result, ToolResult)
            asked = calls[result.call_id][1]
            later = [arguments for at, arguments in calls.values() if at > calls[result.call_id][0]]
            assert any(
                asked[key] == arguments.get(key)
                for key in ("file_path", "command")
                if key in asked
                for arguments in later
            )
        found += len(stale)
    assert found > 50


def test_a_turn_that_grew_is_looked_at_from_where_it_was_left() -> None:
    turn, known = LiveTurn(1), dict[int, Answered]()
    for position, message in enumerate(
        [user("go"), assistant("", Call("a")), result("a", "x"), assistant("", Call("b"))]
    ):
        turn.add(LiveMessage(position, message, Size(1)), 1)
    first = answered(turn, known)
    assert list(first) == [(2, 0)]
    assert answered(turn, known) is first
    twin = known.copy()
    turn.add(LiveMessage(4, result("b", "y"), Size(1)), 1)
    assert list(answered(turn, known)) == [(2, 0), (4, 0)]
    # Who went on from before it grew knows what was known then.
    assert list(twin[1].answers) == list(first) == [(2, 0)]


def test_work_that_left_before_anything_in_the_window_makes_nothing_stale() -> None:
    turn = LiveTurn(1)
    said = [user("go"), *(each for name in "abc" for each in (assistant("", Call(name)), result(name, "x" * 900)))]
    for position, message in enumerate(said):
        turn.add(LiveMessage(position, message, Size(1)), 1)
    turn.digested = 2
    assert [outcome.in_window for outcome in outcomes([turn])] == [False, False, True]
    assert [outcome.place for outcome in outcomes([turn], before_window=False)] == [(6, 0)]
    turn.digested = 3
    assert outcomes([turn], before_window=False) == []
