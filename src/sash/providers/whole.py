"""The verb of a provider for callers that wait: an answer in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from threading import Event as Flag
from typing import Any

import msgspec

from sash.errors import AnswerBroken, ProviderSilent
from sash.providers.events import Finished, Stop, TextDelta, ToolCalled, Usage
from sash.providers.protocol import Provider

_LOOK_SECONDS = 0.05


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """All that a model said."""

    text: str
    calls: tuple[ToolCalled, ...] = ()
    stop: Stop
    usage: Usage | None = None
    message: Mapping[str, Any] = {}
    model: str = ""


def answer(
    provider: Provider,
    request: Mapping[str, Any],
    *,
    max_tokens: int | None = None,
    seconds: float | None = None,
    cancelled: Flag | None = None,
) -> Answer:
    """
    Asks and waits, for at most so many seconds.

    Safe in any thread, also in one that runs an event loop of its own. Setting `cancelled`
    in another thread ends it with `asyncio.CancelledError`.
    """
    asked = _Asking(provider, request, max_tokens, seconds, cancelled)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asked.run())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asked.run()).result()


class _Asking:
    def __init__(
        self,
        provider: Provider,
        request: Mapping[str, Any],
        max_tokens: int | None,
        seconds: float | None,
        cancelled: Flag | None,
    ) -> None:
        self.provider, self.request, self.max_tokens = provider, request, max_tokens
        self.seconds, self.cancelled = seconds, cancelled

    async def run(self) -> Answer:
        if self.cancelled is not None and self.cancelled.is_set():
            raise asyncio.CancelledError
        try:
            async with asyncio.timeout(self.seconds):
                asked = asyncio.ensure_future(self._gather())
                watched = asyncio.ensure_future(self._watch())
                try:
                    await asyncio.wait({asked, watched}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    watched.cancel()
                    if not asked.done():
                        asked.cancel()
                return await asked
        except TimeoutError:
            raise ProviderSilent(f"{self.provider!r} was not done in {self.seconds} s", worth_retrying=True) from None
        finally:
            await self.provider.aclose()

    async def _watch(self) -> None:
        while self.cancelled is None or not self.cancelled.is_set():
            await asyncio.sleep(_LOOK_SECONDS if self.cancelled is not None else 3600)

    async def _gather(self) -> Answer:
        text: list[str] = []
        calls: list[ToolCalled] = []
        async with aclosing(self.provider.complete(self.request, max_tokens=self.max_tokens)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    text.append(event.text)
                elif isinstance(event, ToolCalled):
                    calls.append(event)
                elif isinstance(event, Finished):
                    return Answer(
                        text="".join(text),
                        calls=tuple(calls),
                        stop=event.stop,
                        usage=event.usage,
                        message=event.message,
                        model=event.model,
                    )
        raise AnswerBroken(f"{self.provider!r} ended without finishing", worth_retrying=True)
