"""The proxy's routes, as one table; the server mounts it behind its own."""

from __future__ import annotations

from starlette.routing import Route

from sash.server.proxy.exchange import Exchange
from sash.server.proxy.explaining import Explaining
from sash.server.proxy.passing import Passage
from sash.server.proxy.proxy import Proxy

MODEL_ROUTES = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic",
}


def proxy_routes(proxy: Proxy) -> list[Route]:
    """All of them; the last takes every other path of a provider's API."""
    return [
        *(Route(path, Exchange(proxy, wire), methods=["POST"]) for path, wire in MODEL_ROUTES.items()),
        Route("/v1/messages/count_tokens", Exchange(proxy, "anthropic", counts=True), methods=["POST"]),
        Route("/v1/sash/explain", Explaining(proxy), methods=["POST"]),
        Route("/v1/{path:path}", Passage(proxy)),
    ]
