"""`sash key`: who may call a server that asks for keys."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from sash.cli.options import STORED, from_settings, settings_of
from sash.errors import NotFound


@click.group()
def key() -> None:
    """Make and revoke the keys that `sash serve --require-key` asks for."""


@key.command()
@from_settings(*STORED)
@click.option("--label", default="", help="What you will know it by.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(label: str, as_json: bool, **options: Any) -> None:
    """Make a key and show it: once, for only its digest is kept."""
    from sash.server.keys import make_key
    from sash.store import open_store

    settings = settings_of(options, *STORED)
    opened = open_store(settings.store())
    try:
        made = make_key(opened, settings.text("tenant"), label)
    finally:
        opened.close()
    if as_json:
        click.echo(msgspec.json.encode(made))
        return
    click.echo(made.key)
    click.echo("Keep it: it is not shown again. Send it as `Authorization: Bearer ...`.", err=True)


@key.command()
@from_settings(*STORED)
@click.argument("secret", metavar="KEY")
def revoke(secret: str, **options: Any) -> None:
    """Let nobody in with KEY any more; servers notice within a second."""
    from sash.server.keys import digest_of
    from sash.store import open_store

    settings = settings_of(options, *STORED)
    tenant = settings.text("tenant")
    opened = open_store(settings.store())
    try:
        if not opened.revoke_key(tenant, digest_of(secret)):
            raise NotFound("such key of the tenant", tenant)
    finally:
        opened.close()
    click.echo("revoked", err=True)
