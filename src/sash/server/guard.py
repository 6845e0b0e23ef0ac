"""Whom a server listens to: the right name, the right page, the right kind of body. Browsers are told what to allow."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_plus, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sash.server.fault import Fault
from sash.server.keys import WHOLE
from sash.server.setup import LOOPBACK_NAMES, ServerSetup
from sash.settings import setting_named

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_NAMED_KEY = re.compile(r"(?:^|&)(?:api[-_]?key|key|token|access_token)=", re.IGNORECASE)
_HOSTS, _ORIGINS = (setting_named(name).flag for name in ("allowed_hosts", "allowed_origins"))


class Guard:
    """
    Turns away what a web page of somebody else could send to a server on this machine.

    A page cannot forge `Host` or `Origin`; it can make a browser resolve its own name to
    this machine, so that the name has to be one of ours. With keys asked for, a foreign
    name is harmless: whoever calls has to show a key, which no page has.
    """

    def __init__(self, app: ASGIApp, setup: ServerSetup) -> None:
        self.app = app
        names = {*LOOPBACK_NAMES, *map(str.lower, setup.allowed_hosts)}
        self._names = names | ({setup.host.lower()} if setup.is_loopback else set())
        self._any_name = setup.require_key and not setup.allowed_hosts
        self._origins = frozenset(origin.rstrip("/").lower() for origin in setup.allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it through, or answer at once."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    given.setdefault(name, value)
                if origin is not None and self._is_allowed(origin):
                    given["access-control-allow-origin"] = origin
                    given["vary"] = "origin"
                    given["cross-origin-resource-policy"] = "cross-origin"
            await send(message)

        try:
            self._look_at(scope, headers, origin)
        except Fault as fault:
            await fault.response()(scope, receive, sending)
            return
        if scope["method"] == "OPTIONS" and origin is not None and self._is_allowed(origin):
            await _preflight(scope, receive, sending)
            return
        await self.app(scope, receive, sending)

    def _look_at(self, scope: Scope, headers: Headers, origin: str | None) -> None:
        host = headers.get("host", "")
        if not self._any_name and not _is_one_of(host, self._names):
            raise Fault("FORBIDDEN", f"this server does not answer to the name {host[:100]!r}; see {_HOSTS}")
        if len(headers.getlist("host")) > 1:
            raise Fault("INVALID_ARGUMENT", "the request names more than one host")
        if origin is not None and not self._is_same(origin, host, scope) and not self._is_allowed(origin):
            raise Fault("FORBIDDEN", f"pages of another origin may not call this server; see {_ORIGINS}")
        if origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope["method"] != "GET":
            raise Fault("FORBIDDEN", f"pages of another origin may not call this server; see {_ORIGINS}")
        query = unquote_plus(scope["query_string"].decode("latin-1"))
        if _NAMED_KEY.search(query) or WHOLE.search(query):
            raise Fault("INVALID_ARGUMENT", "keys do not belong into an address, where logs keep them; use a header")

    def _is_same(self, origin: str, host: str, scope: Scope) -> bool:
        # Behind something that speaks TLS for us the scheme is theirs; the name and port say enough.
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https", scope["scheme"]) and rest.lower() == host.lower()

    def _is_allowed(self, origin: str) -> bool:
        return origin.rstrip("/").lower() in self._origins


def _is_one_of(host: str, names: Iterable[str]) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and name.lower() in names


async def _preflight(scope: Scope, receive: Receive, send: Send) -> None:
    from starlette.responses import Response

    headers = {
        "access-control-allow-methods": "GET, POST, PATCH, PUT, DELETE",
        "access-control-allow-headers": "authorization, content-type, idempotency-key, last-event-id, x-sash-key",
        "access-control-max-age": "600",
    }
    await Response(None, 204, headers)(scope, receive, send)
