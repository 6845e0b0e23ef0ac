"""`sash.fit`: the fold, replayed over a history that comes whole."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from sash.core.budget import whole_number
from sash.core.frame import Frame
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.counters import counter_for
from sash.errors import BodyTooLarge, InvalidPolicy, WindowOverflow
from sash.fitting.fitted import Fitted
from sash.fitting.outgoing import Outgoing
from sash.wire import Body, carry_tools, model_of, read_tools, take_apart, wire_named
from sash.wire.json_text import as_json

_log = logging.getLogger("sash")


def fit(  # noqa: PLR0913  (the public door, whose names are fixed)
    messages_or_body: object,
    *,
    wire: str = "openai-chat",
    model: str = "",
    policy: Policy | None = None,
    system: object = None,
    tools: object = None,
    sources: Sequence[Source] = (),
    max_tokens: int | None = None,
    on_frame: Callable[[Frame], None] | None = None,
) -> Fitted:
    """
    The request for a history, within its budget.

    Takes the list of messages, or the whole body, that you would send: nothing of it is
    changed. Called again with the history grown, it keeps what it sent before, byte for
    byte, until the window has to slide. Raises `WindowOverflow` when what may not be
    left out is already too large. `on_frame` is told of the frame that the newest message
    led to. A `flat` prompt is made from messages of `openai-chat`.
    """
    policy = policy if policy is not None else Policy()
    if not isinstance(policy, Policy):
        raise InvalidPolicy("policy", policy, "a sash.Policy")
    body = take_apart(messages_or_body, "openai-chat" if wire == "flat" else wire)
    answer = whole_number("max_tokens", max_tokens) if max_tokens is not None else _answer_of(body)
    carried, lost = carry_tools(read_tools(tools, body.wire) if tools is not None else body.tools, wire)
    prompt = body.system if system is None else _prompt(system, body.wire)
    choice = counter_for(model or model_of(body.fields), counter=policy.counter)
    outgoing = Outgoing(
        given=messages_or_body,
        wire=wire,
        body=body,
        tools=carried,
        tool_tokens=choice.counter.tools([wire_named(wire).write_tool(tool) for tool in carried]),
        lost=lost,
        prompt=() if prompt is None else (prompt,),
        sources=tuple(sources),
        answer=answer,
        policy=policy,
        choice=choice,
    )
    fitted = outgoing.fitted()
    limits = fitted.fold.limits
    if fitted.tokens.value > limits.hard:
        fixed = outgoing.fixed(fitted.fold)
        raise WindowOverflow(fixed=fixed, tokens=fitted.tokens, window=limits.window, reserve=limits.reserve)
    if fitted.size > policy.body_bytes:
        raise BodyTooLarge(size=fitted.size, limit=policy.body_bytes)
    frame = fitted.report.frame
    if frame.number and frame.at == len(fitted.fold):
        _log.info("frame %d: %s, boundary %d, %d tokens freed", frame.number, frame.reason, frame.boundary, frame.freed)
        if on_frame is not None:
            on_frame(frame)
    return fitted


def _prompt(system: object, wire: str) -> Message | None:
    """A system prompt as the provider takes it: words, or blocks."""
    if not system:
        return None
    written = msgspec.json.encode(system) if isinstance(system, str) else as_json(system)
    spoken = wire_named(wire)
    if spoken.SYSTEM:
        return spoken.read_system(written)
    return spoken.read_message(b'{"role":"system","content":' + written + b"}")


def _answer_of(body: Body) -> int:
    """The largest answer that a body asks for."""
    for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
        asked = msgspec.json.decode(body.fields[name]) if name in body.fields else None
        if isinstance(asked, int) and asked > 0:
            return asked
    return 0
