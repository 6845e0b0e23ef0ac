"""Arguments of a wrong kind: every public call refuses them by name, with an error of ours, and does nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import sash

ODD: tuple[Any, ...] = (3, 1.5, True, "x", "", [], [None], {}, b"x", object(), -1, 10**30, float("nan"))
SAID = {"role": "user", "content": "hello"}
READ = {"prompt_tokens": 5}
CALL = {"id": "1", "function": {"name": "sash_search", "arguments": "{}"}}


def opened(**named: Any) -> sash.Thread:
    return sash.open(**{"name": "talk", "store": "memory:", **named})


DOOR: Any = sash
"""The library, to somebody without a type checker."""


def talk() -> Any:
    thread = opened()
    thread.append([SAID, {"role": "assistant", "content": "hi"}])
    thread.mark("before")
    return thread


def fitted() -> Any:
    return sash.fit([SAID])


def arguments(
    call: Callable[[], Callable[..., Any]],
    *,
    called: str,
    names: str,
    others: dict[str, Any] | None = None,
) -> list[Any]:
    """Each argument of a call, with others that it needs."""
    return [pytest.param(call, name, others or {}, id=f"{called} {name}") for name in names.split()]


CALLS = [
    *arguments(
        lambda: opened, called="open", names="name store model policy system tools sources wire summarizer tenant",
    ),
    *arguments(
        lambda: sash.fit, called="fit", others={"messages_or_body": [SAID]},
        names="messages_or_body wire model policy system tools sources max_tokens calibration on_frame summaries",
    ),
    *arguments(
        lambda: sash.count_tokens, called="count_tokens", others={"text_or_messages": "x"},
        names="text_or_messages model wire counter",
    ),
    *arguments(lambda: sash.tools, called="tools", names="wire"),
    *arguments(
        lambda: talk().append, called="append", others={"message_or_messages": SAID},
        names="message_or_messages wire at key",
    ),
    *arguments(lambda: talk().record_usage, called="record_usage", others={"usage": READ}, names="usage wire"),
    *arguments(lambda: talk().record_overflow, called="record_overflow", names="complaint"),
    *arguments(lambda: talk().compact, called="compact", names="dry_run reason"),
    *arguments(lambda: talk().pin, called="pin", names="turn"),
    *arguments(lambda: talk().unpin, called="unpin", names="turn"),
    *arguments(lambda: talk().mark, called="mark", names="label"),
    *arguments(lambda: talk().rewind, called="rewind", names="label"),
    *arguments(lambda: talk().fork, called="fork", names="name at"),
    *arguments(lambda: talk().configure, called="configure", names="model policy system tools sources"),
    *arguments(lambda: talk().remember, called="remember", others={"text": "x"}, names="text by turn"),
    *arguments(lambda: talk().forget, called="forget", names="text"),
    *arguments(lambda: talk().answer, called="answer", others={"call": CALL}, names="call wire"),
    *arguments(lambda: talk().summarize, called="summarize", names="summarizer"),
    *arguments(lambda: talk().edit_summary, called="edit_summary", names="text"),
    *arguments(lambda: talk().revert_summary, called="revert_summary", names="revision"),
    *arguments(lambda: talk().redact, called="redact", names="seq"),
    *arguments(lambda: talk().request, called="request", names="wire at"),
    *arguments(lambda: talk().turns, called="turns", names="before limit"),
    *arguments(lambda: talk().events, called="events", names="since until"),
    *arguments(lambda: talk().said, called="said", names="turn"),
    *arguments(lambda: talk().expand, called="expand", others={"handle": "0.0"}, names="handle lines grep"),
    *arguments(lambda: talk().search, called="search", others={"text": "x"}, names="text limit match"),
    *arguments(lambda: sash.Source, called="Source", others={"name": "wiki", "text": "x"}, names="name text stable"),
    *arguments(lambda: fitted().expand, called="Fitted.expand", others={"handle": "0.0"}, names="handle lines grep"),
    *arguments(lambda: fitted().since, called="Fitted.since", names="before"),
    *arguments(lambda: talk().prepared().since, called="Prepared.since", names="before"),
    *arguments(lambda: sash.open_transcript, called="open_transcript", names="given"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "name", "others"), CALLS)
def test_whatever_a_call_is_given_only_an_error_of_ours_comes_back(
    call: Callable[[], Callable[..., Any]], name: str, others: dict[str, Any]
) -> None:
    for odd in (None, *ODD):
        with suppress(sash.SashError):
            call()(**{**others, name: odd})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: talk().pin("x"), "turn is 'x'; it takes a whole number"),
        (lambda: talk().pin(True), "turn is True; it takes a whole number"),
        (lambda: talk().rewind(1.5), "label is 1.5; it takes text"),
        (lambda: talk().mark(7), "label is 7; it takes text"),
        (lambda: talk().fork(at="x"), "at is 'x'; it takes a whole number"),
        (lambda: talk().expand(3), "handle is 3; it takes text"),
        (lambda: talk().search(None), "text is None; it takes text"),
        (lambda: talk().remember("x", by="me"), "by is 'me'; it takes one of 'user', 'model'"),
        (lambda: fitted().expand(3), "handle is 3; it takes text"),
        (lambda: fitted().expand("0.0", lines=3), "lines is 3; it takes the numbers of the first and the last line"),
        (lambda: fitted().since(None), "before is None; it takes a request that `fit` or `prepared` gave"),
        (lambda: DOOR.Source(None, "x"), "name is None; it takes text"),
        (lambda: DOOR.Source("skills", 3), "text is 3; it takes text"),
        (lambda: DOOR.Source("skills", "x", stable=1), "stable is 1; it takes True or False"),
        (lambda: DOOR.tools([]), "wire is []; it takes text"),
        (lambda: DOOR.count_tokens("x", model=5), "model is 5; it takes text"),
        (lambda: DOOR.open(7), "name is 7; it takes text"),
        (lambda: DOOR.open("x", store=None), "store is None; it takes the address of a store, or an open one"),
    ],
)  # fmt: skip
def test_an_argument_of_a_wrong_kind_is_named_with_what_it_takes(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(sash.InvalidArgument) as refused:
        call()
    assert str(refused.value) == said
    assert isinstance(refused.value, TypeError)
