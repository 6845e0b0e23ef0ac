"""Counts by an endpoint: a real HTTP server on this machine plays the provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from sash.core.tokens import TokenCount
from sash.counters.memo import Memo
from sash.counters.remote import Endpoint, Remote, endpoint
from sash.counting import count_tokens
from sash.errors import UnknownCounter

KEY = "sk-ant-canary-0123456789"
GUESS = TokenCount(999, exact=False)
Reply = Callable[[str, dict[str, Any]], tuple[int, bytes]]


class Provider:
    """What a server was asked, and what it answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.keys: list[str | None] = []
        self.reply: Reply = lambda path, body: (200, b"{}")
        self.headers: dict[str, str] = {}
        self.url = ""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    served = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            served.asked.append((self.path, body))
            served.keys.append(self.headers.get("x-api-key"))
            status, content = served.reply(self.path, body)
            self.send_response(status)
            for name, value in served.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


def asking(provider: Provider, kind: str, model: str = "some-model") -> Remote:
    # A memory of its own: the next test's provider may listen at the same port.
    return Remote(endpoint(f"remote:{kind}={provider.url}", model), memo=Memo())


def json_reply(**fields: object) -> Reply:
    return lambda path, body: (200, json.dumps(fields).encode())


def test_anthropic_counts_a_whole_request(provider: Provider) -> None:
    provider.reply = json_reply(input_tokens=1234)
    body = {"system": "Be brief.", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "stream": True}
    answer = asking(provider, "anthropic", "anthropic/claude-opus-5").request(body, lambda: GUESS)
    assert answer.count == TokenCount(1234)
    assert answer.note == ""
    path, asked = provider.asked[0]
    assert path == "/v1/messages/count_tokens"
    assert asked == {"model": "claude-opus-5", "system": "Be brief.", "messages": body["messages"]}
    assert provider.keys == [KEY]


def test_vllm_counts_words_and_chats(provider: Provider) -> None:
    provider.reply = json_reply(count=7, tokens=[1, 2], max_model_len=4096)
    remote = asking(provider, "vllm", "Qwen/Qwen3-8B")
    assert remote.text("some words", lambda: GUESS).count == TokenCount(7)
    assert remote.request({"messages": [{"role": "user", "content": "hi"}]}, lambda: GUESS).count == TokenCount(7)
    assert provider.asked[0] == (
        "/tokenize",
        {"model": "Qwen/Qwen3-8B", "prompt": "some words", "add_special_tokens": False},
    )
    assert provider.asked[1][1]["messages"] == [{"role": "user", "content": "hi"}]
    assert provider.keys == [None, None]


def test_llama_cpp_counts_words_and_rendered_chats(provider: Provider) -> None:
    def reply(path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        if path == "/apply-template":
            return 200, json.dumps({"prompt": "<s>user: hi"}).encode()
        return 200, json.dumps({"tokens": list(body["content"])}).encode()

    provider.reply = reply
    remote = asking(provider, "llama.cpp")
    assert remote.text("four", lambda: GUESS).count == TokenCount(4)
    assert remote.request({"messages": [{"role": "user", "content": "hi"}]}, lambda: GUESS).count == TokenCount(11)
    assert [path for path, _ in provider.asked] == ["/tokenize", "/apply-template", "/tokenize"]


def test_the_same_question_is_asked_once(provider: Provider) -> None:
    provider.reply = json_reply(input_tokens=5)
    remote = asking(provider, "anthropic")
    for _ in range(3):
        assert remote.text("hello", lambda: GUESS).count == TokenCount(5)
    remote.text("another", lambda: GUESS)
    assert len(provider.asked) == 2


FAULTS: dict[str, Reply] = {
    "refused": lambda path, body: (401, b'{"error":"bad key sk-ant-canary-0123456789"}'),
    "broken": lambda path, body: (500, b"oops"),
    "html": lambda path, body: (200, b"<html>"),
    "empty": lambda path, body: (200, b""),
    "a list": lambda path, body: (200, b"[1]"),
    "missing": lambda path, body: (200, b"{}"),
    "negative": json_reply(input_tokens=-4, count=-4, tokens=-4),
    "absurd": json_reply(input_tokens="many", count=None, tokens={}),
    "true": json_reply(input_tokens=True, count=True, tokens=True),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", ["anthropic", "vllm", "llama.cpp"])
def test_an_endpoint_that_gives_no_count_costs_a_note_and_shows_no_key(
    provider: Provider, kind: str, fault: str
) -> None:
    provider.reply = FAULTS[fault]
    answer = asking(provider, kind).text("hello", lambda: GUESS)
    assert answer.count == GUESS
    assert answer.note.startswith("estimated: ")
    assert KEY not in answer.note


def test_a_failure_is_not_remembered(provider: Provider) -> None:
    provider.reply = FAULTS["broken"]
    remote = asking(provider, "anthropic")
    assert remote.text("hello", lambda: GUESS).count == GUESS
    provider.reply = json_reply(input_tokens=5)
    assert remote.text("hello", lambda: GUESS).count == TokenCount(5)


def test_a_redirect_is_not_followed_with_the_key(provider: Provider) -> None:
    provider.reply = lambda path, body: (307, b"")
    provider.headers = {"location": f"{provider.url}/elsewhere"}
    answer = asking(provider, "anthropic").text("hello", lambda: GUESS)
    assert answer.count == GUESS
    assert "307" in answer.note
    assert len(provider.asked) == 1


def test_nobody_listening_costs_a_note() -> None:
    answer = Remote(endpoint("remote:vllm=http://127.0.0.1:9", "m")).text("hello", lambda: GUESS)
    assert answer.count == GUESS
    assert "127.0.0.1:9" in answer.note


@pytest.mark.parametrize("key", ["", "sk-ant\nx: y", "sk-ünt"])
def test_without_a_usable_key_nothing_is_sent(provider: Provider, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    answer = asking(provider, "anthropic").text("hello", lambda: GUESS)
    assert answer.count == GUESS
    assert "ANTHROPIC_API_KEY" in answer.note
    assert not key or key not in answer.note
    assert provider.asked == []


def test_no_key_and_no_password_is_ever_shown(provider: Provider) -> None:
    asked = endpoint(f"remote:anthropic={provider.url}", "m")
    assert KEY not in repr(asked) + repr(Remote(asked)) + repr(vars(Remote(asked)))
    secret = Remote(Endpoint(kind="vllm", url="http://user:hunter2@127.0.0.1:9", model="m"))
    assert "hunter2" not in secret.text("hello", lambda: GUESS).note


@pytest.mark.parametrize(
    "name", ["remote:nobody", "remote:vllm", "remote:vllm=file:///etc/passwd", "vllm=http://x", "remote:vllm=http://"]
)
def test_a_name_that_is_no_endpoint_is_an_error(name: str) -> None:
    with pytest.raises(UnknownCounter, match="remote:anthropic"):
        endpoint(name, "m")


def test_anthropics_address_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example/")
    assert endpoint("remote:anthropic", "m").url == "https://gateway.example"
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    assert endpoint("remote:anthropic", "m").url.startswith("https://")


def test_half_a_surrogate_pair_can_be_asked_about(provider: Provider) -> None:
    provider.reply = json_reply(input_tokens=5)
    assert asking(provider, "anthropic").text("\ud83d", lambda: GUESS).count == TokenCount(5)


def test_count_tokens_asks_when_told_to_and_estimates_where_that_fails(provider: Provider) -> None:
    name = f"remote:anthropic={provider.url}"
    messages = [{"role": "user", "content": "hello there"}]
    provider.reply = json_reply(input_tokens=42)
    assert count_tokens(messages, model="claude-opus-5", wire="anthropic", counter=name) == TokenCount(42)
    assert count_tokens("hello", model="claude-opus-5", counter=name) == TokenCount(42)
    assert provider.asked[0][1]["messages"] == messages
    provider.reply = FAULTS["broken"]
    unheard = [{"role": "user", "content": "hello where nobody listens"}]
    assert count_tokens(unheard, model="claude-opus-5", wire="anthropic", counter=name) == count_tokens(
        unheard, model="claude-opus-5", wire="anthropic"
    )


def test_count_tokens_asks_the_same_question_once(provider: Provider) -> None:
    name = f"remote:anthropic={provider.url}"
    provider.reply = json_reply(input_tokens=42)
    counts = {count_tokens("said three times", model="claude-opus-5", counter=name) for _ in range(3)}
    assert counts == {TokenCount(42)}
    assert len(provider.asked) == 1
