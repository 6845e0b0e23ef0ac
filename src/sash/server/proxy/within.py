"""Upstreams inside this process, for trying the proxy without a key: an echo, and a small model."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Literal, get_args

import httpx2

from sash.errors import MissingExtra
from sash.providers import Local

Within = Literal["echo", "local"]
WITHIN: tuple[Within, ...] = get_args(Within)
"""Names that stand for an address."""


def check_within(name: str) -> None:
    """Refuses a model that is not installed when the server starts, not with the first request."""
    if name == "local":
        if find_spec("xllamacpp") is None:
            raise MissingExtra("a model on this machine", extra="local", package="xllamacpp")
        Local()


class LocalTransport(httpx2.AsyncBaseTransport):
    """Passes requests on to the model on this machine, which is started when it is first asked."""

    def __init__(self, local: Local | None = None) -> None:
        self._local = local or Local()
        self._inner = httpx2.AsyncHTTPTransport(verify=False)  # It is plain HTTP on loopback.

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The model's own answer."""
        address = await asyncio.to_thread(self._local.address)
        there = httpx2.URL(address + request.url.raw_path.decode("ascii"))
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        sent = httpx2.Request(
            request.method, there, headers=headers, content=await request.aread(), extensions=request.extensions
        )
        return await self._inner.handle_async_request(sent)

    async def aclose(self) -> None:
        """Let go of connections; the model stays loaded."""
        await self._inner.aclose()
