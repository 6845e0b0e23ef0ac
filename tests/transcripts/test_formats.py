"""What each format can do beyond one message after another: trees, compactions, taking back, parts, packing."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest
import zstandard

from sash.core.message import identity
from sash.core.turn import group
from sash.errors import NotFound
from sash.fitting import fit
from sash.transcripts import Entry, Transcript, open_transcript
from sash.wire import model_of, read
from tests.transcripts.samples import SAMPLES, claude, codex, pi


def opened(records: list[Any], **how: str) -> Transcript:
    return open_transcript(io.BytesIO("\n".join(map(json.dumps, records)).encode()), **how)


def words(transcript: Transcript, *, as_sent: bool = False) -> list[str]:
    return [entry.message.text for entry in transcript.messages(as_sent=as_sent)]


def said(role: str, text: str) -> dict[str, Any]:
    return {"message": {"role": role, "content": [{"type": "text", "text": text}]}}


HEADER = SAMPLES["pi"][0]
TREE = [
    HEADER,
    pi("message", "1", None, **said("user", "one")),
    pi("message", "2", "1", **said("assistant", "two")),
    pi("message", "3", "2", **said("user", "left")),
    pi("message", "4", "2", **said("user", "taken")),
    pi("message", "5", "4", **said("assistant", "last")),
]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("as_sent", [False, True])
def test_the_body_of_a_session_says_what_the_session_says(name: str, as_sent: bool) -> None:
    transcript = opened(SAMPLES[name])
    said = transcript.conversation(as_sent=as_sent)
    body = transcript.body(as_sent=as_sent)
    again = read(body, transcript.wire)
    assert [identity(message) for message in again.messages] == [identity(message) for message in said.messages]
    assert [tool.name for tool in again.tools] == [tool.name for tool in said.tools]
    assert model_of(again.fields) == transcript.model
    fitted = fit(body, wire=transcript.wire)
    turns = {turn.number for turn in group(said.messages) if turn.number >= 0}
    assert {turn.number for turn in fitted.explain().turns} == turns


def test_of_a_tree_the_branch_of_the_newest_entry_is_read_and_the_others_are_named() -> None:
    tree = opened(TREE)
    assert words(tree) == ["one", "two", "taken", "last"]
    assert [(part.name, part.current) for part in tree.parts] == [("3", False), ("5", True)]
    assert words(opened(TREE, part="3")) == ["one", "two", "left"]
    with pytest.raises(NotFound, match="no part 'nowhere'; the file has 3"):
        words(opened(TREE, part="nowhere"))


def test_a_tree_whose_entries_are_their_own_ancestors_ends() -> None:
    circle = [HEADER, pi("message", "1", "1", **said("user", "one")), pi("message", "2", "9", **said("user", "two"))]
    assert words(opened(circle)) == ["two"]


def test_the_log_keeps_what_a_compaction_summed_up_and_as_sent_shows_what_the_model_saw() -> None:
    compacted = [
        *TREE,
        pi("compaction", "6", "5", summary="in short", firstKeptEntryId="4", tokensBefore=9),
        pi("message", "7", "6", **said("user", "on")),
    ]
    assert words(opened(compacted)) == ["one", "two", "taken", "last", "in short", "on"]
    summary, *rest = words(opened(compacted), as_sent=True)
    assert "<summary>\nin short\n</summary>" in summary
    assert rest == ["taken", "last", "on"]


def test_of_two_compactions_the_newer_decides_also_where_it_keeps_what_the_older_had_left_out() -> None:
    twice = [
        *TREE,
        pi("compaction", "6", "5", summary="first", firstKeptEntryId="5"),
        pi("compaction", "7", "6", summary="second", firstKeptEntryId="2"),
        pi("message", "8", "7", **said("user", "on")),
    ]
    summary, *rest = words(opened(twice), as_sent=True)
    assert "second" in summary
    assert rest == ["two", "taken", "last", "on"]


def test_the_first_version_of_pi_has_no_ids() -> None:
    old = [{"type": "session", "id": "s", "modelId": "m"}, {"type": "message", **said("user", "one")}]
    old += [
        {"type": "message", **said("assistant", "two")},
        {"type": "compaction", "summary": "x", "firstKeptEntryIndex": 2},
    ]
    assert words(opened(old, format="pi"))[:2] == ["one", "two"]
    assert words(opened(old, format="pi"), as_sent=True)[1:] == ["two"]


def test_thinking_that_nobody_signed_is_read_as_words() -> None:
    block = {"type": "thinking", "thinking": "hm"}
    entry = pi("message", "1", None, message={"role": "assistant", "api": "openai-responses", "content": [block]})
    assert words(opened([HEADER, entry])) == ["hm"]


def test_lines_of_one_answer_are_one_message_also_with_results_in_between() -> None:
    def line(uuid: str, *blocks: dict[str, Any], tokens: int) -> dict[str, Any]:
        usage = {"input_tokens": tokens, "output_tokens": 1}
        return claude(
            "assistant", uuid, None, message={"role": "assistant", "id": "m", "content": blocks, "usage": usage}
        )

    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": "read", "input": {}}

    def result(name: str) -> dict[str, Any]:
        content = [{"type": "tool_result", "tool_use_id": name, "content": "x"}]
        return claude("user", f"r{name}", None, message={"role": "user", "content": content})

    session = [line("a", call("1"), tokens=9), result("1"), line("b", call("2"), tokens=9), result("2")]
    answer, *results = opened(session).messages()
    assert answer.message.opened() == ["1", "2"]
    assert [entry.message.closed() for entry in results] == [["1"], ["2"]]
    assert answer.usage is not None
    assert [entry.usage for entry in results] == [None, None]


def test_a_prompt_that_was_taken_back_is_a_part_of_its_own() -> None:
    session = [
        claude("user", "u1", None, message={"role": "user", "content": "one"}),
        claude("assistant", "a1", "u1", message={"role": "assistant", "content": [{"type": "text", "text": "two"}]}),
        claude("user", "u2", "a1", message={"role": "user", "content": "left"}),
        claude("assistant", "a2", "u2", message={"role": "assistant", "content": [{"type": "text", "text": "gone"}]}),
        claude("user", "u3", "a1", message={"role": "user", "content": "instead"}),
    ]
    transcript = opened(session)
    assert words(transcript) == ["one", "two", "instead"]
    assert [part.name for part in transcript.parts] == ["u3", "u2"]
    assert words(opened(session, part="u2")) == ["one", "two", "left", "gone"]


def test_what_a_sub_agent_said_is_a_part_and_a_file_of_its_own_is_read() -> None:
    main = claude("user", "u1", None, message={"role": "user", "content": "main"})
    side = claude("user", "u2", None, isSidechain=True, agentId="x", message={"role": "user", "content": "side"})
    assert words(opened([main, side])) == ["main"]
    assert words(opened([main, side], part="x")) == ["side"]
    with pytest.raises(NotFound, match="no part 'y'"):
        words(opened([main, side], part="y"))
    assert words(opened([side])) == ["side"]


def test_what_the_program_put_in_starts_no_turn() -> None:
    messages = [entry.message for entry in opened(SAMPLES["claude-code"]).messages()]
    assert [turn.title for turn in group(messages)] == ["hello", "more"]


def test_codex_rolls_back_whole_turns_and_says_everything_twice() -> None:
    def user(text: str) -> list[dict[str, Any]]:
        content = [{"type": "input_text", "text": text}]
        item = codex("response_item", type="message", role="user", content=content)
        return [codex("event_msg", type="user_message", message=text), item]

    session = [
        SAMPLES["codex"][0],
        *user("one"),
        *user("left"),
        codex("event_msg", type="thread_rolled_back", num_turns=1),
    ]
    session += user("instead")
    transcript = opened(session)
    assert words(transcript) == ["one", "instead"]
    assert transcript.system is not None
    assert transcript.system.text == "be brief"
    events = [SAMPLES["codex"][0], *(line for line in session if line["type"] == "event_msg")]
    assert words(opened(events))[:2] == ["one", "left"]


def test_words_that_codex_says_in_the_users_name_are_nobodys_turn() -> None:
    content = [{"type": "input_text", "text": "<environment_context>\n<cwd>/tmp</cwd>"}]
    (entry,) = opened([codex("response_item", type="message", role="user", content=content)]).messages()
    assert (entry.kind, entry.message.role) == ("injected", "developer")


def test_usage_that_is_told_again_is_one_report() -> None:
    report = SAMPLES["codex"][6]
    session = [SAMPLES["codex"][0], report, report]
    assert [entry.usage.context for entry in opened(session).messages() if entry.usage] == [9]


def test_gemini_replaces_and_takes_back() -> None:
    def line(name: str, text: str) -> dict[str, Any]:
        return {"id": name, "type": "user", "timestamp": "2026-05-12T01:02:27Z", "content": [{"text": text}]}

    heading = {"sessionId": "s", "projectHash": "h", "kind": "main"}
    session = [heading, line("1", "one"), line("2", "two"), line("1", "One"), line("3", "three")]
    assert words(opened(session)) == ["One", "two", "three"]
    assert words(opened([*session, {"$rewindTo": "2"}, line("4", "four")])) == ["One", "four"]
    assert words(opened([*session, {"$rewindTo": "unknown"}])) == []
    assert words(opened([*session, {"$set": {"messages": [line("9", "nine")]}}])) == ["nine"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_part_that_is_not_there_is_said_so(name: str) -> None:
    with pytest.raises(NotFound, match="no part 'nowhere'"):
        words(opened(SAMPLES[name], part="nowhere"))


def test_parts_of_a_list_are_called_by_their_place() -> None:
    runs = [{"traj": [{"role": "user", "content": f"run {number}"}]} for number in range(3)]
    content = json.dumps(runs).encode()
    transcript = open_transcript(io.BytesIO(content))
    assert words(transcript) == ["run 0"]
    assert [part.name for part in transcript.parts] == ["0", "1", "2"]
    assert words(open_transcript(io.BytesIO(content), part="2")) == ["run 2"]
    with pytest.raises(NotFound, match=r"no part 'x'; the file has 0, 1"):
        words(open_transcript(io.BytesIO(content), part="x"))


def opencode(path: Path, *, whole: bool) -> None:
    database = apsw.Connection(str(path))
    database.execute("PRAGMA journal_mode = wal")
    database.execute("CREATE TABLE session (id, title, parent_id, time_updated)")
    database.execute("INSERT INTO session VALUES ('child', 'c', 's', 900), ('s', 'a title', NULL, 800)")
    tool = {"status": "completed", "input": {"path": "a"}, "output": "found"}
    tokens = {"input": 5, "output": 1, "cache": {"read": 7, "write": 0}}
    if whole:
        database.execute("CREATE TABLE session_message (id, session_id, type, seq, time_created, data)")
        called = {
            "type": "tool",
            "id": "c1",
            "name": "read",
            "state": {"status": "completed", "input": {}, "content": [{"type": "text", "text": "found"}]},
        }
        rows = [
            ("1", "user", {"text": "hello", "files": []}),
            ("2", "assistant", {"model": {"id": "m"}, "content": [called], "tokens": tokens}),
            ("3", "idle", {}),
        ]
        for seq, (name, kind, content) in enumerate(rows):
            values = (name, "s", kind, seq, 1000, json.dumps(content))
            database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)", values)
        return
    database.execute("CREATE TABLE message (id, session_id, time_created, data)")
    database.execute("CREATE TABLE part (id, message_id, session_id, data)")
    parts: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
        ("1", {"role": "user"}, [{"type": "text", "text": "hello"}]),
        ("2", {"role": "assistant", "modelID": "m"}, [
            {"type": "step-start"}, {"type": "tool", "tool": "read", "callID": "c1", "state": tool},
            {"type": "step-finish", "tokens": tokens}, {"type": "step-start"}, {"type": "text", "text": "done"},
        ]),
        ("3", {"role": "user"}, [{"type": "compaction", "auto": True}]),
        ("4", {"role": "assistant", "summary": True}, [{"type": "text", "text": "in short"}]),
        ("5", {"role": "user"}, [{"type": "text", "text": "more"}]),
    ]  # fmt: skip
    for name, message, inside in parts:
        database.execute("INSERT INTO message VALUES (?, 's', ?, ?)", (name, int(name), json.dumps(message)))
        for place, part in enumerate(inside):
            database.execute("INSERT INTO part VALUES (?, ?, 's', ?)", (f"{name}.{place}", name, json.dumps(part)))


def test_opencodes_database_is_read_while_it_is_in_use_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    opencode(path, whole=False)
    before = path.read_bytes()
    transcript = open_transcript(path)
    entries = list(transcript.messages())
    assert transcript.format == "opencode"
    assert [entry.message.text for entry in entries] == ["hello", "", "", "done", "in short", "more"]
    assert [entry.kind for entry in entries].count("compaction") == 1
    assert [entry.usage.context for entry in entries if entry.usage] == [12]
    assert words(transcript, as_sent=True) == ["What did we do so far?", "in short", "more"]
    assert [part.name for part in transcript.parts] == ["child", "s"]
    assert path.read_bytes() == before
    with path.open("rb") as stream:
        assert words(open_transcript(stream)) == [entry.message.text for entry in entries]


def test_the_second_generation_of_opencodes_tables_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    opencode(path, whole=True)
    hello, call, result = open_transcript(path).messages()
    assert hello.message.text == "hello"
    assert call.message.opened() == result.message.closed() == ["c1"]
    assert call.usage is not None
    assert call.usage.cache_read == 7


def test_packed_files_are_read_and_a_torn_one_as_far_as_it_goes(tmp_path: Path) -> None:
    content = "\n".join(map(json.dumps, SAMPLES["codex"])).encode()
    expected = words(open_transcript(io.BytesIO(content)))
    packed = {"zst": zstandard.ZstdCompressor().compress(content), "gz": gzip.compress(content)}
    for name, data in packed.items():
        path = tmp_path / f"rollout.jsonl.{name}"
        path.write_bytes(data)
        assert words(open_transcript(path)) == expected
        assert words(open_transcript(io.BytesIO(data))) == expected
    noise = os.urandom(200_000).hex().encode()
    torn = gzip.compress(content + b"\n" + noise)[:-50_000]
    transcript = open_transcript(io.BytesIO(torn))
    assert words(transcript) == expected
    assert transcript.damage


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    content = "\n".join(map(json.dumps, TREE)).encode()
    read, write = os.pipe()

    def tell() -> None:
        with os.fdopen(write, "wb") as into:
            for at in range(0, len(content), 7):
                into.write(content[at : at + 7])
                into.flush()

    telling = threading.Thread(target=tell)
    telling.start()
    with os.fdopen(read, "rb") as stream:
        assert words(open_transcript(stream)) == ["one", "two", "taken", "last"]
    telling.join()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    telling = threading.Thread(target=lambda: fifo.write_bytes(content))
    telling.start()
    assert words(open_transcript(fifo)) == ["one", "two", "taken", "last"]
    telling.join()


def test_a_file_that_grows_is_read_as_it_was_and_its_entries_keep_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = [json.dumps(record) for record in SAMPLES["claude-code"]]
    path.write_text("\n".join(lines[:3]) + "\n")
    transcript = open_transcript(path)
    first = list(transcript.messages())
    with path.open("a") as more:
        more.write("\n".join(lines[3:]) + "\n")
    assert list(transcript.messages()) == first
    grown = list(open_transcript(path).messages())
    assert len(grown) > len(first)
    assert [entry.key for entry in grown[: len(first)]] == [entry.key for entry in first] == ["u1", "a1", "r1"]


ALONE: dict[str, dict[str, Any]] = {
    "openai-chat": {"role": "user", "content": "hello"},
    "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "hello"}]},
    "openai-responses": {"type": "function_call_output", "call_id": "c1", "output": "hello"},
    "codex": {"timestamp": "2026-05-12T01:02:27Z", "type": "message", "role": "user", "content": "hello"},
    "pi": pi("message", "1", None, **said("user", "hello")),
    "claude-code": claude("user", "1", None, message={"role": "user", "content": "hello"}),
    "gemini": {"id": "1", "type": "user", "content": "hello"},
}


@pytest.mark.parametrize("length", [1, 1_000_000])
@pytest.mark.parametrize("name", ALONE)
def test_a_message_that_stands_alone_is_read_like_the_first_of_many(name: str, length: int) -> None:
    line = json.dumps(ALONE[name]).replace("hello", "hello" * length)
    other = line.replace('"1"', '"2"').replace("null", '"1"')
    alone, first = open_transcript(io.BytesIO(line.encode())), open_transcript(io.BytesIO(f"{line}\n{other}".encode()))
    assert alone.format == first.format == name
    read = list(alone.messages())
    assert [entry.line for entry in read] == [1]
    assert read == list(first.messages())[:1]


def test_a_message_alone_may_be_written_over_many_lines_and_a_body_without_messages_is_none() -> None:
    spread = json.dumps({"id": "m1", "timestamp": 5, **ALONE["openai-chat"]}, indent=2)
    (entry,) = open_transcript(io.BytesIO(spread.encode()), format="openai-chat").messages()
    assert (entry.message.text, entry.key, entry.at) == ("hello", "m1", 5.0)
    for body in ({"model": "m", "tools": []}, {"type": "log", "messages": []}):
        empty = opened([body], format="openai-chat")
        assert not list(empty.messages())
        assert not empty.damage
    assert words(opened([{"type": "log", "messages": [ALONE["openai-chat"]]}] * 2)) == ["hello"]


def test_a_line_too_long_to_hold_is_skipped_and_told() -> None:
    from sash.transcripts.about import About
    from sash.transcripts.lines import lines
    from sash.transcripts.source import Source

    about = About()
    content = b"short\n" + b"x" * 3_000_000 + b"\nshort\n" + b"y" * 2_000_000
    found = list(lines(Source(io.BytesIO(content)), about, longest=1_000_000))
    assert found == [(1, b"short"), (3, b"short")]
    assert [damage.line for damage in about.damage] == [2, 4]


def test_a_document_that_was_torn_is_read_up_to_there() -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"message {n}"} for n in range(5)]})
    transcript = open_transcript(io.BytesIO(body[:-30].encode()))
    assert words(transcript) == [f"message {n}" for n in range(4)]
    assert transcript.damage


def entries_of(name: str) -> list[Entry]:
    return list(open_transcript(io.BytesIO("\n".join(map(json.dumps, SAMPLES[name])).encode())).messages())


@pytest.mark.parametrize("name", SAMPLES)
def test_every_message_is_json_of_the_formats_wire(name: str) -> None:
    for entry in entries_of(name):
        if entry.message.role != "meta":
            assert json.loads(entry.message.source)
