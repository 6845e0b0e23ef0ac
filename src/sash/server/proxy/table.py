"""The proxy in the server's table of routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sash.server.proxy.exchange import Exchange
from sash.server.proxy.explaining import Explained, Explaining
from sash.server.proxy.passing import Passage
from sash.server.route import Asked, Method, Route

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

OWN = ("about", "sash", "search", "threads", "turns")
"""What follows `/v1/` in addresses of ours. A slip in one of them is told here, and never sent to a provider."""


class _ProviderPath(StringConvertor):
    regex = rf"(?!(?:{'|'.join(OWN)})(?:/|$)).*"


register_url_convertor("provider", _ProviderPath())


class Through(Response):
    """A response that is made while it is sent."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it."""
        await self._app(scope, receive, send)


async def chat_completions(asked: Asked[None, None]) -> Response:
    """OpenAI's chat completions, fitted on their way."""
    return Through(Exchange(asked.backend.proxy, "openai-chat", asked.tenant))


async def responses(asked: Asked[None, None]) -> Response:
    """OpenAI's Responses, fitted on their way."""
    return Through(Exchange(asked.backend.proxy, "openai-responses", asked.tenant))


async def messages(asked: Asked[None, None]) -> Response:
    """Anthropic's messages, fitted on their way."""
    return Through(Exchange(asked.backend.proxy, "anthropic", asked.tenant))


async def input_tokens(asked: Asked[None, None]) -> Response:
    """The tokens of what would be sent, as OpenAI's clients ask for them."""
    return Through(Exchange(asked.backend.proxy, "openai-responses", asked.tenant, use="count"))


async def compact_response(asked: Asked[None, None]) -> Response:
    """OpenAI's own compaction, of all of a history."""
    return Through(Exchange(asked.backend.proxy, "openai-responses", asked.tenant, use="compact"))


async def count_tokens(asked: Asked[None, None]) -> Response:
    """The tokens of what would be sent."""
    return Through(Exchange(asked.backend.proxy, "anthropic", asked.tenant, use="count"))


async def explain_request(asked: Asked[None, None]) -> Response:
    """What would be done to a body."""
    return Through(Explaining(asked.backend.proxy, asked.tenant))


def _passing(method: Method) -> Route:
    async def passed(asked: Asked[None, None]) -> Response:
        return Through(Passage(asked.backend.proxy))

    passed.__name__ = f"pass_{method.lower()}"
    says = "Any other path of a provider's API: passed on untouched, both ways."
    return Route(
        method=method, path="/v1/{path:provider}", run=passed, tag="proxy", says=says, dialect="openai",
        media=("json", "events", "bytes"),
    )  # fmt: skip


def _posted(path: str, run: Callable[[Any], Awaitable[Any]], says: str, **more: Any) -> Route:
    return Route(method="POST", path=path, run=run, tag="proxy", says=says, **more)


ROUTES: tuple[Route, ...] = (
    _posted(
        "/v1/chat/completions", chat_completions, "OpenAI's chat completions: the history fitted into the window.",
        dialect="openai", media=("json", "events"),
    ),
    _posted(
        "/v1/responses", responses, "OpenAI's Responses: the history fitted into the window.",
        dialect="openai", media=("json", "events"),
    ),
    _posted(
        "/v1/responses/input_tokens", input_tokens, "The tokens of what would be sent.", dialect="openai",
    ),
    _posted(
        "/v1/responses/compact", compact_response, "OpenAI's own compaction: handed all of a history.",
        dialect="openai",
    ),
    _posted(
        "/v1/messages", messages, "Anthropic's messages: the history fitted into the window.",
        dialect="anthropic", media=("json", "events"),
    ),
    _posted(
        "/v1/messages/count_tokens", count_tokens, "The tokens of what would be sent.", dialect="anthropic",
    ),
    _posted(
        "/v1/sash/explain", explain_request, "What the proxy would do to a body, and why; nothing is sent.",
        answer=Explained, dialect="openai",
    ),
    *(_passing(method) for method in get_args(Method)),
)  # fmt: skip
"""Last in the server's own table: the last of them take every path that is nobody else's."""
