"""`sash worker`: writes the summaries that are due, as a process of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.options import from_settings, reports, settings_of
from sash.cli.stored import store_of
from sash.errors import NotFound
from sash.store import Store
from sash.thread.worker import Terms, Worked, Worker

NAMES = ("store", "summarizer", "base_url", "summary_tokens_per_hour")


class WorkDone(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash worker --once --json` prints."""

    threads: tuple[Worked, ...]


@click.command()
@click.option("--tenant", default=None, metavar="TEXT", help="Only threads of this tenant; left out: of everybody.")
@click.option("--once", is_flag=True, help="Do what is due now and exit: 1 where something failed.")
@click.option("--retry", "names", multiple=True, metavar="THREAD", help="Try this thread again that was given up.")
@click.option("--idle", type=click.FloatRange(0.01), default=2.0, show_default=True, help="Seconds between two looks.")
@from_settings(*NAMES)
@reports(WorkDone)
@click.pass_context
def worker(
    context: click.Context,
    /,
    *,
    tenant: str | None,
    once: bool,
    names: tuple[str, ...],
    idle: float,
    as_json: bool,
    **given: Any,
) -> None:
    """
    Write summaries of the turns that left, for every thread of a store where one is due.

    Any number of workers may run, on any number of machines. One that is killed loses nothing:
    what it was at is due again when its lease has run out.
    """
    settings = settings_of(given, *NAMES)
    if not settings.text("summarizer"):
        raise click.UsageError("say who writes: --summarizer PROVIDER:MODEL, as in anthropic:MODEL or openai:MODEL")
    from sash.providers import provider_named
    from sash.summarize import Summarizer

    name, _, model = settings.text("summarizer").partition(":")
    provider = provider_named(name, model=model, base_url=settings.text("base_url"))
    policy = settings.policy()
    turns = policy.summary_min_turns + 1
    terms = Terms(turns=turns, tokens_per_hour=settings.value("summary_tokens_per_hour"))
    with store_of(settings) as store:
        for thread in names:
            _retry(store, tenant or "", thread)
        busy = Worker(store, Summarizer(provider, policy=policy), tenant=tenant, terms=terms)
        if not once:
            click.echo(f"sash worker: {provider.name} {clean(provider.model)} writes; Ctrl-C ends it", err=True)
            with _told_to_stop(busy):
                busy.run(idle_seconds=idle, done=_tell)
            return
        done: list[Worked] = []
        while (made := busy.once()) is not None:
            done.append(made)
            if not as_json:
                _tell(made)
    if as_json:
        answer(WorkDone(threads=tuple(done)))
    if any(made.outcome in ("failed", "parked") for made in done):
        context.exit(1)


def _retry(store: Store, tenant: str, name: str) -> None:
    """A summary that was given up is due again."""
    row = store.find(tenant, name)
    if row is None:
        raise NotFound("thread", name)
    store.retry_summary(tenant, row.id)


def _tell(made: Worked) -> None:
    summary, more = made.summary, f": {clean(made.error)}" if made.error else ""
    if summary is not None:
        more = f", turns {summary.first} to {summary.end - 1}, {summary.lines} lines, {summary.removed} taken out"
    click.echo(f"thread {made.thread}: {made.outcome}{more}", err=True)


@contextmanager
def _told_to_stop(busy: Worker) -> Iterator[None]:
    """Ctrl-C and a polite kill end it after the lease is given back."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        busy.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
