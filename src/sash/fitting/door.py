"""`sash.fit`: the fold, replayed over a history that comes whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import msgspec

from sash.arguments import CALLABLE, NUMBER, SOURCES, TEXT, having, takes
from sash.core.budget import whole_number
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.limits import Limits
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.errors import BodyTooLarge, InvalidPolicy
from sash.fitting.fitted import Fitted, Given
from sash.fitting.replays import REPLAYS, KeptSummaries, Listed, Replayed
from sash.window import OnFrame, Prepared, Report, Setup, Window, announce, system_prompt
from sash.window.outgoing import Outgoing
from sash.wire import Body, Tool, carry_tools, model_of, read_tools, take_apart, wire_named


@takes(
    wire=TEXT,
    model=TEXT,
    sources=SOURCES,
    calibration=NUMBER,
    on_frame=CALLABLE,
    summaries=having("what keeps summaries", "owner", kind=type(None)),
)
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
    calibration: float = 1.0,
    on_frame: OnFrame | None = None,
    summaries: KeptSummaries | None = None,
) -> Fitted:
    """
    The request for a history, within its budget.

    Takes the list of messages, or the whole body, that you would send: nothing of it is
    changed. Called again with the history grown, it keeps what it sent before, byte for
    byte, until the window has to slide. Raises `WindowOverflow` when what may not be
    left out is already too large. `calibration` is what the provider counts for each token
    that we count, where usage has shown it. `on_frame` is told of the frames that what
    came since the last request has led to; an error of its own is logged and changes nothing. `summaries` says which
    summary stands under a frame, for who keeps them beside a history that comes whole. A `flat`
    prompt is made from messages of `openai-chat`. A body of `openai-responses` that goes on from
    what the provider keeps (`previous_response_id`, `conversation`) is only what is new: a result
    in it may answer a call that is not.
    """
    policy = policy if policy is not None else Policy()
    if not isinstance(policy, Policy):
        raise InvalidPolicy("policy", policy, "a sash.Policy")
    listed = REPLAYS.listed(messages_or_body) if isinstance(messages_or_body, list) else None
    spoken = "openai-chat" if wire == "flat" else wire
    if listed is None:
        body = take_apart(messages_or_body, spoken)
        listed = Listed(body.listed)
    else:
        # Nothing but messages: what they are as JSON is put together when somebody asks.
        body = Body(wire=wire_named(spoken).NAME, listed=b"", source=b"")
    answer = whole_number("max_tokens", max_tokens) if max_tokens is not None else _answer_of(body)
    carried, lost = carry_tools(read_tools(tools, body.wire) if tools is not None else body.tools, wire)
    setup = Setup(
        model=model or model_of(body.fields),
        policy=policy,
        system=(body.system,) if system is None and body.system else system_prompt(system, body.wire),
        tools=carried,
        sources=tuple(sources),
        answer=answer,
        continued=body.continued,
        calibration=calibration,
    )
    window, kept = _folded(body, listed, setup, wire, summaries)
    prepared = window.prepared(wire)
    kept[wire] = window.outgoing(wire)
    fields = _as_they_came(prepared, body, listed, carried)

    def report() -> Report:
        told = prepared.report
        return msgspec.structs.replace(told, repairs=(*lost, *told.repairs))

    fitted = Fitted(Given(messages_or_body, body, listed), window, prepared, fields, report)
    if fitted.size > policy.body_bytes:
        raise BodyTooLarge(size=fitted.size, limit=policy.body_bytes)
    for frame in _new_frames(window.fold):
        announce(frame, on_frame)
    return fitted


def _new_frames(fold: Fold) -> list[Frame]:
    """The frames that what came since the last request has led to."""
    since = _answered(fold)
    new = [*takewhile(lambda frame: frame.number and frame.at > since, reversed(fold.past.frames))]
    return new[::-1]


def _answered(fold: Fold) -> int:
    """Where the answer to the last request begins; where that has left, right before what was said after it."""
    turns = [*fold.turns.values()]
    steps = (turn.steps[-1][0].position for turn in reversed(turns) if turn.steps)
    return next(steps, turns[-1].first().position - 1 if turns else 0)


def _folded(
    body: Body, listed: Listed, setup: Setup, wire: str, summaries: KeptSummaries | None
) -> tuple[Window, dict[str, Outgoing]]:
    """
    The window on a history that came whole, and where its requests are kept.

    One that grew is folded on from where it was, and its request grows from the last one.
    """
    choice = setup.choice()

    def folded(limits: Limits) -> Replayed:
        return REPLAYS.fold(
            listed, body.wire, policy=setup.policy, limits=limits, counter=choice.counter, summaries=summaries
        )

    replayed = folded(setup.limits(choice, setup.fixed(choice.counter)))
    window = Window(setup, choice=choice, fold=replayed.fold)
    if window.fold.system and window.limits() != window.fold.limits:
        # A system prompt among the messages is known only once they are read.
        replayed = folded(window.limits())
        window.fold = replayed.fold
    before = replayed.before.get(wire)
    if before is not None:
        window.go_on(before)
    return window, replayed.kept


def _as_they_came(prepared: Prepared, body: Body, listed: Listed, tools: Sequence[Tool]) -> dict[str, bytes]:
    """The request's fields; where nothing was changed, not even the white space between two messages is."""
    wire, fields = wire_named(prepared.wire), dict(prepared.fields)
    if prepared.wire == "flat":
        return fields
    count = len(prepared.fold)
    shown = prepared.sent[len(prepared.sent) - count :] if count <= len(prepared.sent) else ()
    whole = len(shown) == count and len(prepared.sent) - count == (1 if wire.SYSTEM in fields else 0)
    if whole and all(origin == place and not said.edited for place, (said, origin) in enumerate(shown)):
        fields[wire.MESSAGES] = body.fields.get(wire.MESSAGES, listed.json)
    if tuple(tools) == body.tools and "tools" in body.fields:
        fields["tools"] = body.fields["tools"]
    return fields


def _answer_of(body: Body) -> int:
    """The largest answer that a body asks for."""
    for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
        asked = msgspec.json.decode(body.fields[name]) if name in body.fields else None
        if isinstance(asked, int) and asked > 0:
            return asked
    return 0
