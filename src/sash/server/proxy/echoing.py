"""
An upstream inside this process that says back what it was told, on every wire that the proxy speaks.

For trying the proxy without a key and without a network: clients and their SDKs see what a provider
would send, and the window is managed as in front of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import msgspec

from sash.counting import count_tokens
from sash.errors import SashError
from sash.providers import ToolCalled
from sash.providers.echo import mark_of, said_back
from sash.server.proxy.plan import counted_as, sketch_of
from sash.wire import Conversation, read

MODEL = "echo"
_WIRES = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/responses/input_tokens": "openai-responses",
    "/v1/messages": "anthropic",
    "/v1/messages/count_tokens": "anthropic",
}


class Echoed(msgspec.Struct, frozen=True, kw_only=True):
    """What it says to a request."""

    model: str
    words: list[str]
    cut: bool
    """Whether there would have been more to say than was asked for."""
    called: ToolCalled | None
    read: int
    """Tokens, as we count them ourselves: nothing is to be learned from it."""
    mark: str
    """In its ids, which are the same each time it is asked the same."""
    streams: bool

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.words)

    @property
    def written(self) -> int:
        """Tokens."""
        return max(1, len(self.words))


class EchoTransport(httpx2.AsyncBaseTransport):
    """Answers in the place of a provider."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request of any of the wires; what an echo has no answer to is a 404."""
        body = await request.aread()
        path = request.url.path
        if path == "/v1/models" and request.method == "GET":
            listed = {"id": MODEL, "object": "model", "type": "model", "display_name": MODEL, "created": 0}
            listed |= {"owned_by": "sash", "created_at": "1970-01-01T00:00:00Z"}
            return _json(
                200, {"object": "list", "data": [listed], "has_more": False, "first_id": MODEL, "last_id": MODEL}
            )
        wire = _WIRES.get(path, "")
        if not wire or request.method != "POST":
            return _refused(404, f"an echo has no {path!r}: it answers {', '.join(_WIRES)} and /v1/models")
        try:
            said = _said(body, wire)
        except SashError as error:
            return _refused(400, str(error))
        if path.endswith("_tokens"):
            return _json(200, counted_as(said.read, wire))
        whole, events = _WRITTEN[wire]
        if not said.streams:
            return _json(200, whole(said))
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream; charset=utf-8"}, content=b"".join(events(said))
        )


def _said(body: bytes, wire: str) -> Echoed:
    asked: Conversation = read(body, wire)
    sketch = sketch_of(body)
    words, called = said_back(asked)
    most = sketch.answer or len(words)
    named = sketch.name or MODEL
    return Echoed(
        model=named,
        words=words[:most],
        cut=len(words) > most,
        called=called,
        read=count_tokens(body, model=named, wire=wire).value,
        mark=mark_of(asked),
        streams=sketch.streams,
    )


def _json(status: int, body: Any) -> httpx2.Response:
    return httpx2.Response(status, headers={"content-type": "application/json"}, content=msgspec.json.encode(body))


def _refused(status: int, why: str) -> httpx2.Response:
    return _json(status, {"type": "error", "error": {"type": "invalid_request_error", "message": why}})


def _event(fields: dict[str, Any], *, named: bool = True) -> bytes:
    name = f"event: {fields['type']}\n".encode() if named else b""
    return name + b"data: " + msgspec.json.encode(fields) + b"\n\n"


# OpenAI's chat completions.


def _chat(said: Echoed) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None if said.called else said.text, "refusal": None}
    if said.called:
        message["tool_calls"] = [_chat_call(said.called)]
    choice = {"index": 0, "message": message, "finish_reason": _chat_stop(said), "logprobs": None}
    return {**_chat_head(said, "chat.completion"), "choices": [choice], "usage": _chat_usage(said)}


def _chat_head(said: Echoed, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-echo-{said.mark}", "object": kind, "created": 0, "model": said.model}


def _chat_call(called: ToolCalled) -> dict[str, Any]:
    return {"id": called.id, "type": "function", "function": {"name": called.name, "arguments": called.arguments}}


def _chat_stop(said: Echoed) -> str:
    return "tool_calls" if said.called else "length" if said.cut else "stop"


def _chat_usage(said: Echoed) -> dict[str, int]:
    return {
        "prompt_tokens": said.read,
        "completion_tokens": said.written,
        "total_tokens": said.read + said.written,
    }


def _chat_events(said: Echoed) -> Iterator[bytes]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in said.words]
    if said.called:
        deltas.append({"tool_calls": [{"index": 0, **_chat_call(said.called)}]})
    head = _chat_head(said, "chat.completion.chunk")
    for delta in deltas:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}, named=False)
    last = {"index": 0, "delta": {}, "finish_reason": _chat_stop(said)}
    yield _event({**head, "choices": [last]}, named=False)
    yield _event({**head, "choices": [], "usage": _chat_usage(said)}, named=False)
    yield b"data: [DONE]\n\n"


# OpenAI's Responses.


def _response(said: Echoed, *, done: bool = True) -> dict[str, Any]:
    return {
        "id": f"resp_echo_{said.mark}",
        "object": "response",
        "created_at": 0,
        "status": _response_status(said) if done else "in_progress",
        "incomplete_details": {"reason": "max_output_tokens"} if done and said.cut else None,
        "model": said.model,
        "output": [_item(said)] if done else [],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": {
            "input_tokens": said.read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": said.written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": said.read + said.written,
        }
        if done
        else None,
    }


def _response_status(said: Echoed) -> str:
    return "incomplete" if said.cut else "completed"


def _item(said: Echoed, *, done: bool = True) -> dict[str, Any]:
    status = _response_status(said) if done else "in_progress"
    if said.called:
        call = {"call_id": said.called.id, "name": said.called.name, "arguments": said.called.arguments}
        return {"type": "function_call", "id": f"fc_echo_{said.mark}", "status": status, **call}
    content = [_part(said.text)] if done else []
    return {
        "type": "message", "id": f"msg_echo_{said.mark}", "role": "assistant", "status": status, "content": content,
    }  # fmt: skip


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _response_events(said: Echoed) -> Iterator[bytes]:
    item = _item(said)
    place = {"item_id": item["id"], "output_index": 0}
    inner = {**place, "content_index": 0}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(said, done=False)},
        {"type": "response.output_item.added", "output_index": 0, "item": _item(said, done=False)},
    ]
    if said.called:
        arguments = said.called.arguments
        told.append({"type": "response.function_call_arguments.delta", **place, "delta": arguments})
        told.append(
            {"type": "response.function_call_arguments.done", **place, "name": said.called.name, "arguments": arguments}
        )
    else:
        told.append({"type": "response.content_part.added", **inner, "part": _part("")})
        told += [{"type": "response.output_text.delta", **inner, "delta": word, "logprobs": []} for word in said.words]
        told.append({"type": "response.output_text.done", **inner, "text": said.text, "logprobs": []})
        told.append({"type": "response.content_part.done", **inner, "part": _part(said.text)})
    told.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    told.append({"type": f"response.{_response_status(said)}", "response": _response(said)})
    for number, fields in enumerate(told):
        yield _event({**fields, "sequence_number": number})


# Anthropic's messages.


def _message(said: Echoed) -> dict[str, Any]:
    return {
        **_message_head(said),
        "content": [_block(said)],
        "stop_reason": _message_stop(said),
        "usage": {"input_tokens": said.read, "output_tokens": said.written},
    }


def _message_head(said: Echoed) -> dict[str, Any]:
    return {
        "id": f"msg_echo_{said.mark}", "type": "message", "role": "assistant", "model": said.model,
        "stop_sequence": None,
    }  # fmt: skip


def _message_stop(said: Echoed) -> str:
    return "tool_use" if said.called else "max_tokens" if said.cut else "end_turn"


def _block(said: Echoed) -> dict[str, Any]:
    if said.called:
        given = msgspec.json.decode(said.called.arguments)
        return {"type": "tool_use", "id": said.called.id, "name": said.called.name, "input": given}
    return {"type": "text", "text": said.text}


def _message_events(said: Echoed) -> Iterator[bytes]:
    usage = {"input_tokens": said.read, "output_tokens": 1}
    begun = {**_message_head(said), "content": [], "stop_reason": None, "usage": usage}
    yield _event({"type": "message_start", "message": begun})
    empty = {**_block(said), "input": {}} if said.called else {"type": "text", "text": ""}
    yield _event({"type": "content_block_start", "index": 0, "content_block": empty})
    deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": word} for word in said.words]
    if said.called:
        deltas = [{"type": "input_json_delta", "partial_json": said.called.arguments}]
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _event({"type": "content_block_stop", "index": 0})
    stopped = {"stop_reason": _message_stop(said), "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": stopped, "usage": {"output_tokens": said.written}})
    yield _event({"type": "message_stop"})


_WRITTEN: dict[str, tuple[Callable[[Echoed], dict[str, Any]], Callable[[Echoed], Iterator[bytes]]]] = {
    "openai-chat": (_chat, _chat_events),
    "openai-responses": (_response, _response_events),
    "anthropic": (_message, _message_events),
}
