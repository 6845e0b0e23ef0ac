"""What a proxy is told when it starts: where requests go, and how long it waits."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from sash.core.policy import Policy
from sash.errors import InvalidUpstream
from sash.server.proxy.within import WITHIN, check_within
from sash.settings import Settings

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"

Kind = Literal["openai", "anthropic"]


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's address, taken apart once. Nothing that a client says can change it."""

    kind: Kind
    scheme: str
    host: str
    """With the port, where the address names one."""
    base: str
    """Path in front of `/chat/completions` or `/v1/messages`; empty or `/...` without a slash at its end."""

    @property
    def origin(self) -> str:
        """Scheme and host: what may be shown, and what a redirect is held against."""
        return f"{self.scheme}://{self.host}"

    def target(self, path: str, query: bytes = b"") -> str:
        """The address for a path of ours, `/v1/...`. OpenAI's address has the `/v1` in it, Anthropic's has not."""
        tail = path.removeprefix("/v1") if self.kind == "openai" else path
        return f"{self.origin}{self.base}{tail}" + (f"?{query.decode('latin-1')}" if query else "")


def upstream_at(url: str, kind: Kind) -> Upstream:
    """The upstream at an address, as a person writes it, or inside this process; `InvalidUpstream` where it is none."""
    if (named := url.strip()) in WITHIN:
        check_within(named)
        return Upstream(kind=kind, scheme=named, host="here", base="/v1" if kind == "openai" else "")
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise InvalidUpstream(url, str(error)) from None
    if parts.scheme not in ("http", "https"):
        raise InvalidUpstream(url, f"it is neither an http or https address nor {' or '.join(map(repr, WITHIN))}")
    if parts.hostname is None or parts.query or parts.fragment:
        raise InvalidUpstream(url, "it has no host" if parts.hostname is None else "it has a query or a fragment")
    if parts.username is not None or parts.password is not None:
        raise InvalidUpstream(f"{parts.scheme}://***@{parts.hostname}", "credentials come from the client")
    base = parts.path.rstrip("/")
    if kind == "anthropic":
        base = base.removesuffix("/v1")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Upstream(kind=kind, scheme=parts.scheme, host=host if port is None else f"{host}:{port}", base=base)


class Upstreams(msgspec.Struct, frozen=True, kw_only=True):
    """Where requests go, by route and model."""

    openai: str = OPENAI
    """With its `/v1`, as `OPENAI_BASE_URL` is written."""
    anthropic: str = ANTHROPIC
    """Without `/v1`, as `ANTHROPIC_BASE_URL` is written."""
    models: tuple[tuple[str, str], ...] = ()
    """Patterns of model names, `qwen*`, each with an address of its own; the first that matches is taken."""

    def resolved(self) -> Addresses:
        """The addresses taken apart, or `InvalidUpstream`."""
        kinds: tuple[Kind, Kind] = ("openai", "anthropic")
        return Addresses(
            usual={"openai": upstream_at(self.openai, "openai"), "anthropic": upstream_at(self.anthropic, "anthropic")},
            by_model=tuple((glob, {kind: upstream_at(url, kind) for kind in kinds}) for glob, url in self.models),
        )


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """`Upstreams`, ready to be asked."""

    usual: dict[Kind, Upstream]
    by_model: tuple[tuple[str, dict[Kind, Upstream]], ...] = ()

    def choose(self, kind: Kind, model: str = "") -> Upstream:
        """The upstream of a request."""
        for pattern, there in self.by_model:
            if model and fnmatchcase(model, pattern):
                return there[kind]
        return self.usual[kind]


class ProxySetup(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a proxy goes by."""

    upstreams: Upstreams = Upstreams()
    policy: Policy = Policy()
    bypass: bool = False
    """Leave every request alone."""
    keep: bool = False
    """Store conversations that name themselves, as threads."""
    expand: bool = False
    """Offer the model a tool that reads back what was shortened, and answer it here."""
    retries: int = 2
    """How often a request is sent again before its first byte went to the client."""
    longest_wait_seconds: float = 20.0
    """A provider that asks for more patience is passed on at once: the client may have it."""
    connect_seconds: float = 10.0
    idle_seconds: float = 600.0
    """An upstream that says nothing for so long is given up: both SDKs wait as long."""
    keepalive_seconds: float = 15.0
    """After so long without a word a waiting client is sent a comment."""
    body_bytes: int = 64_000_000
    """Of a request as it comes in, after it was decompressed too."""
    connections: int = 1_000
    """To upstreams, at once."""


def proxy_setup_from(settings: Settings) -> ProxySetup:
    """What a proxy is told by the settings in force."""
    models: Mapping[str, str] = settings.value("upstream_models") or {}
    setup = ProxySetup(
        upstreams=Upstreams(
            openai=settings.text("upstream_openai"),
            anthropic=settings.text("upstream_anthropic"),
            models=tuple((pattern, str(url)) for pattern, url in models.items()),
        ),
        policy=settings.policy(),
        bypass=settings.value("bypass"),
        keep=settings.value("keep"),
        expand=settings.value("expand"),
        retries=settings.value("upstream_retries"),
        idle_seconds=settings.value("idle_seconds"),
        keepalive_seconds=settings.value("keepalive_seconds"),
        body_bytes=max(settings.value("max_body_bytes"), 1),
    )
    # A wrong address is told at the start, not with the first request.
    setup.upstreams.resolved()
    return setup
