"""`sash serve`: the thread server, its page and the proxy."""

from __future__ import annotations

from typing import Any

import click

from sash.cli.options import from_settings, settings_of
from sash.errors import MissingExtra

NAMES = (
    "host",
    "port",
    "store",
    "provider",
    "model",
    "base_url",
    "summarizer",
    "summary_tokens_per_hour",
    "policy",
    "history_tokens",
    "context_recent_turns",
    "context_max_chars",
    "compact_max_chars",
    "require_key",
    "allowed_hosts",
    "allowed_origins",
    "upstream_openai",
    "upstream_anthropic",
    "bypass",
    "keep",
    "expand",
    "workers",
    "log_level",
)


@click.command()
@from_settings(*NAMES)
@click.option("--print-env", is_flag=True, help="Print the variables that point clients here, and exit.")
def serve(*, print_env: bool, **options: Any) -> None:
    """
    Serve threads, the page and the proxy over HTTP, until interrupted.

    Listens on this machine only, unless told otherwise; for others it asks for a key.
    """
    try:
        from sash.server.answering import chosen
        from sash.server.proxy.clients import client_variables
        from sash.server.serving import serve as run
        from sash.server.setup import setup_from
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "httpx2"):
            raise
        raise MissingExtra("`sash serve`", extra="server", package="starlette, uvicorn and httpx2") from None

    setup = setup_from(settings_of(options, *NAMES))
    if print_env:
        for name, value in client_variables(f"http://{setup.host}:{setup.port}").items():
            click.echo(f"export {name}={value}")
        return
    who = chosen(setup)

    def say(address: str) -> None:
        click.echo(f"sash serves {address}", err=True)
        named = who.name if not who.model else f"{who.name} ({who.model})"
        click.echo(f"turns are answered by {named}: {who.why}", err=True)

    run(setup, started=say)
