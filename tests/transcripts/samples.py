"""A small session in each format, with a bit of everything that the format knows."""

# ruff: noqa: E501  (a record is easier to see on one line)

from __future__ import annotations

from typing import Any

AT = "2026-05-12T01:02:27.657Z"
PIXEL = "iVBORw0KGgo="


def claude(kind: str, uuid: str, parent: str | None, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": AT, "cwd": "/tmp", **more}


def pi(kind: str, entry: str, parent: str | None, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": entry, "parentId": parent, "timestamp": AT, **more}


def codex(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


_CALL = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}
_RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "found"}]}
_USAGE = {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 1}
_TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}

SAMPLES: dict[str, list[Any]] = {
    "claude-code": [
        claude("user", "u1", None, message={"role": "user", "content": "hello"}),
        claude(
            "assistant", "a1", "u1",
            message={"role": "assistant", "id": "m1", "model": "claude-opus-5", "content": [_CALL], "usage": _USAGE},
        ),
        claude("user", "r1", "a1", message={"role": "user", "content": [_RESULT]}),
        claude("user", "i1", "r1", isMeta=True, message={"role": "user", "content": "a reminder"}),
        claude("system", "b1", None, subtype="compact_boundary", compactMetadata={"preservedMessages": {"uuids": ["r1"]}}),
        claude("user", "s1", "b1", isCompactSummary=True, message={"role": "user", "content": "in short"}),
        claude("attachment", "q1", "s1", attachment={"type": "queued_command", "prompt": "more", "commandMode": "prompt"}),
    ],
    "pi": [
        {"type": "session", "version": 3, "id": "s", "timestamp": AT, "cwd": "/tmp"},
        pi("model_change", "1", None, provider="anthropic", modelId="claude-opus-5"),
        pi("message", "2", "1", message={"role": "user", "content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}),
        pi(
            "message", "3", "2",
            message={
                "role": "assistant", "api": "anthropic-messages", "model": "claude-opus-5", "usage": {"input": 5, "output": 1},
                "content": [
                    {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                    {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
                ],
            },
        ),
        pi("message", "4", "3", message={"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "x"}]}),
        pi("compaction", "5", "4", summary="in short", firstKeptEntryId="3", tokensBefore=9),
        pi("custom_message", "6", "5", customType="x", content="a reminder", display=True),
        pi("message", "7", "6", message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 1}),
        pi("branch_summary", "8", "7", fromId="3", summary="was elsewhere"),
        pi("session_info", "9", "8", name="a title"),
    ],
    "codex": [
        codex("session_meta", id="s", cwd="/tmp", timestamp=AT, base_instructions={"text": "be brief"}),
        codex("turn_context", model="gpt-5"),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "hello"}]),
        codex("response_item", type="reasoning", id="r", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="e"),
        codex("response_item", type="function_call", name="shell", arguments="{}", call_id="c1"),
        codex("response_item", type="function_call_output", call_id="c1", output={"content": "found", "success": True}),
        codex(
            "event_msg", type="token_count",
            info={"last_token_usage": {"input_tokens": 9}, "total_token_usage": {"input_tokens": 9}},
        ),
        codex("compacted", message="in short", replacement_history=[{"type": "message", "role": "user", "content": "hello"}]),
        codex("event_msg", type="thread_rolled_back", num_turns=7),
        codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
    ],
    "gemini": [
        {
            "sessionId": "s", "startTime": AT,
            "messages": [
                {"id": "1", "type": "user", "timestamp": AT, "content": [{"text": "hello"}]},
                {
                    "id": "2", "type": "gemini", "content": "", "model": "gemini-3", "tokens": {"input": 9, "output": 1},
                    "toolCalls": [
                        {
                            "id": "c1", "name": "read", "args": {"path": "a"}, "status": "success",
                            "result": [{"functionResponse": {"id": "c1", "response": {"output": "found"}, "parts": []}}],
                        }
                    ],
                },
                {"id": "3", "type": "info", "content": "a note"},
            ],
        }
    ],
    "droid": [
        {"type": "session_start", "id": "s", "title": "a title", "cwd": "/tmp"},
        {"type": "message", "id": "1", "timestamp": AT, "message": {"role": "user", "content": "hello"}},
        {"type": "message", "id": "2", "timestamp": AT, "message": {"role": "assistant", "content": [_CALL]}},
        {"type": "message", "id": "3", "timestamp": AT, "message": {"role": "user", "content": [_RESULT]}},
    ],
    "sharegpt": [
        {
            "system": "be brief", "tools": '[{"name": "read", "parameters": {}}]',
            "conversations": [
                {"from": "human", "value": "hello"},
                {"from": "function_call", "value": '{"name": "read", "arguments": {"path": "a"}}'},
                {"from": "observation", "value": "found"},
                {"from": "gpt", "value": "done"},
            ],
        }
    ],
    "swe-agent": [
        {
            "environment": "main",
            "history": [
                {"role": "system", "content": "be brief", "agent": "main"},
                {"role": "user", "content": "hello", "agent": "main"},
                {"role": "assistant", "content": "so", "tool_calls": [_TOOL_CALL], "thought": "so"},
                {"role": "tool", "content": [{"type": "text", "text": "found"}], "tool_call_ids": ["c1"]},
            ],
        }
    ],
    "locomo": [
        {
            "sample_id": "conv-1",
            "conversation": {
                "speaker_a": "Ann", "speaker_b": "Ben", "session_2_date_time": "1:56 pm on 8 May, 2023",
                "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "later", "blip_caption": "a boat"}],
                "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "hello"}, {"speaker": "Ben", "text": "hi"}],
            },
            "qa": [],
        }
    ],
    "openai-chat": [
        {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": None, "tool_calls": [_TOOL_CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "found"},
            ],
            "response": {
                "model": "gpt-5", "created": 1757015025, "choices": [{"message": {"role": "assistant", "content": "done"}}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
            },
        }
    ],
    "openai-responses": [
        {
            "model": "gpt-5", "instructions": "be brief",
            "input": [
                {"type": "message", "role": "user", "content": "hello"},
                {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "found"},
            ],
        }
    ],
    "anthropic": [
        {
            "model": "claude-opus-5", "system": "be brief", "tools": [{"name": "read", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [_CALL]},
                {"role": "user", "content": [_RESULT]},
            ],
        }
    ],
}  # fmt: skip
