"""`sash serve`: the thread server, its page and the proxy."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from sash.errors import MissingExtra

LEVELS = ["debug", "info", "warning", "error"]


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=7274, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--store", default="sqlite:", show_default=True, help="Where threads are kept: sqlite:///FILE, postgresql://..."
)
@click.option("--require-key", "keys_required", is_flag=True, help="Let in only who shows a key; see `sash key`.")
@click.option("--allowed-host", "allowed_hosts", multiple=True, help="A name by which clients may call the server.")
@click.option("--allowed-origin", "allowed_origins", multiple=True, help="A web page's origin that may call it.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes.")
@click.option(
    "--log-level", default="info", type=click.Choice(["debug", "info", "warning", "error"]), show_default=True
)
def serve(log_level: str, **asked: Any) -> None:
    """Serve threads, the page and the proxy over HTTP, until interrupted."""
    try:
        from sash.server.serving import serve as run
        from sash.server.setup import ServerSetup
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "httpx2"):
            raise
        raise MissingExtra("`sash serve`", extra="server", package="starlette, uvicorn and httpx2") from None

    run(msgspec.convert(asked, ServerSetup), log_level=log_level, started=_say)


def _say(address: str) -> None:
    click.echo(f"sash serves {address}", err=True)
