"""`sash count`: what it takes, what it prints, and the code it ends with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sash.cli.count import count
from sash.counting import count_tokens
from sash.errors import NotFound, UnreadableTranscript
from tests.cli.sessions import long_session

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is in a.py?"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "print(1)"},
    {"role": "assistant", "content": "It prints 1."},
]
ANTHROPIC: dict[str, Any] = {"system": "Be brief.", "messages": [{"role": "user", "content": "hi"}]}
RESPONSES: dict[str, Any] = {
    "instructions": "Be brief.",
    "input": [{"type": "message", "role": "user", "content": "hi"}],
}


def run(*words: str, stdin: str | bytes = "", width: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(width), "TERM": "dumb", "NO_COLOR": "1"}).invoke(count, words, input=stdin)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    place = tmp_path / "chat.json"
    place.write_text(json.dumps(CHAT), "utf-8")
    return place


def test_words_are_counted_from_an_option_a_file_or_standard_input(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("hello world", "utf-8")
    for result in (
        run("-t", "hello world", "-m", "gpt-5"),
        run(str(tmp_path / "words.txt"), "-m", "gpt-5"),
        run("-m", "gpt-5", stdin="hello world"),
        run("-", "-m", "gpt-5", stdin="hello world"),
    ):
        assert result.exit_code == 0
        assert result.stdout.startswith("2 tokens\n")
        assert "exact:o200k_base" in result.stdout


def test_an_estimate_shows_as_one(chat: Path) -> None:
    assert run("-t", "hello world", "-m", "claude-opus-5").stdout.startswith("~")
    assert "~" in run(str(chat), "-m", "claude-opus-5").stdout
    assert "~" not in run("-t", "hello world", "-m", "gpt-5").stdout


def test_an_unknown_models_window_shows_as_a_default() -> None:
    said = " ".join(run("-t", "hello", "-m", "my-own-model").stdout.split())
    assert "128k, a default" in said
    assert "no model 'my-own-model' is known" in said


def test_a_window_that_somebody_stated_is_the_one_that_counts(chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_MODELS", '{"my-own-model": {"window": 4000, "max_output": 500}}')
    monkeypatch.setenv("SASH_DEFAULT_WINDOW", "32k")
    model = json.loads(run(str(chat), "-m", "my-own-model", "--json").stdout)["model"]
    assert model == {"name": "my-own-model", "window": 4_000, "default_window": False, "max_output": 500}
    said = " ".join(run("-t", "hello", "-m", "somebody-elses").stdout.split())
    assert "32k, a default" in said


def test_a_conversation_is_divided_by_role_and_by_type(chat: Path) -> None:
    said = run(str(chat), "-m", "gpt-5").stdout
    for word in ("system", "user", "assistant", "tool_call", "tool_result", "framing", "1 turn, 4 messages and a"):
        assert word in said


def test_json_says_the_same_in_one_object(chat: Path) -> None:
    said = json.loads(run(str(chat), "-m", "gpt-5", "--json").stdout)
    assert said["total"]["value"] == count_tokens(CHAT, model="gpt-5").value
    assert said["turns"] == 1
    assert said["messages"] == 4
    assert sum(part["value"] for part in said["by_role"].values()) == said["total"]["value"]
    assert sum(part["value"] for part in said["by_type"].values()) == said["total"]["value"]
    assert said["counter"]["id"] == "exact:o200k_base"
    assert said["model"] == {"name": "gpt-5", "window": 400_000, "default_window": False, "max_output": 128_000}


def test_one_message_a_line_is_a_conversation_too(tmp_path: Path) -> None:
    place = tmp_path / "chat.jsonl"
    place.write_text("\n".join(map(json.dumps, CHAT)) + "\n", "utf-8")
    said = json.loads(run(str(place), "-m", "gpt-5", "--json").stdout)
    assert said["total"]["value"] == count_tokens(CHAT, model="gpt-5").value


def test_json_can_be_counted_as_the_words_it_is(chat: Path) -> None:
    said = json.loads(run(str(chat), "-m", "gpt-5", "--plain", "--json").stdout)
    assert said["total"] == {"value": count_tokens(json.dumps(CHAT), model="gpt-5").value, "exact": True}
    assert "by_role" not in said


@pytest.mark.parametrize(
    ("content", "wire"),
    [
        (CHAT, "openai-chat"),
        ({"model": "gpt-5", "messages": CHAT}, "openai-chat"),
        (ANTHROPIC, "anthropic"),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}], "anthropic"),
        (RESPONSES, "openai-responses"),
        (RESPONSES["input"], "openai-responses"),
        ({"input": "hi"}, "openai-responses"),
    ],
)
def test_the_wire_of_a_file_is_told_by_its_content(content: object, wire: str) -> None:
    said = json.loads(run("-m", "gpt-5", "--json", stdin=json.dumps(content)).stdout)
    assert said["total"]["value"] == count_tokens(content, model="gpt-5", wire=wire).value
    assert said["messages"] > 0


@pytest.mark.parametrize("content", [[{"a": 1}], {"a": 1}, [1, 2], "words"])
def test_json_without_messages_is_text(content: object) -> None:
    assert "by_role" not in json.loads(run("-m", "gpt-5", "--json", stdin=json.dumps(content)).stdout)


def test_a_session_file_is_counted_by_what_was_said_in_it(tmp_path: Path) -> None:
    place = tmp_path / "session.jsonl"
    said: list[dict[str, Any]] = [
        {"type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": "What is in a.py?"}},
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "message": {
                "id": "m",
                "role": "assistant",
                "model": "claude-opus-4-5",
                "content": [{"type": "text", "text": "It prints 1."}],
            },
        },
    ]
    place.write_text("\n".join(map(json.dumps, said)) + "\n", "utf-8")
    counted = json.loads(run(str(place), "--json").stdout)
    same = [{"role": "user", "content": "What is in a.py?"}, {"role": "assistant", "content": "It prints 1."}]
    assert (counted["messages"], counted["turns"], counted["model"]["name"]) == (2, 1, "claude-opus-4-5")
    assert counted["total"]["value"] == count_tokens(same, model="claude-opus-4-5", wire="anthropic").value
    assert run(str(place), "--counter", "remote:anthropic").exit_code == 2
    nowhere = run("no_such_thread", "--store", f"sqlite:///{tmp_path}/none.db").exception
    assert isinstance(nowhere, NotFound)


def test_a_wire_that_was_named_is_not_guessed() -> None:
    said = json.loads(run("--wire", "anthropic", "-m", "claude-opus-5", "--json", stdin=json.dumps(ANTHROPIC)).stdout)
    assert said["total"]["value"] == count_tokens(ANTHROPIC, model="claude-opus-5", wire="anthropic").value


def test_the_tables_fit_eighty_columns(chat: Path) -> None:
    for words in (
        [str(chat)],
        [str(chat), "-m", "us.anthropic.claude-opus-4-20250514-v1:0"],
        ["-t", "x", "-m", "m" * 200],
    ):
        assert max(map(len, run(*words).stdout.splitlines())) <= 80


def test_what_is_no_text_is_counted_and_not_a_crash() -> None:
    assert run("-m", "gpt-5", stdin=b"\xff\xfe\x00 words").exit_code == 0
    assert run("-m", "gpt-5", stdin=b"\xef\xbb\xbfhello world").stdout.startswith("2 tokens")
    assert run("-m", "gpt-5", stdin="").stdout.startswith("0 tokens")


def test_wrong_usage_ends_with_two(chat: Path) -> None:
    for words in (["-t", "x", str(chat)], ["-t", "x", "--counter", "nope"], ["--wire", "nope"], ["--nope"]):
        assert run(*words).exit_code == 2


def test_a_counter_can_be_named() -> None:
    assert run("-t", "x" * 40, "--counter", "chars4").stdout.startswith("~10 tokens")


def test_an_endpoint_that_is_not_there_costs_a_note() -> None:
    said = " ".join(run("-t", "hello", "--counter", "remote:vllm=http://127.0.0.1:9", "-m", "qwen3-8b").stdout.split())
    assert "counted by remote:vllm: estimated: 127.0.0.1:9 cannot be reached" in said


def session(folder: Path) -> Path:
    place = folder / "session.jsonl"
    lines: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": "a", "timestamp": "2026-01-01T00:00:00Z"}]
    call = {"type": "toolCall", "id": "1", "name": "read", "arguments": {}}
    answer = {"role": "assistant", "model": "claude-opus-5"}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "What is in a.py?"},
        {**answer, "content": [call]},
        {
            "role": "toolResult",
            "toolCallId": "1",
            "toolName": "read",
            "content": [{"type": "text", "text": "print(1)"}],
        },
        {**answer, "content": [{"type": "text", "text": "It prints 1."}]},
    ]
    lines += [
        {"type": "message", "id": str(number), "parentId": str(number - 1) if number else None, "message": message}
        for number, message in enumerate(said)
    ]
    place.write_text("\n".join(map(json.dumps, lines)) + "\n{torn", "utf-8")
    return place


def test_a_session_of_a_tool_is_counted_as_what_was_said_in_it(tmp_path: Path) -> None:
    place = session(tmp_path)
    said = json.loads(run(str(place), "--json").stdout)
    assert (said["kind"], said["turns"], said["messages"], said["damaged"]) == ("pi", 1, 4, 1)
    assert said["model"]["name"] == "claude-opus-5"
    assert said["by_role"].keys() == {"user", "assistant", "tool"}
    assert sum(part["value"] for part in said["by_type"].values()) == said["total"]["value"] < 100
    assert json.loads(run("-", "--json", stdin=place.read_bytes()).stdout) == said
    assert json.loads(run(str(place), "-m", "gpt-5", "--json").stdout)["counter"]["id"].startswith("exact:")
    assert json.loads(run(str(place), "--plain", "--json").stdout)["total"]["value"] > said["total"]["value"]
    shown = run(str(place)).stdout
    assert "1 turn, 4 messages" in shown
    assert "1 place is damaged" in shown
    assert "make it with `sash fit" in " ".join(run(str(place), "--counter", "remote:vllm=http://x").output.split())


def test_results_are_a_tools_words_on_every_wire() -> None:
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "read", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "print(1)"}]}
    both = {"role": "user", "content": [*result["content"], {"type": "text", "text": "and now?"}]}
    by_role = json.loads(run("--json", stdin=json.dumps([ANTHROPIC["messages"][0], called, result])).stdout)["by_role"]
    assert by_role.keys() == {"user", "assistant", "tool"}
    mixed = json.loads(run("--json", stdin=json.dumps([called, both])).stdout)["by_role"]
    assert mixed.keys() == {"assistant", "tool", "user"}


def test_a_list_of_runs_is_counted_by_its_first(tmp_path: Path) -> None:
    place = tmp_path / "runs.json"
    place.write_text(json.dumps([{"traj": CHAT}, {"traj": CHAT * 9}]), "utf-8")
    assert json.loads(run(str(place), "-m", "gpt-5", "--json").stdout)["messages"] == 4
    assert json.loads(run(str(place), "-m", "gpt-5", "--part", "1", "--json").stdout)["messages"] == 44


def test_a_request_that_was_logged_is_counted_with_its_answer(tmp_path: Path) -> None:
    answer = {"model": "gpt-5", "choices": [{"message": CHAT[-1]}]}
    place = tmp_path / "logged.json"
    place.write_text(json.dumps({"messages": CHAT[:-1], "response": answer}), "utf-8")
    said = json.loads(run(str(place), "--json").stdout)
    assert (said["messages"], said["model"]["name"]) == (4, "gpt-5")
    assert said["total"]["value"] == count_tokens(CHAT, model="gpt-5").value


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    assert isinstance(run(str(tmp_path / "nowhere.jsonl")).exception, NotFound)


def test_a_picture_is_no_text_unless_it_is_asked_for_as_it_stands(tmp_path: Path) -> None:
    for start, kind in (
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"\xff\xd8\xff\xe0", "a JPEG picture"),
        (b"%PDF-1.7", "PDF"),
    ):
        (tmp_path / "picture").write_bytes(start + bytes(range(256)))
        result = run(str(tmp_path / "picture"))
        assert isinstance(result.exception, UnreadableTranscript)
        assert kind in str(result.exception)
        assert run(str(tmp_path / "picture"), "--plain").exit_code == 0


def test_json_that_ends_in_the_middle_is_counted_as_text_and_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "torn.json"
    path.write_text('{"settings": {"name": "x", "more": [1, 2')
    assert "it is JSON that ends in the middle" in run(str(path)).stdout
    assert json.loads(run(str(path), "--json").stdout)["note"].startswith("counted as text")
    path.write_text("[a link](https://example.com) and words")
    assert "JSON" not in run(str(path)).stdout


def test_a_wire_is_not_for_session_files(tmp_path: Path) -> None:
    session = long_session(tmp_path / "session.jsonl")
    ran = run(str(session), "--wire", "anthropic")
    assert ran.exit_code == 2
    assert "session.jsonl is a session file (" in ran.output
    assert "--wire is for JSON messages: leave it out" in " ".join(ran.output.split())
