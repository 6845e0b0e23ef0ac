"""A provider over HTTP: one POST, the bytes of its answer, and errors that say what to do."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import msgspec

from sash.errors import (
    AnswerBroken,
    KeyMissing,
    MissingExtra,
    ProviderDown,
    ProviderError,
    ProviderSilent,
    UnknownProvider,
)
from sash.providers.events import Event
from sash.providers.patience import Patience, asked_pause
from sash.providers.refusals import complaint_of, refusal
from sash.providers.sse import EventReader, ServerEvent

if TYPE_CHECKING:
    import httpx2

MOST_COMPLAINT = 64_000
"""Bytes of an error's body that are kept."""
MOST_ANSWER = 64_000_000
"""Bytes of an answer that comes in one piece."""
OK = 200


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a provider is. Holds no key: that is read from the environment when it is sent."""

    url: str
    key_variables: tuple[str, ...] = ()
    """Of the environment; the first one that is set counts."""
    key_needed: bool = False
    patience: Patience = Patience()

    @property
    def host(self) -> str:
        """Without user name and password, which an address may hold."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    def key(self) -> tuple[str, str]:
        """The variable that holds the key, and the key; both empty where none is set and none is needed."""
        for variable in self.key_variables:
            if key := os.environ.get(variable, "").strip():
                if not (key.isascii() and key.isprintable()):
                    # An HTTP library would refuse it, and show it in its error.
                    raise KeyMissing(f"{variable} holds characters that no key has")
                return variable, key
        if self.key_needed:
            raise KeyMissing(f"{self.host} answers nobody without a key: set {' or '.join(self.key_variables)}")
        return "", ""


def endpoint_url(url: str) -> str:
    """An address that can be asked, or `UnknownProvider`."""
    try:
        parts = urlsplit(url)
        asked = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        asked = False
    if not asked:
        raise UnknownProvider(url, "a base URL is http://HOST or https://HOST")
    return url.rstrip("/")


Told = AsyncGenerator[ServerEvent | bytes]
"""What a provider tells: the events of a stream, or its whole answer in one piece (bytes)."""
Read = Callable[[Told], AsyncGenerator[Event]]
"""Understands what one wire tells."""


class Connection:
    """
    Asks one endpoint.

    Each event loop has its own pool of connections, since a connection belongs to the loop that made it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.endpoint = endpoint
        self._sleep, self._now = sleep, now
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()
        self._trust: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"Connection({self.endpoint.host!r})"

    async def ask(self, path: str, body: bytes, headers: Mapping[str, str], read: Read) -> AsyncGenerator[Event]:
        """The events of an answer; asked again only while nothing of it has been given out."""
        patience, attempt, begun = self.endpoint.patience, 0, False
        while True:
            attempt += 1
            try:
                async with aclosing(self._once(path, body, headers, read)) as events:
                    async for event in events:
                        begun = True
                        yield event
                return
            except ProviderError as error:
                if begun or not error.worth_retrying or attempt >= patience.attempts:
                    raise
                pause = patience.pause(attempt, error.retry_after_seconds)
            await self._sleep(pause)

    async def aclose(self) -> None:
        """Close what this loop has opened."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _once(self, path: str, body: bytes, headers: Mapping[str, str], read: Read) -> AsyncGenerator[Event]:
        client = self._client()
        import httpx2

        response: httpx2.Response | None = None
        try:
            request = client.build_request("POST", self.endpoint.url + path, content=body, headers=dict(headers))
            response = await client.send(request, stream=True)
            if response.status_code != OK:
                raise await self._refusal(response)
            async with aclosing(self._told(response)) as told, aclosing(read(told)) as events:
                async for event in events:
                    yield event
        except httpx2.TimeoutException as error:
            waited = "no connection" if response is None and isinstance(error, httpx2.ConnectTimeout) else "no byte"
            problem = f"{self.endpoint.host}: {waited} in time ({type(error).__name__})"
            raise ProviderSilent(problem, worth_retrying=True) from None
        except httpx2.DecodingError:
            raise self._broken("sent what cannot be decompressed") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            if response is None:
                raise self._down(f"cannot be reached ({type(error).__name__})") from None
            raise self._broken(f"ended its answer in the middle ({type(error).__name__})") from None
        except ProviderError as error:
            said, host = self._without_key(str(error)), self.endpoint.host
            error.args = (said if host in said else f"{host}: {said}",)
            raise
        finally:
            if response is not None:
                # Whoever cancels must still see the connection closed: that is how the provider learns of it.
                await asyncio.shield(asyncio.ensure_future(response.aclose()))

    async def _told(self, response: httpx2.Response) -> AsyncGenerator[ServerEvent | bytes]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            yield await self._all(response, MOST_ANSWER)
            return
        if kind not in ("text/event-stream", ""):
            raise self._broken(f"answered with {kind!r} instead of a stream; is the base URL right?")
        reader = EventReader()
        pieces: AsyncIterator[bytes] = response.aiter_bytes()
        async for piece in pieces:
            for event in reader.feed(piece):
                yield event
        for event in reader.end():
            yield event

    async def _all(self, response: httpx2.Response, most: int) -> bytes:
        pieces, size = [], 0
        async for piece in response.aiter_bytes():
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise self._broken(f"answered with more than {most:,} bytes")
        return b"".join(pieces)

    async def _refusal(self, response: httpx2.Response) -> ProviderError:
        try:
            body = await self._all(response, MOST_COMPLAINT)
        except AnswerBroken:
            body = b""
        said = self._without_key(body.decode("utf-8", "replace"))
        error = refusal(
            self.endpoint.host,
            response.status_code,
            complaint_of(said),
            retry_after_seconds=asked_pause(response.headers, self._now()),
        )
        error.body = said.encode()
        if response.headers.get("x-should-retry", "").lower() == "false":
            error.worth_retrying = False
        return error

    def _without_key(self, text: str) -> str:
        for variable in self.endpoint.key_variables:
            key = os.environ.get(variable, "").strip()
            text = text.replace(key, "[key]") if key else text
        return text

    def _broken(self, problem: str) -> AnswerBroken:
        return AnswerBroken(f"{self.endpoint.host} {problem}", worth_retrying=True)

    def _down(self, problem: str) -> ProviderDown:
        return ProviderDown(f"{self.endpoint.host}: {problem}", worth_retrying=True)

    def _client(self) -> httpx2.AsyncClient:
        try:
            import httpx2
        except ModuleNotFoundError as error:
            if error.name != "httpx2":
                raise
            raise MissingExtra("a provider over HTTP", extra="providers", package="httpx2") from None
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            if self._trust is None and self.endpoint.url.startswith("https:"):
                # Reading the certificates takes longer than everything else here.
                self._trust = ssl.create_default_context()
            patience = self.endpoint.patience
            self._clients[loop] = httpx2.AsyncClient(
                verify=self._trust or False,
                timeout=httpx2.Timeout(patience.idle_seconds, connect=patience.connect_seconds),
                # A pool with an end would make the two hundredth stream wait for the first.
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=50),
                follow_redirects=False,
            )
        return self._clients[loop]
