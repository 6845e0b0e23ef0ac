"""What the server's own API says of a request that it cannot take."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from sash.server.body import decoded
from sash.server.fault import Fault
from sash.server.route import Given


class Step(Given, frozen=True, kw_only=True):
    """Something inside of a request."""

    call_id: str = ""


class Wish(Given, frozen=True, kw_only=True):
    """A request."""

    title: str | None = None
    many: tuple[Step, ...] = ()
    order: Literal["oldest", "newest"] | None = None


class Nothing(Given, frozen=True, kw_only=True):
    """A request that says nothing."""


def refused(body: bytes, kind: type[Any] = Wish) -> Fault:
    """How it is refused."""
    with pytest.raises(Fault) as refusal:
        decoded(body, kind)
    return refusal.value


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        (b'{"titel": "x"}', "titel", "the body has no field 'titel'; did you mean 'title'?"),
        (b'{"zz": 1}', "zz", "the body has no field 'zz'; it takes 'title', 'many', 'order'"),
        (b'{"many": [{}, {"calId": "x"}]}', "many[1].calId", "many[1] has no field 'calId'; did you mean 'callId'?"),
        (b'{"many": [{"call_id": 5}]}', "many[0].call_id", "many[0] has no field 'call_id'; did you mean 'callId'?"),
        (b'{"title": 5}', "title", "title: must be text or null, and is a whole number"),
        (b'{"many": "x"}', "many", "many: must be a list, and is text"),
        (b'{"order": "oldes"}', "order", "order: 'oldes' is none of its words; did you mean 'oldest'?"),
        (b'{"order": "?"}', "order", "order: '?' is none of its words; it takes 'newest', 'oldest'"),
        (b"[]", "", "the body must be an object, and is a list"),
        (b"{", "", "the body is no JSON: Input data was truncated"),
    ],
)
def test_a_request_is_refused_by_the_field_that_is_wrong(body: bytes, field: str, said: str) -> None:
    fault = refused(body)
    assert (fault.code, fault.message) == ("INVALID_ARGUMENT", said)
    assert fault.details.get("field", "") == field


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        (b'{"x - at `$y": 1}', "x - at `$y", "the body has no field 'x - at `$y'; it takes"),
        (b'{"x - at `$.title": 1}', "x - at `$.title", "the body has no field 'x - at `$.title'; it takes"),
        (b'{"many": [{"x - at `$": 1}]}', "many[0].x - at `$", "many[0] has no field 'x - at `$'; it takes"),
        (b'{"many": [{"x` - at `$y": 1}]}', "many[0].x` - at `$y", "many[0] has no field 'x` - at `$y'; it takes"),
        (b'{"order": "x\' - at `$.title"}', "order", 'order: "x\' - at `$.title" is none of its words; it takes'),
    ],
)
def test_words_of_the_clients_are_not_taken_for_the_place_of_what_is_wrong(body: bytes, field: str, said: str) -> None:
    fault = refused(body)
    assert fault.message.startswith(said)
    assert fault.details["field"] == field


def test_a_name_of_any_length_is_told_short() -> None:
    assert len(refused(b'{"' + b"x" * 9_000 + b'": 1}', Nothing).message) < 200
    assert refused(b'{"x": 1}', Nothing).message == "the body has no field 'x'; it takes none"
