"""
Peers that work on a list of messages in memory: LangChain, LiteLLM, Strands, Pydantic AI.

Each is set up as its documentation recommends for a history of a given size. Those that limit the number of messages
and not of tokens get the number that holds the cap on average.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from bench.histories import Said
from bench.windows import Shown, Window, chars4

MESSAGE_TOKENS = 410
"""Mean size of a message in the generated histories."""


class LangChainTrim(Window):
    """`trim_messages` over the whole history, with the arguments that its documentation recommends."""

    name = "LangChain trim_messages"
    recommended = True

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        module = import_module("langchain_core.messages")
        self.kinds = {
            "user": module.HumanMessage,
            "system": module.SystemMessage,
            "assistant": module.AIMessage,
            "tool": module.ToolMessage,
        }
        self.trim = module.trim_messages
        self.history: list[Any] = []
        self.system_tokens = 0

    def native(self, said: Said) -> list[Any]:
        """Its message classes."""
        if said["role"] == "assistant":
            calls = [
                {"name": call["function"]["name"], "args": json.loads(call["function"]["arguments"]), "id": call["id"]}
                for call in said.get("tool_calls") or ()
            ]
            return [self.kinds["assistant"](content=said["content"] or "", tool_calls=calls, chars4=chars4(said))]
        if said["role"] == "tool":
            return [self.kinds["tool"](content=said["content"], tool_call_id=said["tool_call_id"])]
        return [self.kinds[said["role"]](content=said["content"])]

    async def add(self, messages: Sequence[Any]) -> None:
        """The caller's list grows."""
        self.history += messages
        if not self.system_tokens:
            self.system_tokens = sum(len(m.content) // 4 for m in messages if m.type == "system")

    async def request(self) -> Sequence[Any]:
        """Trimmed anew from the whole list."""
        more = {"start_on": "human", "include_system": True} if self.recommended else {}
        # The cap is for the history: what the system prompt takes is added to it.
        room = self.cap + (self.system_tokens if self.recommended else 0)
        trimmed: Sequence[Any] = self.trim(self.history, max_tokens=room, token_counter=self._tokens, **more)
        return trimmed

    @staticmethod
    def _tokens(messages: Sequence[Any]) -> int:
        # Arguments are parsed on entry there, so their length was noted beside them.
        return sum(getattr(m, "chars4", None) or len(m.content) // 4 for m in messages)

    def shown(self, sent: Any) -> Shown:
        """From its message classes."""
        calls = getattr(sent, "tool_calls", None) or ()
        words = "".join([sent.content, *(json.dumps(call["args"], separators=(",", ":")) for call in calls)])
        answers = (sent.tool_call_id,) if sent.type == "tool" else ()
        return Shown(_ROLES.get(sent.type, sent.type), words, tuple(call["id"] for call in calls), answers)


class LangChainTrimDefault(LangChainTrim):
    """`trim_messages` with nothing but the cap given."""

    name = "LangChain trim_messages, default arguments"
    recommended = False


_ROLES = {"human": "user", "ai": "assistant"}


class LiteLLMTrim(Window):
    """`litellm.utils.trim_messages`, its counter replaced by chars / 4, which only makes it faster."""

    name = "LiteLLM trim_messages"

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        module = import_module("litellm.utils")

        def count(*_: Any, messages: Sequence[Said] = (), text: str = "", **__: Any) -> int:
            return sum(map(chars4, messages)) + len(text or "") // 4

        vars(module)["token_counter"] = count
        self.trim = module.trim_messages
        self.history: list[Said] = []
        self.system_tokens = 0

    async def add(self, messages: Sequence[Any]) -> None:
        """The caller's list grows."""
        self.history += messages
        self.system_tokens = self.system_tokens or chars4(self.history[0])

    async def request(self) -> Sequence[Any]:
        """Trimmed anew from the whole list."""
        trimmed: Sequence[Any] = self.trim(self.history, max_tokens=self.cap + self.system_tokens)
        return trimmed


class Strands(Window):
    """`SlidingWindowConversationManager` before every model call; its agent keeps the system prompt apart."""

    name = "Strands sliding window"
    keeps_history = False

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        module = import_module("strands.agent.conversation_manager")
        self.manager = module.SlidingWindowConversationManager(window_size=max(2, cap // MESSAGE_TOKENS))
        self.agent = SimpleNamespace(messages=[])
        self.system: list[Any] = []

    def native(self, said: Said) -> list[Any]:
        """Bedrock's content blocks."""
        if said["role"] == "tool":
            result = {"toolUseId": said["tool_call_id"], "status": "success", "content": [{"text": said["content"]}]}
            return [{"role": "user", "content": [{"toolResult": result}]}]
        blocks: list[Any] = [{"text": said["content"] or ""}]
        for call in said.get("tool_calls") or ():
            use = {"toolUseId": call["id"], "name": call["function"]["name"]}
            blocks.append({"toolUse": {**use, "input": json.loads(call["function"]["arguments"])}})
        return [{"role": said["role"], "content": blocks}]

    async def add(self, messages: Sequence[Any]) -> None:
        """Results of one step are one message there."""
        for message in messages:
            if message["role"] == "system":
                self.system.append(message)
                continue
            last = self.agent.messages[-1] if self.agent.messages else None
            if last and "toolResult" in message["content"][0] and "toolResult" in last["content"][0]:
                self.agent.messages[-1] = {"role": "user", "content": last["content"] + message["content"]}
            else:
                self.agent.messages.append(message)

    async def request(self) -> Sequence[Any]:
        """What is left in its list."""
        self.manager.apply_management(self.agent)
        return [*self.system, *self.agent.messages]

    def shown(self, sent: Any) -> Shown:
        """From its content blocks."""
        words: list[str] = []
        calls: list[str] = []
        answers: list[str] = []
        for block in sent["content"]:
            if "text" in block:
                words.append(block["text"])
            elif "toolUse" in block:
                words.append(json.dumps(block["toolUse"]["input"], separators=(",", ":")))
                calls.append(block["toolUse"]["toolUseId"])
            else:
                words += [part["text"] for part in block["toolResult"]["content"]]
                answers.append(block["toolResult"]["toolUseId"])
        return Shown(sent["role"], "".join(words), tuple(calls), tuple(answers))


class PydanticSlice(Window):
    """
    Pydantic AI's documented history processor: the newest so many messages. Its instructions stand apart.

    What is cut in two is mended before each request by its agent, which says that it runs this same repair.
    """

    name = "Pydantic AI slice, repaired"

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        self.module = import_module("pydantic_ai.messages")
        self.most = max(2, cap // MESSAGE_TOKENS)
        self.history: list[Any] = []
        self.system: list[Any] = []

    def native(self, said: Said) -> list[Any]:
        """Its requests and responses."""
        module = self.module
        match said["role"]:
            case "system":
                return [module.ModelRequest(parts=[module.SystemPromptPart(content=said["content"])])]
            case "user":
                return [module.ModelRequest(parts=[module.UserPromptPart(content=said["content"])])]
            case "tool":
                part = module.ToolReturnPart(
                    tool_name="tool", content=said["content"], tool_call_id=said["tool_call_id"]
                )
                return [module.ModelRequest(parts=[part])]
        parts: list[Any] = [module.TextPart(content=said["content"] or "")]
        for call in said.get("tool_calls") or ():
            named = call["function"]
            part = module.ToolCallPart(tool_name=named["name"], args=named["arguments"], tool_call_id=call["id"])
            parts.append(part)
        return [module.ModelResponse(parts=parts)]

    async def add(self, messages: Sequence[Any]) -> None:
        """The history grows."""
        if not self.history and not self.system:
            self.system, messages = list(messages[:1]), messages[1:]
        self.history += messages

    async def request(self) -> Sequence[Any]:
        """`messages[-n:]`, as in its documentation, and the repair after it."""
        return [*self.system, *self.module.repair_messages(self.history[-self.most :])]

    def shown(self, sent: Any) -> Shown:
        """From its parts."""
        words: list[str] = []
        calls: list[str] = []
        answers: list[str] = []
        role = "assistant" if sent.kind == "response" else "user"
        for part in sent.parts:
            if part.part_kind == "tool-call":
                words.append(part.args)
                calls.append(part.tool_call_id)
            else:
                words.append(part.content)
            if part.part_kind == "tool-return":
                answers.append(part.tool_call_id)
            if part.part_kind == "system-prompt":
                role = "system"
        return Shown(role, "".join(words), tuple(calls), tuple(answers))


LISTS: dict[str, tuple[type[Window], ...]] = {
    "langchain-core": (LangChainTrim, LangChainTrimDefault),
    "litellm": (LiteLLMTrim,),
    "pydantic-ai-slim": (PydanticSlice,),
    "strands-agents": (Strands,),
}
"""By the distribution that brings them."""
