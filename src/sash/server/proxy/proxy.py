"""What the proxy's routes share: its setup, its connections, and what it has learned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from sash.fitting import KeptSummaries
from sash.providers import Local
from sash.server.proxy.courier import Courier
from sash.server.proxy.keeping import Keeper
from sash.server.proxy.learned import Caller, Learned, Shelf
from sash.server.proxy.setup import ProxySetup
from sash.server.proxy.summaries import Summaries
from sash.server.proxy.usage import Usage
from sash.store import Store


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """An exchange that is over, in numbers: nothing of what was said, and nothing of who said it."""

    wire: str
    status: int
    """0: the client left before there was any."""
    overhead_seconds: float
    usage: Usage
    model: str = ""
    frame: str = ""
    changed: bool = False
    retried: bool = False


class Proxy:
    """The state of a proxy. Made once, closed once."""

    def __init__(
        self,
        setup: ProxySetup,
        *,
        store: Store | None = None,
        shelf: Shelf | None = None,
        summaries: Summaries | None = None,
        local: Local | None = None,
        on_passed: Callable[[Passed], None] | None = None,
    ) -> None:
        """`store` is where conversations are kept, if they are; `summaries` has them told; `local` may answer."""
        self.setup = setup
        self.addresses = setup.upstreams.resolved()
        self.courier = Courier(setup, local=local)
        self.learned = Learned(shelf)
        self.keeper = Keeper(store, setup.policy) if setup.keep and store is not None else None
        self.summaries = summaries
        self._on_passed = on_passed

    def passed(self, exchange: Passed) -> None:
        """Tell whoever counts."""
        if self._on_passed is not None:
            self._on_passed(exchange)

    def kept_summaries(self, caller: Caller) -> KeptSummaries | None:
        """The caller's own summaries, where there are any."""
        if self.summaries is None:
            return None
        return KeptSummaries(owner=" ".join(caller), choose=self.summaries.chooser(caller))

    async def close(self) -> None:
        """Close the connections to upstreams."""
        await self.courier.close()
        if self.summaries is not None:
            await asyncio.to_thread(self.summaries.close)
