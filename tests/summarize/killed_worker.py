"""A worker in a process of its own, to be killed. Arguments: the store's address, the tenant, seconds for an answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sash.providers import Event
from sash.store import open_store
from sash.summarize import Summarizer
from sash.thread.worker import Terms, Worker
from tests.scripted import Scripted
from tests.summarize.threads import model


class Slow(Scripted):
    """Takes its time, so that there is something to interrupt."""

    seconds = 0.0

    async def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        await asyncio.sleep(self.seconds)
        async for event in super().complete(request, max_tokens=max_tokens):
            yield event


def main(url: str, tenant: str, seconds: str) -> None:
    slow = Slow(answer=model().answer)
    slow.seconds = float(seconds)
    store = open_store(url)
    terms = Terms(turns=1, attempts=1_000, first_seconds=0.0, lease_seconds=0.3)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    Worker(store, Summarizer(slow), tenant=tenant, terms=terms).run(idle_seconds=0.01)


if __name__ == "__main__":
    main(*sys.argv[1:])
