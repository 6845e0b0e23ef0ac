"""`sash key`: who may call a server that asks for keys."""

from __future__ import annotations

import time
from typing import Any

import click
import msgspec

from sash.cli.age import age, moment
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.screen import screen
from sash.cli.stored import store_of
from sash.cli.table import Cell, Column, print_table
from sash.errors import NotFound
from sash.settings import Settings
from sash.store import ApiKey


class ShownKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key, as `sash key list --json` tells it: never the key itself."""

    id: str
    """What `sash key revoke` takes."""
    tenant: str
    label: str
    made: str | None
    revoked: bool


class ShownKeys(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash key list --json` prints."""

    keys: tuple[ShownKey, ...]


@click.group()
def key() -> None:
    """Make, list and revoke the keys that `sash serve --require-key` asks for."""


@key.command()
@from_settings(*STORED)
@click.option("--label", default="", help="What you will know it by.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(label: str, as_json: bool, **options: Any) -> None:
    """Make a key and show it: once, for only its digest is kept."""
    from sash.server.keys import make_key

    settings = settings_of(options, *STORED)
    with store_of(settings, create=True) as opened:
        made = make_key(opened, settings.text("tenant"), label)
    if as_json:
        click.echo(msgspec.json.encode(made))
        return
    click.echo(made.key)
    click.echo("Keep it: it is not shown again. Send it as `Authorization: Bearer ...`.", err=True)


@key.command("list")
@from_settings(*STORED)
@reports(ShownKeys)
def list_keys(as_json: bool, **options: Any) -> None:
    """List the keys of every tenant, or of one: whose they are and when they were made, never the keys."""
    settings = settings_of(options, *STORED)
    with store_of(settings) as opened:
        keys = opened.keys(_tenant(settings))
    if as_json:
        answer(ShownKeys(keys=tuple(map(_shown, keys))))
        return
    out = screen()
    if not keys:
        out.paragraph("There is no key; `sash key new` makes one.")
        return
    columns = (
        Column(title="id"),
        Column(title="tenant", rank=1),
        Column(title="label", gives_way=True, least=8),
        Column(title="made", right=True, rank=2),
        Column(title="state"),
    )
    now = time.time()
    rows = [
        [
            Cell(each.id, "dim" if each.revoked else "bold"),
            Cell(clean(each.tenant) or "-"),
            Cell(clean(each.label)),
            Cell(age(each.at, now), "dim"),
            Cell("revoked", "dim") if each.revoked else Cell("lets in", "green"),
        ]
        for each in keys
    ]
    print_table(out, columns, rows)


@key.command()
@from_settings(*STORED)
@click.argument("secret", metavar="KEY")
def revoke(secret: str, **options: Any) -> None:
    """
    Let nobody in with KEY any more; servers notice within a second.

    KEY is the key itself or, where that was lost, its id in `sash key list`.
    """
    from sash.server.keys import PREFIX, digest_of

    settings = settings_of(options, *STORED)
    digest = digest_of(secret)
    with store_of(settings) as opened:
        keys = opened.keys(_tenant(settings))
        found = next((each for each in keys if digest == each.digest or secret == each.id), None)
        if found is None:
            # What was meant for a key is not told to whoever reads the screen.
            name = f"{PREFIX}..." if secret.startswith(PREFIX) else secret
            raise NotFound("key", name, "`sash key list` shows what there is")
        opened.revoke_key(found.tenant, found.digest)
    click.echo("revoked", err=True)


def _tenant(settings: Settings) -> str | None:
    """Whose keys are meant; None, everybody's, where no tenant was named."""
    return None if settings.where("tenant") == "default" else settings.text("tenant")


def _shown(found: ApiKey) -> ShownKey:
    made = moment(found.at)
    return ShownKey(id=found.id, tenant=found.tenant, label=found.label, made=made, revoked=found.revoked)
