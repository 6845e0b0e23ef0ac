"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress

import msgspec

from sash.core.policy import Policy
from sash.errors import ServerRefused
from sash.server.proxy.setup import ProxySetup, proxy_setup_from
from sash.settings import Settings

PORT = 7274
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class ServerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens, what it keeps threads in, who answers, and how much it takes."""

    host: str = "127.0.0.1"
    port: int = PORT
    store: str = "sqlite:"
    provider: str = ""
    """Empty: the first of openai, anthropic, local and echo that can answer here."""
    model: str = ""
    base_url: str = ""
    """Of the provider; only the server's owner says where requests go."""
    summarizer: str = ""
    """Who writes summaries of what left, of threads and in the proxy, as PROVIDER:MODEL; empty: nobody."""
    summary_tokens_per_hour: int = 1_000_000
    """What the summaries of one conversation may use, read and written."""
    policy: Policy = Policy.chat()
    """Of threads that ask for none."""
    policy_name: str = "chat"
    compact_max_chars: int = 4_000
    """Characters of a summary that compact writes, where the request says nothing else."""
    require_key: bool = False
    """Whether only those come in who show a key. A public address asks for it."""
    allowed_hosts: tuple[str, ...] = ()
    """Names beside the loopback ones by which clients may call the server."""
    allowed_origins: tuple[str, ...] = ()
    """Pages of other origins that may call it."""
    max_body_bytes: int = 32_000_000
    """Of a request, after it was decompressed too."""
    max_running_turns: int = 400
    """At once in this process, all tenants together."""
    max_turns_per_tenant: int = 200
    wait_seconds: float = 0.0
    """How long a turn waits for the one before it; then it is a conflict."""
    idle_seconds: float = 600.0
    """A provider that says nothing for so long is given up."""
    drain_seconds: float = 20.0
    """How long running turns may take to end after the server was told to stop."""
    workers: int = 1
    log_level: str = "info"
    proxy: ProxySetup = ProxySetup()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host in LOOPBACK_NAMES:
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


RECALLED = 20
"""In a small window, the part of it that recalled turns may have: one in so many."""


def within(setup: ServerSetup, window: int | None) -> ServerSetup:
    """The setup for a model that takes so much, where nobody said how much it takes."""
    policy = setup.policy
    if window is None or policy.window is not None:
        return setup
    recalled = min(policy.recall_tokens, window // RECALLED)
    small = msgspec.structs.replace(policy, window=window, recall_tokens=recalled, budget=None)
    return msgspec.structs.replace(setup, policy=small)


def refuse_open_door(setup: ServerSetup) -> None:
    """A server that others can reach and that asks for no key is not started."""
    if not setup.is_loopback and not setup.require_key:
        raise ServerRefused(
            f"{setup.host!r} can be reached by others and no key is asked for; make a key with `sash key new` and "
            "start with --require-key, or listen on 127.0.0.1"
        )


_AS_THEY_ARE = (
    "host",
    "port",
    "provider",
    "model",
    "base_url",
    "summarizer",
    "summary_tokens_per_hour",
    "compact_max_chars",
    "require_key",
    "allowed_hosts",
    "allowed_origins",
    "max_body_bytes",
    "max_running_turns",
    "max_turns_per_tenant",
    "wait_seconds",
    "idle_seconds",
    "drain_seconds",
    "workers",
    "log_level",
)


def setup_from(settings: Settings) -> ServerSetup:
    """What a server is told by the settings in force."""
    values = {name: settings.value(name) for name in _AS_THEY_ARE}
    name = settings.text("policy")
    policy = settings.policy()
    if settings.where("policy") == "default":
        # People talk to this one, so what they said long ago is recalled.
        name, policy = "chat", settings.policy(Policy.chat())
    elif name == "recent":
        turns, characters = settings.value("context_recent_turns"), settings.value("context_max_chars")
        policy = settings.policy(Policy.recent(turns=turns, max_chars=characters))
    return msgspec.convert(
        {
            **values,
            "store": settings.store(),
            "policy": policy,
            "policy_name": name,
            "proxy": proxy_setup_from(settings),
        },
        ServerSetup,
        strict=False,
    )
