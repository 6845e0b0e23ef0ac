"""Carries requests to upstreams and answers back, with bounded retries; it reads neither."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterable, AsyncIterator
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import msgspec

from sash.providers import Local, asked_pause
from sash.server.proxy.echoing import EchoTransport
from sash.server.proxy.headers import Raw, value_of
from sash.server.proxy.refusals import Refusal
from sash.server.proxy.setup import ProxySetup, Upstream
from sash.server.proxy.within import WITHIN, LocalTransport
from sash.settings import setting_named

RETRIED = frozenset((408, 429, 500, 502, 503, 504, 529))
FIRST_WAIT_SECONDS = 0.5
MOST_REDIRECTS = 3
_KEPT_IDLE_SECONDS = 30.0
_IDLE = f"`--set {setting_named('idle_seconds').name}=SECONDS`"


class Errand(msgspec.Struct, frozen=True, kw_only=True):
    """A request to an upstream."""

    upstream: Upstream
    method: str
    path: str
    query: bytes = b""
    headers: list[Raw]
    body: bytes | AsyncIterable[bytes]
    """A body that is read as it goes can be sent only once."""


class Answer:
    """An upstream's answer, of which the head is here."""

    def __init__(self, response: httpx2.Response, upstream: Upstream) -> None:
        self.status = response.status_code
        self.headers: list[Raw] = response.headers.raw
        self.upstream = upstream
        self._response = response

    @property
    def media_type(self) -> str:
        """Its content type without parameters."""
        return value_of(self.headers, b"content-type").partition(";")[0].strip().lower()

    @property
    def encoding(self) -> str:
        """How it is compressed; empty where it is not."""
        named = value_of(self.headers, b"content-encoding").lower()
        return "" if named == "identity" else named

    async def raw(self) -> AsyncIterator[bytes]:
        """Its body as it comes; `Refusal` where it breaks off."""
        stream = self._response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        try:
            async for chunk in stream:
                yield chunk
        except httpx2.HTTPError as error:
            raise _broken(error, self.upstream) from None

    async def plain(self) -> AsyncIterator[bytes]:
        """Its body, decompressed: we ask for none of it, but some compress all the same."""
        match self.encoding:
            case "":
                inflate = None
            case "gzip" | "x-gzip" | "deflate":
                inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
            case other:
                raise Refusal(502, f"{self.upstream.origin} answered in {other[:40]!r}, which nobody asked for")
        async for chunk in self.raw():
            if inflate is None:
                yield chunk
                continue
            try:
                yield inflate.decompress(chunk)
            except zlib.error:
                raise Refusal(502, f"{self.upstream.origin} sent a compressed answer that is damaged") from None

    async def read(self, most: int) -> tuple[bytes, bool]:
        """The body up to a limit, decompressed, and whether that is all of it."""
        parts, size = [], 0
        async for chunk in self.plain():
            parts.append(chunk)
            size += len(chunk)
            if size > most:
                return b"".join(parts), False
        return b"".join(parts), True

    async def close(self) -> None:
        """Let go of it, and of the connection where it was not read to its end."""
        stream = self._response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        await stream.aclose()


class Courier:
    """One pool of connections to all upstreams. Without cookies, without credentials of its own."""

    def __init__(self, setup: ProxySetup, *, local: Local | None = None) -> None:
        """`local`: the model on this machine, where it is started already."""
        self._setup, self._local = setup, local
        self._transports: dict[str, httpx2.AsyncBaseTransport] = {}

    async def ask(self, errand: Errand) -> Answer:
        """
        The upstream's answer: the first that is none of the passing troubles, or the last one.

        Nothing has gone to the client yet, so a request may be sent again. `Refusal` where there
        is no answer at all.
        """
        retries = self._setup.retries if isinstance(errand.body, bytes) else 0
        for attempt in range(retries + 1):
            last = attempt == retries
            wait: float | None = _backoff(attempt)
            try:
                answer = await self._send(errand)
            except (httpx2.ConnectError, httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError) as error:
                if last:
                    raise _broken(error, errand.upstream) from None
            except httpx2.HTTPError as error:
                raise _broken(error, errand.upstream) from None
            else:
                if answer.status in RETRIED:
                    wait = self._patience(answer, attempt)
                if answer.status not in RETRIED or last or wait is None:
                    return answer
                await answer.close()
            await asyncio.sleep(wait or 0)
        raise AssertionError("the last attempt returns or raises")

    def _patience(self, answer: Answer, attempt: int) -> float | None:
        """How long to wait before asking again; None: not at all."""
        if value_of(answer.headers, b"x-should-retry").lower() == "false":
            return None
        asked = retry_after(answer.headers)
        if asked is None:
            return _backoff(attempt)
        return asked if asked <= self._setup.longest_wait_seconds else None

    async def _send(self, errand: Errand) -> Answer:
        url = errand.upstream.target(errand.path, errand.query)
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._send_to(url, errand)
            place = value_of(answer.headers, b"location")
            if answer.status not in (301, 302, 303, 307, 308) or not place:
                return answer
            await answer.close()
            url = urljoin(url, place)
            parts = urlsplit(url)
            if f"{parts.scheme}://{parts.netloc}" != errand.upstream.origin:
                raise Refusal(
                    502,
                    f"{errand.upstream.origin} redirects to another host ({parts.hostname!r}); credentials go to the "
                    "configured one only, so set the upstream to where it is now",
                    code="redirected",
                )
            if answer.status in (301, 302, 303) and errand.method not in ("GET", "HEAD"):
                raise Refusal(
                    502, f"{errand.upstream.origin} redirects to {parts.path!r}; set the upstream's address so"
                )
        raise Refusal(502, f"{errand.upstream.origin} redirects in a circle", code="redirected")

    async def _send_to(self, url: str, errand: Errand) -> Answer:
        setup = self._setup
        request = httpx2.Request(
            errand.method,
            url,
            headers=errand.headers,
            content=errand.body,
            extensions={
                "timeout": {
                    "connect": setup.connect_seconds,
                    "read": setup.idle_seconds,
                    "write": setup.idle_seconds,
                    "pool": setup.connect_seconds,
                }
            },
        )
        return Answer(await self._transport(errand.upstream).handle_async_request(request), errand.upstream)

    def _transport(self, upstream: Upstream) -> httpx2.AsyncBaseTransport:
        known = self._transports.get(upstream.origin)
        if known is None and upstream.scheme in WITHIN:
            known = EchoTransport() if upstream.scheme == "echo" else LocalTransport(self._local)
            self._transports[upstream.origin] = known
        if known is None:
            proxy = None if proxy_bypass(upstream.host) else getproxies().get(upstream.scheme)
            most = self._setup.connections
            limits = httpx2.Limits(
                max_connections=most, max_keepalive_connections=most, keepalive_expiry=_KEPT_IDLE_SECONDS
            )
            known = self._transports[upstream.origin] = httpx2.AsyncHTTPTransport(
                verify=upstream.scheme == "https", limits=limits, proxy=proxy
            )
        return known

    async def close(self) -> None:
        """Close all connections."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()


def _backoff(attempt: int) -> float:
    return FIRST_WAIT_SECONDS * float(2**attempt)


def retry_after(headers: list[Raw]) -> float | None:
    """Seconds that an answer asks to wait; None where it does not say."""
    names = ("retry-after-ms", "retry-after")
    said = {name: value for name in names if (value := value_of(headers, name.encode()))}
    return asked_pause(said, time.time())


def _broken(error: httpx2.HTTPError, upstream: Upstream) -> Refusal:
    """A failure of the network in our words. The upstream is named, nothing of the request is."""
    where = upstream.origin
    match error:
        case httpx2.ConnectTimeout():
            return Refusal(504, f"{where} did not take the connection in time", code="upstream_timeout")
        case httpx2.PoolTimeout():
            return Refusal(503, f"too many requests to {where} are under way; try again", code="upstream_busy")
        case httpx2.TimeoutException():
            return Refusal(504, f"{where} has said nothing for too long; see {_IDLE}", code="upstream_timeout")
        case httpx2.ConnectError():
            return Refusal(502, f"{where} cannot be reached: {error}; see --upstream-*", code="upstream_unreachable")
    told = f"{where} broke off its answer: {error}" if str(error) else f"{where} broke off its answer"
    return Refusal(502, told, code="upstream_broke_off")
