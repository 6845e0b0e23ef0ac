"""Counts corrected by what a provider has reported."""

from __future__ import annotations

import math

import pytest

from sash import InvalidPolicy, fit
from sash.core.message import Image
from sash.core.tokens import Counter
from sash.counters import calibrated, counter_for
from tests.builders import Call, assistant


def test_every_count_is_scaled_and_rounded_up() -> None:
    plain = counter_for("gpt-5", counter="chars4")
    scaled = calibrated(plain, 1.3)
    said = assistant("some words that are said", Call("c1"))
    for count in ("text", "block", "around", "message", "tools", "image"):
        given: object = {
            "text": "a few words",
            "block": said.blocks[0],
            "around": said,
            "message": said,
            "tools": [b'{"name":"read"}'],
            "image": Image("image/png", "", "http://a/b.png"),
        }[count]
        whole = getattr(plain.counter, count)(given)
        assert getattr(scaled.counter, count)(given).value == math.ceil(whole.value * 1.3)
        assert not getattr(scaled.counter, count)(given).exact
    assert scaled.counter.priming == math.ceil(plain.counter.priming * 1.3)
    assert isinstance(scaled.counter, Counter)
    assert not scaled.exact


def test_counts_of_two_factors_are_told_apart() -> None:
    plain = counter_for("gpt-5")
    assert calibrated(plain, 1.0) is plain
    ids = {calibrated(plain, factor).counter.id for factor in (1.0, 1.1, 1.2)}
    assert len(ids) == 3
    assert calibrated(plain, 1.1).counter.version == plain.counter.version


@pytest.mark.parametrize("factor", [0, -1, 100, math.nan])
def test_a_factor_that_cannot_be_is_refused(factor: float) -> None:
    with pytest.raises(InvalidPolicy, match="calibration"):
        fit([{"role": "user", "content": "a"}], calibration=factor)


def test_a_request_counts_more_where_the_provider_does() -> None:
    said = [{"role": "user", "content": "word " * 1_000}]
    plain, more = fit(said, model="gpt-5"), fit(said, model="gpt-5", calibration=1.5)
    assert more.tokens.value == pytest.approx(1.5 * plain.tokens.value, rel=0.01)
