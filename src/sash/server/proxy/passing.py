"""The provider's other paths: passed on as they come, both ways, without a look inside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import perf_counter

from starlette.types import Receive, Scope, Send

from sash.server.proxy.courier import Errand
from sash.server.proxy.headers import Raw, back, onward, owners_key
from sash.server.proxy.incoming import Gone, Incoming, incoming
from sash.server.proxy.outlet import Outlet, until_gone
from sash.server.proxy.proxy import Proxy
from sash.server.proxy.refusals import Refusal
from sash.server.proxy.setup import Kind

_ANTHROPIC_PATHS = ("/v1/messages", "/v1/complete", "/v1/organizations", "/v1/skills", "/v1/agents", "/v1/environments")


class Passage:
    """A route that only passes: an ASGI application."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        outlet, kind = Outlet(send), "openai"
        read = asyncio.Event()
        try:
            asked = incoming(scope)
            kind = kind_of(asked)
            size = asked.header("content-length")
            has_body = bool(asked.header("transfer-encoding")) or (size.isdigit() and int(size) > 0)
            if not has_body:
                read.set()
            body = _body(receive, read) if has_body else b""
            await until_gone(_after(read, receive), self._pass(asked, kind, body, outlet))
        except Gone:
            return
        except Refusal as refusal:
            if outlet.started:
                # Half of it has gone, as nobody knows what: the connection breaks off here too.
                return
            await outlet.refuse(refusal, "anthropic" if kind == "anthropic" else "openai-chat", _said(0.0))
        finally:
            outlet.close()

    async def _pass(self, asked: Incoming, kind: Kind, body: bytes | AsyncIterator[bytes], outlet: Outlet) -> None:
        headers = onward(asked.headers, decoded=False)
        headers.append((b"accept-encoding", (asked.header("accept-encoding") or "identity").encode("latin-1")))
        if not isinstance(body, bytes) and (size := asked.header("content-length")):
            headers.append((b"content-length", size.encode("latin-1")))
        headers += owners_key(asked.headers, headers, kind)
        upstream = self._proxy.addresses.choose(kind)
        errand = Errand(
            upstream=upstream,
            method=asked.method,
            path=asked.path,
            query=asked.query,
            headers=headers,
            body=body,
        )
        begun = perf_counter()
        answer = await self._proxy.courier.ask(errand)
        waited = perf_counter() - begun
        try:
            length = [pair for pair in answer.headers if pair[0].lower() == b"content-length"]
            head = [*back(answer.headers), *length, *_said(perf_counter() - asked.at - waited)]
            await outlet.start(answer.status, head)
            if asked.method != "HEAD":
                async for chunk in answer.raw():
                    await outlet.write(chunk)
            await outlet.end()
        finally:
            await answer.close()


def kind_of(asked: Incoming) -> Kind:
    """Whose API is meant: Anthropic's clients say so in every request."""
    if asked.header("anthropic-version") or asked.header("x-api-key"):
        return "anthropic"
    return "anthropic" if asked.path.startswith(_ANTHROPIC_PATHS) else "openai"


async def _body(receive: Receive, read: asyncio.Event) -> AsyncIterator[bytes]:
    """The body as it comes, never all of it at once."""
    more = True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Gone
        if part := event.get("body", b""):
            yield part
        more = event.get("more_body", False)
    read.set()


def _after(read: asyncio.Event, receive: Receive) -> Receive:
    """Listens for the client's leaving only when its body has been read: one ear can hear either."""

    async def listen() -> dict[str, object]:
        await read.wait()
        return dict(await receive())

    return listen


def _said(overhead: float) -> list[Raw]:
    return [(b"x-sash-frame", b"passed"), (b"x-sash-overhead-ms", f"{max(0.0, overhead) * 1000:.2f}".encode())]
