"""`sash fit` on a file that is a request's body."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sash
from tests.cli.front_door import here
from tests.cli.sessions import exchange, written

Body = dict[str, Any]
LONG = "word " * 400

BODIES: dict[str, Body] = {
    "anthropic": {
        "model": "claude-opus-5", "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": "be brief",
        "messages": [{"role": role, "content": LONG} for _ in range(9) for role in ("user", "assistant")],
        "stream": True, "metadata": {"user_id": "u"},
    },
    "openai-chat": {
        "model": "gpt-5", "max_completion_tokens": 2048,
        "messages": [{"role": role, "content": LONG} for _ in range(9) for role in ("user", "assistant")],
    },
    "openai-responses": {
        "model": "gpt-5", "store": False, "previous_response_id": "r1",
        "input": [
            {"type": "function_call_output", "call_id": "kept-by-the-provider", "output": "found"},
            *({"role": role, "content": LONG} for _ in range(9) for role in ("user", "assistant")),
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize("wire", BODIES)
@pytest.mark.parametrize("cap", ["1k", "100k"])
def test_of_a_request_all_that_it_asks_for_stays_as_the_library_leaves_it(tmp_path: Path, wire: str, cap: str) -> None:
    text = json.dumps(BODIES[wire])
    (tmp_path / "body.json").write_text(text, "utf-8")
    ran = here("fit", "body.json", "--wire", wire, "--history-tokens", cap, home=tmp_path)
    assert ran.code == 0
    tokens = 1_000 if cap == "1k" else 100_000
    fitted = sash.fit(text, wire=wire, policy=sash.Policy(history_tokens=tokens))
    assert ran.json() == json.loads(fitted.body)
    assert [*ran.json()] == [*BODIES[wire]]
    assert (len(fitted.messages) < 18) == (cap == "1k")


def test_the_answer_that_a_request_asks_for_is_kept_free(tmp_path: Path) -> None:
    body = BODIES["anthropic"] | {"max_tokens": 5_000}
    (tmp_path / "body.json").write_text(json.dumps(body), "utf-8")
    flags = ("--window", "12k", "--history-tokens", "0")
    sent = here("fit", "body.json", *flags, home=tmp_path).json()["messages"]
    (tmp_path / "body.json").write_text(json.dumps(body | {"max_tokens": 9_000}), "utf-8")
    assert len(here("fit", "body.json", *flags, home=tmp_path).json()["messages"]) < len(sent)


def test_what_has_no_place_in_a_flat_prompt_is_told(tmp_path: Path) -> None:
    said = "what the user and the assistant wrote: tools' calls and results"
    written(tmp_path / "tools.jsonl", exchange(1, "Hello", result="found") + exchange(2, "And?"))
    assert said in here("fit", "tools.jsonl", "--policy", "recent", home=tmp_path).err
    assert said not in here("fit", "tools.jsonl", home=tmp_path).err
    (tmp_path / "words.json").write_text('[{"role":"user","content":"Hello"}]', "utf-8")
    assert said not in here("fit", "words.json", "--policy", "recent", home=tmp_path).err


def test_what_a_request_asks_for_has_no_place_in_another_wire_and_a_log_of_one_asks_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text(json.dumps(BODIES["anthropic"]), "utf-8")
    assert [*here("fit", "body.json", "--wire", "openai-chat", home=tmp_path).json()] == ["messages"]
    answer = {"choices": [{"message": {"role": "assistant", "content": "done"}}]}
    (tmp_path / "log.json").write_text(json.dumps({**BODIES["openai-chat"], "cost": 1, "response": answer}), "utf-8")
    assert [*here("fit", "log.json", home=tmp_path).json()] == ["messages"]
