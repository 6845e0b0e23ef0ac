"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress

import msgspec

from sash.errors import ServerRefused

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
    policy: str = "chat"
    history_tokens: int | None = None
    window: int | None = None
    context_recent_turns: int = 10
    """Under the policy `recent`: turns that are injected."""
    context_max_chars: int = 20_000
    compact_max_chars: int = 4_000
    keys_required: bool = False
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

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host in LOOPBACK_NAMES:
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def refuse_open_door(setup: ServerSetup) -> None:
    """A server that others can reach and that asks for no key is not started."""
    if not setup.is_loopback and not setup.keys_required:
        raise ServerRefused(
            f"{setup.host!r} can be reached by others and no key is asked for; make a key with `sash key new` and "
            "start with --require-key, or listen on 127.0.0.1"
        )
