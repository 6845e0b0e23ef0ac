"""`POST /v1/sash/explain`: what would be done to a body, and why. Nothing is sent anywhere."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from sash.core.tokens import TokenCount
from sash.errors import SashError
from sash.server.proxy.incoming import Gone, Incoming, incoming, read_body
from sash.server.proxy.outlet import Outlet
from sash.server.proxy.plan import Plan, Sketch, sketch_of
from sash.server.proxy.planning import Planning
from sash.server.proxy.proxy import Proxy
from sash.server.proxy.refusals import Refusal, refusal_of
from sash.server.proxy.setup import Upstream
from sash.wire import WIRES


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """What the proxy would do to a body."""

    wire: str
    model: str
    upstream: str
    """Host that it would go to."""
    frame: str
    """The frame's number, or why there is none: `bypass`, `upstream`."""
    changed: bool
    """Whether other bytes would go out than came in."""
    tokens: TokenCount | None = None
    window: int | None = None
    calibration: float = 1.0
    """What the provider counts for each token that we count, as its usage has shown."""
    report: Any = None
    explanation: Any = None


class Explaining:
    """The route: an ASGI application."""

    def __init__(self, proxy: Proxy, tenant: str = "") -> None:
        self._proxy, self._tenant = proxy, tenant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        outlet, wire = Outlet(send), "openai-chat"
        try:
            asked = await read_body(incoming(scope), receive, self._proxy.setup.body_bytes)
            sketch = sketch_of(asked.plain)
            wire = wire_of(asked, sketch)
            planning = Planning(self._proxy, wire, self._tenant, asked)
            plan = await planning.plan()
            told = await asyncio.to_thread(explained, plan, sketch.name, planning.upstream(sketch.name))
        except Gone:
            return
        except Refusal as refusal:
            await outlet.refuse(refusal, wire, [])
            return
        except SashError as error:
            await outlet.refuse(refusal_of(error, wire), wire, [])
            return
        body = msgspec.json.encode(told)
        length = (b"content-length", str(len(body)).encode())
        await outlet.start(200, [(b"content-type", b"application/json"), length])
        await outlet.end(body)


def explained(plan: Plan, model: str, upstream: Upstream) -> Explained:
    """What would be done."""
    fitted = plan.fitted
    return Explained(
        wire=plan.wire,
        model=model,
        upstream=upstream.origin,
        frame=plan.label,
        changed=plan.changed,
        tokens=None if fitted is None else fitted.tokens,
        window=None if fitted is None else fitted.report.window,
        calibration=plan.factor,
        report=None if fitted is None else fitted.report,
        explanation=None if fitted is None else fitted.explain(),
    )


def wire_of(asked: Incoming, sketch: Sketch) -> str:
    """The wire of a body: the one that `x-sash-wire` names, else the one that it looks like."""
    named = asked.header("x-sash-wire")
    if named:
        if named not in WIRES or named == "flat":
            known = ", ".join(name for name in WIRES if name != "flat")
            raise Refusal(400, f"x-sash-wire is {named[:40]!r}; it takes {known}", code="invalid_value")
        return named
    if sketch.input and not sketch.messages:
        return "openai-responses"
    if asked.header("anthropic-version") or sketch.name.startswith("claude") or sketch.system:
        return "anthropic"
    return "openai-chat"
