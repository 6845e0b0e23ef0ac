"""
Counts by those who know: Anthropic's own endpoint, or a local llama.cpp or vLLM server.

Only ever asked because a user said so, by name; no window is decided by it. An endpoint that
does not answer costs a note, not an error: the estimate stands in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from http.client import HTTPException
from typing import Literal, get_args
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

import msgspec

from sash.core.tokens import TokenCount
from sash.counters.memo import Memo
from sash.counters.names import canonical
from sash.counters.texts import whole
from sash.errors import UnknownCounter

Kind = Literal["anthropic", "llama.cpp", "vllm"]
NAMES = ("remote:anthropic", "remote:llama.cpp=URL", "remote:vllm=URL")

_MOST_BYTES = 64_000_000
"""A list of a few million token ids; more is no count."""


ANSWERS = Memo(4096)
"""What endpoints have said, shared by all who ask: the same question is asked once in a process."""


class _Failed(Exception):
    """An endpoint gave no count. Never leaves this file: it becomes a note."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A count, and where it came from if not from the endpoint."""

    count: TokenCount
    note: str = ""
    """Why an estimate stands here; empty when the endpoint counted."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where to ask. Holds no key: that is read from the environment when it is sent."""

    kind: Kind
    url: str
    model: str
    timeout_seconds: float = 20.0


def endpoint(name: str, model: str) -> Endpoint:
    """The endpoint that a name such as `remote:vllm=http://localhost:8000` means."""
    kind, _, url = name.removeprefix("remote:").partition("=")
    if not name.startswith("remote:") or kind not in get_args(Kind):
        raise UnknownCounter(name, known=NAMES)
    if kind == "anthropic":
        url = url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        # The endpoint knows only its own names.
        model = canonical(model) if model else ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnknownCounter(name, known=NAMES)
    return Endpoint(kind=kind, url=url.rstrip("/"), model=model)  # type: ignore[arg-type]  # checked above


class Remote:
    """Asks an endpoint, remembers what it said, and falls back to an estimate."""

    def __init__(self, asked: Endpoint, *, memo: Memo = ANSWERS, opener: OpenerDirector | None = None) -> None:
        self.endpoint = asked
        self.id = f"remote:{asked.kind}"
        self._memo = memo
        self._opener = opener or build_opener(_StayHere)

    def text(self, text: str, estimate: Callable[[], TokenCount]) -> Answer:
        """Bare words; of Anthropic's endpoint, which counts only whole requests, as a user's message."""
        text = whole(text)
        return self._answer({"messages": [{"role": "user", "content": text}]}, text, estimate)

    def request(self, body: Mapping[str, object], estimate: Callable[[], TokenCount]) -> Answer:
        """A whole request: its messages, system prompt and tools."""
        return self._answer(body, None, estimate)

    def _answer(self, body: Mapping[str, object], text: str | None, estimate: Callable[[], TokenCount]) -> Answer:
        try:
            asked = msgspec.json.encode((self.endpoint, text, body), order="sorted")
            key = blake2b(asked, digest_size=16).digest()
            count = self._memo.get(key) or self._memo.keep(key, TokenCount(self._ask(body, text)))
        except _Failed as error:
            return Answer(count=estimate(), note=f"estimated: {error}")
        return Answer(count=count)

    def _ask(self, body: Mapping[str, object], text: str | None) -> int:
        model = self.endpoint.model
        match self.endpoint.kind:
            case "anthropic":
                wanted = {name: body[name] for name in ("system", "messages", "tools") if body.get(name)}
                reply = self._post("/v1/messages/count_tokens", {"model": model, **wanted})
                return _number(reply, "input_tokens")
            case "vllm":
                said: dict[str, object] = {"prompt": text, "add_special_tokens": False}
                if text is None:
                    said = {"messages": body.get("messages"), "tools": body.get("tools"), "add_generation_prompt": True}
                reply = self._post("/tokenize", {"model": model, **said})
                return _number(reply, "count")
            case "llama.cpp":
                if text is None:
                    rendered = self._post(
                        "/apply-template", {"messages": body.get("messages"), "tools": body.get("tools")}
                    )
                    text = str(rendered.get("prompt", ""))
                    reply = self._post("/tokenize", {"content": text, "add_special": True, "parse_special": True})
                else:
                    reply = self._post("/tokenize", {"content": text, "add_special": False})
                tokens = reply.get("tokens")
                if not isinstance(tokens, list):
                    raise _Failed(f"{self._host} sent no list of tokens")
                return len(tokens)

    def _post(self, path: str, body: Mapping[str, object]) -> dict[str, object]:
        headers = {"content-type": "application/json", **_key(self.endpoint.kind)}
        content = msgspec.json.encode({name: value for name, value in body.items() if value is not None})
        # The scheme was checked when the endpoint was made.
        request = Request(self.endpoint.url + path, data=content, headers=headers, method="POST")  # noqa: S310
        try:
            with self._opener.open(request, timeout=self.endpoint.timeout_seconds) as response:
                reply = msgspec.json.decode(response.read(_MOST_BYTES + 1)[: _MOST_BYTES + 1])
        except HTTPError as error:
            # Neither its body nor its headers: what a stranger sends back may hold what we sent.
            raise _Failed(f"{self._host} answered {error.code}") from None
        except (OSError, HTTPException) as error:
            raise _Failed(f"{self._host} cannot be reached ({type(error).__name__})") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise _Failed(f"{self._host} did not answer in JSON") from None
        if not isinstance(reply, dict):
            raise _Failed(f"{self._host} did not answer with an object")
        return reply

    @property
    def _host(self) -> str:
        """Without user name and password, which an address may hold."""
        parts = urlsplit(self.endpoint.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


class _StayHere(HTTPRedirectHandler):
    """A redirect would carry the key to whoever is named in it."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""
        return


def _number(reply: Mapping[str, object], field: str) -> int:
    number = reply.get(field)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise _Failed(f"the endpoint sent {field}={number!r}, which is no count")
    return number


def _key(kind: Kind) -> dict[str, str]:
    if kind != "anthropic":
        return {}
    key = os.environ.get("ANTHROPIC_API_KEY", "")
    if not key:
        raise _Failed("ANTHROPIC_API_KEY is not set")
    if not (key.isascii() and key.isprintable()):
        # The standard library would refuse it, and show it in its error.
        raise _Failed("ANTHROPIC_API_KEY holds characters that no key has")
    return {"x-api-key": key, "anthropic-version": "2023-06-01"}
