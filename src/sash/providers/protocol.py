"""The one verb of a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol

from sash.providers.events import Event


class Provider(Protocol):
    """
    Somebody who has a model.

    Asynchronous, because a server streams hundreds of answers at once in one thread; `answer`
    in `sash.providers.whole` is the same verb for callers that wait.
    """

    @property
    def name(self) -> str:
        """What it is called in settings: `openai`, `anthropic`, ..."""

    @property
    def model(self) -> str:
        """The model that answers."""

    @property
    def wire(self) -> str:
        """The wire that its requests are written in."""

    def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        """
        The answer to a request, as it comes; the last event is `Finished`.

        `request` is what `thread.request(provider.wire)` gives, with any further field that the
        provider takes. Errors are `ProviderError`s; they are raised when the stream is read. To cancel,
        close the stream (`contextlib.aclosing`) or cancel the task: the provider is told at once.
        """

    async def aclose(self) -> None:
        """Let go of connections."""
