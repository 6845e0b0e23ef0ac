"""Peers that hold the history themselves: Semantic Kernel, Microsoft Agent Framework, LlamaIndex, OpenAI Agents."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.histories import Said
from bench.peer_lists import LISTS, MESSAGE_TOKENS
from bench.windows import Shown, Window


class SemanticKernel(Window):
    """`ChatHistoryTruncationReducer`, reduced before each request."""

    name = "Semantic Kernel truncation"
    keeps_history = False

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        self.module = import_module("semantic_kernel.contents")
        most = max(2, cap // MESSAGE_TOKENS)
        self.history = self.module.ChatHistoryTruncationReducer(target_count=most, threshold_count=max(1, most // 20))

    def native(self, said: Said) -> list[Any]:
        """Its message with items."""
        module = self.module
        items: list[Any] = []
        if said["role"] == "tool":
            result = said["content"]
            items.append(module.FunctionResultContent(id=said["tool_call_id"], name="tool", result=result))
        else:
            items.append(module.TextContent(text=said["content"] or ""))
        for call in said.get("tool_calls") or ():
            named = call["function"]
            items.append(module.FunctionCallContent(id=call["id"], name=named["name"], arguments=named["arguments"]))
        return [module.ChatMessageContent(role=said["role"], items=items)]

    async def add(self, messages: Sequence[Any]) -> None:
        """One by one, as its users do."""
        for message in messages:
            self.history.add_message(message)

    async def load(self, history: Sequence[Any]) -> None:
        """All at once: what is loaded is not timed."""
        self.history.messages.extend(history)

    async def request(self) -> Sequence[Any]:
        """Reduced where it is too long."""
        await self.history.reduce()
        return list(self.history.messages)

    def shown(self, sent: Any) -> Shown:
        """From its items."""
        words: list[str] = []
        calls: list[str] = []
        answers: list[str] = []
        for item in sent.items:
            if isinstance(item, self.module.FunctionCallContent):
                words.append(str(item.arguments))
                calls.append(str(item.id))
            elif isinstance(item, self.module.FunctionResultContent):
                words.append(str(item.result))
                answers.append(str(item.id))
            else:
                words.append(item.text)
        return Shown(sent.role.value, "".join(words), tuple(calls), tuple(answers))


class AgentFramework(Window):
    """Microsoft Agent Framework's `TruncationStrategy`, from the cap down to 80 % of it, its own chars / 4."""

    name = "Microsoft Agent Framework, to 80 %"
    down_to = 0.8

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        self.module = import_module("agent_framework")
        self.tokenizer = self.module.CharacterEstimatorTokenizer()
        self.messages: list[Any] = []
        self.strategy: Any = None

    def native(self, said: Said) -> list[Any]:
        """Its message with contents."""
        content = self.module.Content
        if said["role"] == "tool":
            contents = [content.from_function_result(said["tool_call_id"], result=said["content"])]
        else:
            contents = [content.from_text(said["content"] or "")]
        for call in said.get("tool_calls") or ():
            named = call["function"]
            contents.append(content.from_function_call(call["id"], named["name"], arguments=named["arguments"]))
        return [self.module.Message(said["role"], contents)]

    async def add(self, messages: Sequence[Any]) -> None:
        """The session's list grows."""
        if self.strategy is None:
            # The cap is for the history: what the system prompt takes is added to it.
            apart = sum(len(m.text) // 4 for m in messages if m.role == "system")
            self.strategy = self.module.TruncationStrategy(
                max_n=self.cap + apart, compact_to=int(self.cap * self.down_to) + apart, tokenizer=self.tokenizer
            )
        self.messages += messages

    async def request(self) -> Sequence[Any]:
        """`apply_compaction`, as its chat clients do before each call."""
        sent: Sequence[Any] = await self.module.apply_compaction(
            self.messages, strategy=self.strategy, tokenizer=self.tokenizer
        )
        return sent

    def shown(self, sent: Any) -> Shown:
        """From its contents."""
        words: list[str] = []
        calls: list[str] = []
        answers: list[str] = []
        for item in sent.contents:
            if item.type == "function_call":
                words.append(str(item.arguments))
                calls.append(item.call_id)
            elif item.type == "function_result":
                words.append(str(item.result))
                answers.append(item.call_id)
            else:
                words.append(item.text or "")
        return Shown(str(sent.role), "".join(words), tuple(calls), tuple(answers))


class LlamaIndexMemory(Window):
    """LlamaIndex `Memory` on SQLite, in memory or in a file, a token for four characters. Its system stands apart."""

    name = "LlamaIndex Memory"

    def __init__(self, cap: int, place: Path | None = None) -> None:
        super().__init__(cap)
        self.kind = import_module("llama_index.core.llms").ChatMessage
        self.memory = import_module("llama_index.core.memory").Memory.from_defaults(
            token_limit=cap,
            token_flush_size=max(1, cap // 10),
            chat_history_token_ratio=1.0,
            tokenizer_fn=lambda text: range(len(text) // 4),
            session_id="bench",
            async_database_uri=f"sqlite+aiosqlite:///{place or ':memory:'}",
        )
        self.system: list[Any] = []

    def native(self, said: Said) -> list[Any]:
        """Its chat message, with calls where its OpenAI class puts them."""
        more: dict[str, Any] = {}
        if said.get("tool_calls"):
            more["tool_calls"] = said["tool_calls"]
        if said["role"] == "tool":
            more["tool_call_id"] = said["tool_call_id"]
        return [self.kind(role=said["role"], content=said["content"], additional_kwargs=more)]

    async def load(self, history: Sequence[Any]) -> None:
        """Into its store."""
        self.system = [message for message in history if message.role.value == "system"]
        rest = [message for message in history if message.role.value != "system"]
        # In pieces: all at once, the time it takes grows with the square of their number.
        for start in range(0, len(rest), 1_000):
            await self.memory.aput_messages(rest[start : start + 1_000])

    async def add(self, messages: Sequence[Any]) -> None:
        """As its agents do."""
        await self.memory.aput_messages(list(messages))

    async def request(self) -> Sequence[Any]:
        """What is still active."""
        return [*self.system, *await self.memory.aget()]

    def shown(self, sent: Any) -> Shown:
        """From its fields."""
        calls = sent.additional_kwargs.get("tool_calls") or ()
        words = "".join([sent.content or "", *(call["function"]["arguments"] for call in calls)])
        answer = sent.additional_kwargs.get("tool_call_id")
        answers = (answer,) if answer else ()
        return Shown(sent.role.value, words, tuple(call["id"] for call in calls), answers)


class OpenAIAgentsSession(Window):
    """OpenAI Agents `SQLiteSession`, in memory or in a file, with a limit of items. Its instructions stand apart."""

    name = "OpenAI Agents session, limit"

    def __init__(self, cap: int, place: Path | None = None) -> None:
        super().__init__(cap)
        # A call is an item of its own there.
        self.most = max(2, int(cap / MESSAGE_TOKENS * 1.4))
        self.session = import_module("agents").SQLiteSession("bench", place or ":memory:")
        self.system: list[Any] = []

    def native(self, said: Said) -> list[Any]:
        """Items of the Responses API."""
        if said["role"] == "tool":
            return [{"type": "function_call_output", "call_id": said["tool_call_id"], "output": said["content"]}]
        items: list[Any] = [{"role": said["role"], "content": said["content"] or ""}]
        for call in said.get("tool_calls") or ():
            named = call["function"]
            part = {"type": "function_call", "call_id": call["id"]}
            items.append({**part, "name": named["name"], "arguments": named["arguments"]})
        return items

    async def load(self, history: Sequence[Any]) -> None:
        """Into its table."""
        self.system = [item for item in history if item.get("role") == "system"]
        await self.session.add_items([item for item in history if item.get("role") != "system"])

    async def add(self, messages: Sequence[Any]) -> None:
        """As its runner does."""
        await self.session.add_items(list(messages))

    async def request(self) -> Sequence[Any]:
        """The newest items."""
        return [*self.system, *await self.session.get_items(limit=self.most)]

    def shown(self, sent: Any) -> Shown:
        """From an item."""
        match sent.get("type"):
            case "function_call":
                return Shown("assistant", sent["arguments"], (sent["call_id"],))
            case "function_call_output":
                return Shown("tool", sent["output"], (), (sent["call_id"],))
        return Shown(sent["role"], sent["content"])

    async def close(self) -> None:
        """Closes its connection."""
        self.session.close()


class LangChainSummary(Window):
    """LangChain's `SummarizationMiddleware` from the cap to half of it; a fixed text stands for the summary."""

    name = "LangChain Summarization, keep 50 %"
    keeps_history = False

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        fake = import_module("langchain_core.language_models.fake_chat_models").FakeListChatModel(responses=["."])
        self.form = LISTS["langchain-core"][0](cap)
        self.remove = import_module("langchain_core.messages").RemoveMessage
        self.middleware = import_module("langchain.agents.middleware").SummarizationMiddleware(
            fake,
            trigger=("tokens", cap),
            keep=("tokens", cap // 2),
            token_counter=lambda messages: sum(getattr(m, "chars4", None) or len(m.content) // 4 for m in messages),
            summarizer=lambda _: "What was said before, in short. " * 125,
        )
        self.state: list[Any] = []
        self.system: list[Any] = []

    def native(self, said: Said) -> list[Any]:
        """LangChain's message classes."""
        return self.form.native(said)

    async def add(self, messages: Sequence[Any]) -> None:
        """The graph's state grows."""
        self.system += [message for message in messages if message.type == "system"]
        self.state += [message for message in messages if message.type != "system"]

    async def request(self) -> Sequence[Any]:
        """The state after the hook that runs before each model call."""
        update = self.middleware.before_model({"messages": self.state}, None)
        if update:
            self.state = [message for message in update["messages"] if not isinstance(message, self.remove)]
        return self.system + self.state

    def shown(self, sent: Any) -> Shown:
        """From LangChain's message classes."""
        return self.form.shown(sent)


STORES: dict[str, tuple[type[Window], ...]] = {
    "agent-framework-core": (AgentFramework,),
    "langchain": (LangChainSummary,),
    "llama-index-core": (LlamaIndexMemory,),
    "openai-agents": (OpenAIAgentsSession,),
    "semantic-kernel": (SemanticKernel,),
}
"""By the distribution that brings them."""


def peer_windows(distributions: Sequence[str]) -> list[type[Window]]:
    """The contenders of the peers that are installed."""
    known = LISTS | STORES
    return [window for name in distributions for window in known.get(name, ())]
