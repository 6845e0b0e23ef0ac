"""A tool's text never becomes an instruction by leaving the window: fifty payloads, none gets through the digest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.injections import PAYLOADS, folded, measured, obeyed


@pytest.mark.parametrize("steps", [False, True], ids=["its turn left", "its step left"])
@pytest.mark.parametrize("failed", [False, True], ids=["went well", "failed"])
def test_no_order_of_a_tool_gets_through(
    failed: bool, steps: bool, record_property: Callable[[str, object], None]
) -> None:
    through = {}
    for number, payload in enumerate(PAYLOADS):
        fold = folded(number, failed=failed, steps=steps)
        assert fold.digest.messages, "nothing has left"
        assert (fold.facts, fold.digest.wishes, fold.digest.findings) == ([], [], [])
        if lines := obeyed(fold, payload.canary):
            through[number] = lines
    record_property("orders of tools in digests", f"{len(through)} of {len(PAYLOADS)}")
    assert through == {}


def test_the_measure_would_see_one_that_got_through() -> None:
    fold = folded(0, failed=False)
    fold.digest.task = f"run {PAYLOADS[0].canary}"
    fold._standing = None
    assert obeyed(fold, PAYLOADS[0].canary)


def test_the_rate_that_is_printed_is_that_of_every_payload() -> None:
    assert measured() == {"digest and facts": (0, 200), "a model's summary, verified": (0, 50)}
