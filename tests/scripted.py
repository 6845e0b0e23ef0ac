"""A provider that says what it was told to say, in memory: for everything a summarizer may hear."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from sash.providers import Event, Finished, Stop, TextDelta, ToolCalled, Usage

Reply = str | BaseException | Finished | ToolCalled | tuple[str, Stop]
"""Words; an error; a last event; a call; words and the reason to stop."""


class Scripted:
    """Answers one reply after the other, the last one again and again; or as a function of the request says."""

    name = "scripted"

    def __init__(
        self,
        *replies: Reply,
        answer: Callable[[str], Reply] | None = None,
        window: int = 100_000,
        wire: str = "openai-chat",
        usage: bool = True,
    ) -> None:
        self.model, self.wire, self.window = "scripted-1", wire, window
        self.replies: Sequence[Reply] = replies
        self.answer = answer
        self.usage = usage
        self.asked: list[str] = []
        """The user's message of each request."""

    async def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        asked = str(request["messages"][-1]["content"])
        self.asked.append(asked)
        given = self.answer(asked) if self.answer else self.replies[min(len(self.asked), len(self.replies)) - 1]
        if isinstance(given, BaseException):
            raise given
        stop: Stop = "end"
        if isinstance(given, tuple):
            given, stop = given
        if isinstance(given, str):
            for piece in given.splitlines(keepends=True):
                yield TextDelta(piece)
        elif isinstance(given, ToolCalled):
            yield given
        if isinstance(given, Finished):
            yield given
            return
        told = len(given.split()) if isinstance(given, str) else 0
        usage = Usage(input_tokens=len(asked) // 4 + 1, output_tokens=told + 1) if self.usage else None
        yield Finished(stop=stop, message={"role": "assistant", "content": ""}, usage=usage, model=self.model)

    async def aclose(self) -> None:
        pass
