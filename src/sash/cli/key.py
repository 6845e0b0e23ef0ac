"""`sash key`: who may call a server that asks for keys."""

from __future__ import annotations

import click
import msgspec

from sash.errors import NotFound
from sash.store import open_store


@click.group()
def key() -> None:
    """Make and revoke the keys that `sash serve --require-key` asks for."""


@key.command()
@click.option("--store", default="sqlite:", show_default=True, help="The server's store.")
@click.option("--tenant", default="", help="Whose threads it opens; each tenant sees only its own.")
@click.option("--label", default="", help="What you will know it by.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(store: str, tenant: str, label: str, as_json: bool) -> None:
    """Make a key and show it: once, for only its digest is kept."""
    from sash.server.keys import make_key

    opened = open_store(store)
    try:
        made = make_key(opened, tenant, label)
    finally:
        opened.close()
    if as_json:
        click.echo(msgspec.json.encode(made))
        return
    click.echo(made.key)
    click.echo("Keep it: it is not shown again. Send it as `Authorization: Bearer ...`.", err=True)


@key.command()
@click.option("--store", default="sqlite:", show_default=True, help="The server's store.")
@click.option("--tenant", default="", help="Whose it is.")
@click.argument("secret", metavar="KEY")
def revoke(store: str, tenant: str, secret: str) -> None:
    """Let nobody in with KEY any more; servers notice within a second."""
    from sash.server.keys import digest_of

    opened = open_store(store)
    try:
        if not opened.revoke_key(tenant, digest_of(secret)):
            raise NotFound("key of tenant", tenant)
    finally:
        opened.close()
    click.echo("revoked", err=True)
