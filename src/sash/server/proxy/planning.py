"""How a caller's request is planned: the same whether it is sent or only explained."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec

from sash.server.proxy.expanding import offered
from sash.server.proxy.headers import caller_of
from sash.server.proxy.incoming import Incoming
from sash.server.proxy.learned import Caller, Lesson
from sash.server.proxy.plan import Plan, Sketch, planned, sketch_of, untouched
from sash.server.proxy.proxy import Proxy
from sash.server.proxy.setup import Upstream

INLINE_BYTES = 32_000
"""A body up to this size is fitted at once; a larger one in a thread, so that others do not wait for it."""
_YES = ("true", "1", "yes")

Use = Literal["answer", "count", "compact"]
"""What a request is for: an answer, only how large it would be, or what the provider makes of a whole history."""


class Planning:
    """What is to become of one request on its wire."""

    def __init__(self, proxy: Proxy, wire: str, tenant: str, asked: Incoming, use: Use = "answer") -> None:
        self._proxy, self._wire, self._asked, self._use = proxy, wire, asked, use
        self.who: Caller = tenant, caller_of(asked.headers, tenant)

    def upstream(self, model: str) -> Upstream:
        """Where it goes."""
        return self._proxy.addresses.choose("anthropic" if self._wire == "anthropic" else "openai", model)

    def place(self, model: str) -> str:
        """A model as lessons know it: the same name elsewhere may be another one."""
        return f"{self.upstream(model).origin} {model}"

    @property
    def offers(self) -> bool:
        """Whether our tool is put behind the client's own; it is counted as it would be sent."""
        return self._proxy.setup.expand

    async def plan(self) -> Plan:
        """The request as it goes on; as it came, where nobody wants it touched or the provider has the history."""
        asked = self._asked
        if self._proxy.setup.bypass or asked.header("x-sash-bypass").lower() in _YES:
            return untouched(asked.body, self._wire, "bypass")
        sketch = sketch_of(asked.plain)
        if self._wire == "openai-responses" and sketch.continues_upstream:
            return untouched(asked.body, self._wire, "upstream", sketch)
        if self._use == "compact":
            # What the provider makes of it stands for all that was said: what had left the window would be lost to it.
            return untouched(asked.body, self._wire, "passed", sketch)
        place = self.place(sketch.name)
        lesson = self._proxy.learned.known(self.who, place)
        if lesson is None:
            lesson = await asyncio.to_thread(self._proxy.learned.fetch, self.who, place)
        return await self.fitted(sketch, lesson)

    async def fitted(self, sketch: Sketch, lesson: Lesson) -> Plan:
        """The request fitted by what was learned; the very bytes that came, where none had to change."""
        asked = self._asked
        given = offered(asked.plain, self._wire) if self.offers else asked.plain
        summaries = self._proxy.kept_summaries(self.who)
        if len(given) <= INLINE_BYTES and summaries is None:
            plan = planned(given, self._wire, sketch, self._proxy.setup, lesson)
        else:
            plan = await asyncio.to_thread(
                planned, given, self._wire, sketch, self._proxy.setup, lesson, summaries=summaries
            )
        if self.offers and plan.fitted is not None:
            return msgspec.structs.replace(plan, changed=True)
        return plan if plan.changed else msgspec.structs.replace(plan, body=asked.body)
