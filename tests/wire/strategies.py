"""Bodies that providers take, in every odd spelling; and histories that nobody should have written."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

WIRES = ("openai-chat", "openai-responses", "anthropic")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
ODD_TEXT = (
    st.sampled_from(['"', "\\", "\n\t\x00\x7f", "😀", "é", "中文", "a\u2028b", "[sash: x", "</script>", "a" * 50])
    | TEXT
)


class Literal(str):
    """A number in exactly this spelling."""


class Pairs(list[tuple[str, Any]]):
    """An object that may hold a key twice."""


def spelled(value: Any, random: Random) -> str:
    """JSON of a value with whitespace and escapes as they fall."""

    def gap() -> str:
        return random.choice(["", "", "", " ", "\n  ", "\t"])

    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(_character(char, random) for char in value) + '"'
    if isinstance(value, Pairs | dict):
        pairs = value if isinstance(value, Pairs) else list(value.items())
        inside = f",{gap()}".join(f"{spelled(k, random)}{gap()}:{gap()}{spelled(v, random)}" for k, v in pairs)
        return f"{{{gap()}{inside}{gap()}}}"
    if isinstance(value, list):
        return f"[{gap()}{f'{gap()},'.join(spelled(item, random) for item in value)}{gap()}]"
    return json.dumps(value)


def _character(char: str, random: Random) -> str:
    if char in '"\\' or char < " ":
        return json.dumps(char)[1:-1]
    if random.random() < 0.2:
        return json.dumps(char)[1:-1] if char > "~" else f"\\u{ord(char):04x}"
    return "\\/" if char == "/" and random.random() < 0.5 else char


NUMBERS = st.sampled_from([Literal(n) for n in ("1e400", "-0", "1.0", "9" * 400, "12345678901234567890.5", "3")])
UNKNOWN: st.SearchStrategy[Any] = st.recursive(
    NUMBERS | ODD_TEXT | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(st.tuples(st.sampled_from(["a", "b", "é"]), inner), max_size=3).map(Pairs)
    ),
    max_leaves=4,
)
EXTRAS = st.dictionaries(st.sampled_from(["x_vendor", "metadata2", "é"]), UNKNOWN, max_size=1)
CACHED: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
)
ARGUMENTS = st.dictionaries(ODD_TEXT, ODD_TEXT | st.integers(), max_size=2)


@st.composite
def chat_messages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A valid history of OpenAI's chat completions."""
    said: list[dict[str, Any]] = []
    if draw(st.booleans()):
        role = draw(st.sampled_from(["system", "developer"]))
        said.append({"role": role, "content": draw(ODD_TEXT | st.just([{"type": "text", "text": "be kind"}]))})
    part = st.one_of(
        st.builds(lambda text, cached: {"type": "text", "text": text, **cached}, ODD_TEXT, CACHED),
        st.just({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}}),
        st.just({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}),
        st.just({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
        st.just({"type": "file", "file": {"file_id": "file-1"}}),
        st.just({"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}}),
        st.just({"type": "file", "file": {"file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"}}),
    )
    for turn in range(draw(st.integers(1, 3))):
        content = draw(ODD_TEXT | st.lists(part, min_size=1, max_size=3))
        said.append({"role": "user", "content": content, **draw(EXTRAS)})
        for step in range(draw(st.integers(0, 2))):
            ids = [f"call_{turn}_{step}_{n}" for n in range(draw(st.integers(1, 3)))]
            calls: list[dict[str, Any]] = []
            for name in ids:
                if draw(st.integers(0, 5)) == 0:
                    calls.append({"id": name, "type": "custom", "custom": {"name": "grep", "input": draw(ODD_TEXT)}})
                    continue
                arguments = draw(ARGUMENTS.map(json.dumps) | st.sampled_from(["", "{broken", "[1]"]))
                calls.append({"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}})
            said.append(
                {"role": "assistant", "content": draw(st.none() | ODD_TEXT), "tool_calls": calls, **draw(EXTRAS)}
            )
            said += [{"role": "tool", "tool_call_id": name, "content": draw(ODD_TEXT | st.just(""))} for name in ids]
        if draw(st.integers(0, 3)) == 0:
            said.append({"role": "assistant", "content": None, "audio": {"id": "audio_1"}})
        elif draw(st.integers(0, 3)) == 0:
            said.append({"role": "assistant", "content": None, "refusal": draw(TEXT)})
        else:
            said.append({"role": "assistant", "content": draw(ODD_TEXT), **draw(EXTRAS)})
    said.append({"role": "user", "content": "go on"})
    return said


@st.composite
def anthropic_messages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A valid history of Anthropic's Messages API."""
    said: list[dict[str, Any]] = []
    text = st.builds(lambda text, cached: {"type": "text", "text": text, **cached}, ODD_TEXT, CACHED)
    shown = st.one_of(
        text,
        st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}),
        st.just({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}),
        st.just({"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
        st.just(
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}, "title": "t"}
        ),
        st.just({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "x"}]}}),
        st.just({"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}),
    )
    thinking = st.sampled_from(
        [
            [],
            [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}],
            [
                {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                {"type": "thinking", "thinking": "", "signature": "cw=="},
            ],
        ]
    )
    server = st.sampled_from(
        [
            [],
            [],
            [
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
                },
            ],
        ]
    )
    for turn in range(draw(st.integers(1, 3))):
        said.append(
            {"role": "user", "content": draw(ODD_TEXT | st.lists(shown, min_size=1, max_size=3)), **draw(EXTRAS)}
        )
        for step in range(draw(st.integers(0, 2))):
            ids = [f"toolu_{turn}_{step}_{n}" for n in range(draw(st.integers(1, 3)))]
            calls = [
                {"type": "tool_use", "id": name, "name": "f", "input": draw(ARGUMENTS), **draw(CACHED)} for name in ids
            ]
            said.append(
                {
                    "role": "assistant",
                    "content": [*draw(thinking), *draw(server), *draw(st.lists(text, max_size=1)), *calls],
                }
            )
            results: list[dict[str, Any]] = []
            for name in ids:
                result: dict[str, Any] = {"type": "tool_result", "tool_use_id": name}
                if draw(st.booleans()):
                    result["content"] = draw(ODD_TEXT | st.lists(shown, min_size=1, max_size=2))
                if draw(st.booleans()):
                    # An error holds nothing but words.
                    content = result.get("content", "")
                    words = isinstance(content, str) or all(part["type"] == "text" for part in content)
                    result["is_error"] = words and draw(st.booleans())
                results.append(result | draw(CACHED))
            said.append({"role": "user", "content": [*results, *draw(st.lists(text, max_size=1))]})
        said.append({"role": "assistant", "content": draw(ODD_TEXT | st.lists(text, min_size=1, max_size=2))})
    said.append({"role": "user", "content": "go on"})
    return _within(2, said)


def _within(marks: int, said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with so many breakpoints at the most: with tools and system prompt the provider takes four."""

    def walk(node: Any) -> Any:
        nonlocal marks
        if isinstance(node, list) and not isinstance(node, Pairs):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        whole = {name: walk(value) for name, value in node.items() if name != "cache_control"}
        if "cache_control" in node and marks:
            marks -= 1
            whole["cache_control"] = node["cache_control"]
        return whole

    return [walk(message) for message in said]


@st.composite
def responses_items(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A valid input of OpenAI's Responses."""
    items: list[dict[str, Any]] = []
    number = iter(range(10_000))
    if draw(st.booleans()):
        items.append({"role": draw(st.sampled_from(["system", "developer"])), "content": draw(ODD_TEXT)})
    part = st.one_of(
        st.builds(lambda text: {"type": "input_text", "text": text}, ODD_TEXT),
        st.just({"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}),
        st.just({"type": "input_image", "file_id": "file-1", "detail": "high"}),
        st.just({"type": "input_file", "file_url": "https://example.com/a.pdf"}),
        st.just({"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}),
    )
    for turn in range(draw(st.integers(1, 3))):
        items.append(
            {"role": "user", "content": draw(ODD_TEXT | st.lists(part, min_size=1, max_size=3)), **draw(EXTRAS)}
        )
        for step in range(draw(st.integers(0, 2))):
            if draw(st.booleans()):
                summary = draw(
                    st.lists(st.builds(lambda text: {"type": "summary_text", "text": text}, TEXT), max_size=1)
                )
                items.append(
                    {"type": "reasoning", "id": f"rs_{next(number)}", "summary": summary, "encrypted_content": "x"}
                )
            results: list[dict[str, Any]] = []
            for n in range(draw(st.integers(1, 3))):
                name, kind = f"call_{turn}_{step}_{n}", draw(st.integers(0, 6))
                if kind == 0:
                    items.append({"type": "custom_tool_call", "call_id": name, "name": "g", "input": draw(ODD_TEXT)})
                    results.append({"type": "custom_tool_call_output", "call_id": name, "output": draw(ODD_TEXT)})
                elif kind == 1:
                    action = {"type": "exec", "command": ["ls"], "env": {}}
                    identity = {"id": f"sh_{next(number)}", "call_id": name, "status": "completed"}
                    items.append({"type": "local_shell_call", **identity, "action": action})
                    results.append({"type": "local_shell_call_output", "id": name, "output": "{}"})
                else:
                    call = {"type": "function_call", "call_id": name, "name": "f", "id": f"fc_{next(number)}"}
                    items.append({**call, "arguments": draw(ARGUMENTS.map(json.dumps) | st.just("{broken"))})
                    output = draw(ODD_TEXT | st.lists(part, min_size=1, max_size=2))
                    results.append({"type": "function_call_output", "call_id": name, "output": output})
            items += results
        if draw(st.booleans()):
            action = {"type": "search", "query": "q"}
            items.append(
                {"type": "web_search_call", "id": f"ws_{next(number)}", "status": "completed", "action": action}
            )
        said = {"type": "output_text", "text": draw(ODD_TEXT), "annotations": []}
        answer = {"type": "message", "role": "assistant", "id": f"msg_{next(number)}", "status": "completed"}
        items.append(draw(st.sampled_from([{**answer, "content": [said]}, {"role": "assistant", "content": "fine"}])))
    items.append({"role": "user", "content": "go on"})
    return items


TOOLS: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {
            "type": "function",
            "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True},
        },
        {"type": "function", "function": {"name": "bare"}},
        {"type": "custom", "custom": {"name": "grep"}},
    ],
    "openai-responses": [
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True, "description": "d"},
        {"type": "function", "name": "bare", "parameters": None, "strict": None},
        {"type": "web_search"},
    ],
    "anthropic": [
        {"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    ],
}
HISTORIES: dict[str, Callable[[], st.SearchStrategy[list[dict[str, Any]]]]] = {
    "openai-chat": chat_messages,
    "openai-responses": responses_items,
    "anthropic": anthropic_messages,
}
FIELDS = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages"}


@st.composite
def bodies(draw: st.DrawFn, wire: str) -> dict[str, Any]:
    """A whole request that the wire's provider takes."""
    body: dict[str, Any] = {"model": "m", **draw(EXTRAS)}
    if wire == "anthropic":
        system = st.sampled_from(
            ["", "be kind", [], [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]]
        )
        body |= draw(st.builds(lambda given: {} if given is None else {"system": given}, st.none() | system))
    if wire == "openai-responses":
        body |= draw(st.sampled_from([{}, {"instructions": None}, {"instructions": "be kind"}, {"instructions": ""}]))
    body[FIELDS[wire]] = draw(HISTORIES[wire]())
    if wire == "openai-responses" and draw(st.integers(0, 9)) == 0:
        body["input"] = draw(ODD_TEXT)
    body |= draw(st.sampled_from([{}, {"tools": []}, {"tools": TOOLS[wire]}, {"tools": None}]))
    return body | draw(st.sampled_from([{}, {"stream": True}, {"temperature": Literal("1.0")}]))


@st.composite
def spelled_bodies(draw: st.DrawFn, wire: str) -> bytes:
    """The same as bytes, spelled as nobody's encoder would."""
    return spelled(draw(bodies(wire)), Random(draw(st.integers(0, 999)))).encode()


IDS = st.sampled_from(["a", "b", "c", "a:b", ""])


@st.composite
def broken_messages(draw: st.DrawFn, wire: str, *, max_size: int = 10) -> list[dict[str, Any]]:
    """Messages in any order: orphans, missing results, ids used twice, words between, nothing said."""
    pieces = {"openai-chat": _broken_chat, "openai-responses": _broken_items, "anthropic": _broken_anthropic}[wire]
    return draw(st.lists(pieces(), max_size=max_size))


def _broken_chat() -> st.SearchStrategy[dict[str, Any]]:
    call = st.builds(
        lambda name, tool: {"id": name, "type": "function", "function": {"name": tool, "arguments": "{}"}},
        IDS,
        st.sampled_from(["f", "f", ""]),
    )
    odd = st.builds(lambda name: {"id": name, "type": "odd", "odd": {}}, IDS)
    return st.one_of(
        st.builds(
            lambda text: {"role": "user", "content": text},
            st.sampled_from(["hi", "", " ", [{"type": "text", "text": "x"}], []]),
        ),
        st.builds(lambda text: {"role": "assistant", "content": text}, st.sampled_from(["yes", "", None, []])),
        st.builds(
            lambda calls, text: {"role": "assistant", "content": text, "tool_calls": calls},
            st.lists(call | odd, max_size=3),
            st.sampled_from(["yes", None, []]),
        ),
        st.builds(
            lambda name, said: {"role": "tool", "tool_call_id": name, "content": said},
            IDS,
            st.sampled_from(["r", "r", []]),
        ),
        st.sampled_from([{"role": "system", "content": "be kind"}, {"role": "system", "content": []}]),
        st.just({"role": "assistant", "content": [], "refusal": "no"}),
        st.just({"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}),
        st.just({"role": "function", "name": "old", "content": "r"}),
    )


def _broken_anthropic() -> st.SearchStrategy[dict[str, Any]]:
    marked = {"cache_control": {"type": "ephemeral"}}
    text = st.sampled_from(
        [{"type": "text", "text": "x"}, {"type": "text", "text": " "}, {"type": "text", "text": "x", **marked}]
    )
    result = st.builds(
        lambda name, said: {"type": "tool_result", "tool_use_id": name, "content": said},
        IDS,
        st.sampled_from(["r", "r", " "]) | st.lists(text, max_size=2),
    )
    call = st.builds(
        lambda name, tool, given: {"type": "tool_use", "id": name, "name": tool, "input": given},
        IDS,
        st.sampled_from(["f", "f", ""]),
        st.sampled_from([{}, {"a": 1}, "", "x", '{"a":1}', [1]]),
    )
    thinking = st.sampled_from(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "thinking", "thinking": "hm"},
            {"type": "thinking", "thinking": "hm", "signature": ""},
        ]
    )
    return st.one_of(
        st.builds(lambda content: {"role": "user", "content": content}, st.sampled_from(["hi", "", " ", []])),
        st.builds(lambda blocks: {"role": "user", "content": blocks}, st.lists(result | text, max_size=4)),
        st.builds(
            lambda blocks: {"role": "assistant", "content": blocks}, st.lists(call | text | thinking, max_size=4)
        ),
        st.just({"role": "system", "content": "be kind"}),
        st.just({"role": "assistant", "content": ""}),
    )


def _broken_items() -> st.SearchStrategy[dict[str, Any]]:
    kinds = st.sampled_from(["function_call", "custom_tool_call", "shell_call"])
    outputs = st.sampled_from(["function_call_output", "custom_tool_call_output", "shell_call_output"])
    numbers = st.sampled_from([None, "i1", "i2"])
    spoken = {"arguments": "{}", "input": "x"}
    names = st.sampled_from(["f", "f", ""])
    return st.one_of(
        st.builds(
            lambda text: {"role": "user", "content": text},
            st.sampled_from(["hi", "", [{"type": "input_text", "text": "x"}], []]),
        ),
        st.builds(lambda text: {"role": "assistant", "content": text}, st.sampled_from(["yes", ""])),
        st.builds(
            lambda kind, call, i, name: {"type": kind, "call_id": call, "id": i, "name": name, **spoken},
            kinds,
            IDS,
            numbers,
            names,
        ),
        st.builds(lambda kind, name: {"type": kind, "call_id": name, "output": "r"}, outputs, IDS),
        st.builds(lambda i: {"type": "reasoning", "id": i, "summary": []}, numbers),
        st.sampled_from([{"role": "system", "content": "be kind"}, {"type": "web_search_call", "id": "i1"}]),
        st.sampled_from(
            [
                {"type": "mcp_approval_request", "id": "a", "name": "f", "arguments": "{}", "server_label": "s"},
                {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
            ]
        ),
    )
