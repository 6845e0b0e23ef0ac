"""
A provider that does as it is told: on a raw socket, so that it can misbehave at any byte.

Every request that it gets is judged by `validator`, which knows nothing of our code. What it
answers is taken from a queue of scripts; with none left it answers as a model would.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import zstandard

from tests.proxy.validator import faults

WIRES_BY_PATH = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/responses/input_tokens": "openai-responses",
    "/v1/messages": "anthropic",
    "/v1/messages/count_tokens": "anthropic",
}


class Received:
    """A request as it arrived."""

    def __init__(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.method, self.target, self.headers, self.body = method, target, headers, body

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def wire(self) -> str:
        return WIRES_BY_PATH.get(self.path, "")

    @property
    def plain(self) -> bytes:
        """The body, unpacked."""
        match self.header("content-encoding"):
            case "gzip":
                return gzip.decompress(self.body)
            case "deflate":
                return zlib.decompress(self.body)
            case "zstd":
                return zstandard.decompress(self.body)
        return self.body

    @property
    def json(self) -> Any:
        return json.loads(self.plain)

    @property
    def messages(self) -> list[Any]:
        sent = self.json
        return list(sent["input"] if "input" in sent else sent["messages"])

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known.lower() == name), "")


class Talk:
    """One connection, in the hands of a script."""

    def __init__(self, connection: socket.socket, gone: threading.Event) -> None:
        self.connection, self.gone = connection, gone

    def send(self, part: bytes) -> None:
        self.connection.sendall(part)

    def head(self, status: int = 200, headers: dict[str, str] | None = None) -> None:
        lines = [f"HTTP/1.1 {status} Whatever"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.head(status, {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})})
        self.send(body)

    def stream_head(self, headers: dict[str, str] | None = None) -> None:
        kind = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
        self.head(200, {**kind, **(headers or {})})

    def chunk(self, part: bytes) -> None:
        if part:
            self.send(b"%x\r\n%b\r\n" % (len(part), part))

    def stream_end(self) -> None:
        self.send(b"0\r\n\r\n")

    def reset(self) -> None:
        """Break the connection off so that the other side sees an error."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def wait_until_gone(self, seconds: float = 10.0) -> float | None:
        """Seconds until the other side has hung up; None if it has not."""
        begun = time.monotonic()
        self.connection.settimeout(seconds)
        try:
            while self.connection.recv(1024):
                pass
        except TimeoutError:
            return None
        except OSError:
            pass
        self.gone.set()
        return time.monotonic() - begun


Script = Callable[[Received, Talk], None]


class ScriptedUpstream:
    """Listens on a free port of this machine."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.faults: list[str] = []
        """What was wrong with requests, by the independent validator."""
        self.scripts: list[Script] = []
        self.default: Script = as_a_model
        self.gone = threading.Event()
        """A script saw the other side hang up."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def openai(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Received:
        return self.requests[-1]

    def then(self, *scripts: Script) -> ScriptedUpstream:
        """The next requests are answered so."""
        self.scripts += scripts
        return self

    def close(self) -> None:
        # To close a socket wakes nobody who waits at it; the threads would outlive their test, with what they hold.
        for waited_at in (self._listener, *self._open):
            with suppress(OSError):
                waited_at.shutdown(socket.SHUT_RDWR)
            waited_at.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            for received in _requests(connection):
                self.requests.append(received)
                if received.wire:
                    self.faults += faults(received.wire, received.plain)
                script = self.scripts.pop(0) if self.scripts else self.default
                script(received, Talk(connection, self.gone))
        except OSError:
            pass
        finally:
            self._open.discard(connection)
            connection.close()


def _requests(connection: socket.socket) -> Iterator[Received]:
    held = b""
    while True:
        while b"\r\n\r\n" not in held:
            part = connection.recv(65536)
            if not part:
                return
            held += part
        head, _, held = held.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        named = {name.lower(): value for name, value in headers}
        body = b""
        if named.get("transfer-encoding", "").lower() == "chunked":
            while True:
                while b"\r\n" not in held:
                    held += connection.recv(65536)
                size, _, held = held.partition(b"\r\n")
                length = int(size, 16)
                while len(held) < length + 2:
                    held += connection.recv(65536)
                body, held = body + held[:length], held[length + 2 :]
                if not length:
                    break
        else:
            parts, size_so_far = [held], len(held)
            length = int(named.get("content-length", "0"))
            while size_so_far < length:
                part = connection.recv(1 << 20)
                if not part:
                    return
                parts.append(part)
                size_so_far += len(part)
            whole = b"".join(parts)
            body, held = whole[:length], whole[length:]
        yield Received(method, target, headers, body)


def as_a_model(received: Received, talk: Talk) -> None:
    """A plausible answer on each wire, as a stream where one is asked for."""
    if not received.wire:
        talk.answer(200, json.dumps({"object": "list", "data": [], "path": received.target}).encode())
        return
    sent = received.json
    if not isinstance(sent.get("messages", sent.get("input")), list | str):
        talk.answer(400, b'{"error":{"message":"no messages"}}')
    elif received.path.endswith("_tokens"):
        named = {"object": "response.input_tokens"} if received.wire == "openai-responses" else {}
        talk.answer(200, json.dumps({**named, "input_tokens": tokens_of(received.body)}).encode())
    elif sent.get("stream"):
        stream(talk, events(received.wire, f"answer {len(received.messages)}", read=tokens_of(received.body)))
    else:
        told = completion(received.wire, f"answer {len(received.messages)}", read=tokens_of(received.body))
        talk.answer(200, json.dumps(told).encode(), {"x-request-id": "req_1", "request-id": "req_1"})


def tokens_of(body: bytes) -> int:
    """What this provider counts: a token for four bytes of the whole body."""
    return max(1, len(body) // 4)


def limited(
    limit: int, wording: str = "prompt is too long: {tokens} tokens > {limit} maximum", status: int = 400
) -> Script:
    """A model that takes so many tokens and refuses more, in its own words."""

    def answer(received: Received, talk: Talk) -> None:
        tokens = tokens_of(received.body)
        if received.wire and tokens > limit:
            told = {"error": {"message": wording.format(tokens=tokens, limit=limit), "type": "invalid_request_error"}}
            talk.answer(status, json.dumps({"type": "error", **told}).encode())
        else:
            as_a_model(received, talk)

    return answer


def saying(body: bytes, status: int = 200, **headers: str) -> Script:
    """These very bytes."""
    return lambda _, talk: talk.answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def streaming(*chunks: bytes, headers: dict[str, str] | None = None) -> Script:
    """A stream in these very chunks, ended well."""

    def answer(_: Received, talk: Talk) -> None:
        talk.stream_head(headers)
        for part in chunks:
            talk.chunk(part)
        talk.stream_end()

    return answer


def stream(talk: Talk, frames: list[bytes]) -> None:
    talk.stream_head({"x-request-id": "req_1", "request-id": "req_1"})
    for frame in frames:
        talk.chunk(frame)
    talk.stream_end()


def completion(wire: str, text: str, *, read: int = 10, calls: tuple[tuple[str, str, str], ...] = ()) -> dict[str, Any]:
    """A whole answer; `calls` are ids, names and arguments."""
    if wire == "openai-chat":
        tools = [
            {"id": n, "type": "function", "function": {"name": name, "arguments": args}} for n, name, args in calls
        ]
        message = {"role": "assistant", "content": text or None} | ({"tool_calls": tools} if tools else {})
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tools else "stop"}
        usage = {"prompt_tokens": read, "completion_tokens": 3, "total_tokens": read + 3}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
    if wire == "anthropic":
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": n, "name": name, "input": json.loads(args)} for n, name, args in calls]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": read, "output_tokens": 3},
        }
    items: list[dict[str, Any]] = []
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    items += [
        {"id": f"fc_{n}", "type": "function_call", "call_id": n, "name": name, "arguments": args, "status": "completed"}
        for n, name, args in calls
    ]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": read,
            "output_tokens": 3,
            "total_tokens": read + 3,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def events(wire: str, text: str, *, read: int = 10) -> list[bytes]:
    """The frames of an answer that comes as a stream."""
    words = text.split(" ")
    parts = [word + " " * (place < len(words) - 1) for place, word in enumerate(words)]
    if wire == "openai-chat":
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": part} for part in parts)]
        told = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        told.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": read, "completion_tokens": 3, "total_tokens": read + 3}
        told.append({**base, "choices": [], "usage": usage})
        return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told), b"data: [DONE]\n\n"]
    if wire == "anthropic":
        whole = completion(wire, "", read=read)
        block = {"type": "text", "text": ""}
        named: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "ping"},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
                for part in parts
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
        return [named_frame(one) for one in named]
    whole = completion(wire, text, read=read)
    item, part0 = whole["output"][0], whole["output"][0]["content"][0]
    opened = {**whole, "status": "in_progress", "output": [], "usage": None}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    told = [
        {"type": "response.created", "response": opened},
        {"type": "response.in_progress", "response": opened},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **place, "part": {**part0, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": part, "logprobs": []} for part in parts),
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part0},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [named_frame({**one, "sequence_number": number}) for number, one in enumerate(told)]


def named_frame(told: dict[str, Any]) -> bytes:
    """An event with a name, as Anthropic and Responses send them."""
    return f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode()
