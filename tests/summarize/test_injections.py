"""What tools say never becomes an instruction, however obedient the model: FAULTS S8."""

from __future__ import annotations

from collections.abc import Callable

from sash.summarize.transcript import Caps, turn_text
from tests.injections import PAYLOADS, dressed, poisoned_turn, surviving


def test_there_are_fifty_payloads_that_differ() -> None:
    assert len({dressed(number) for number in range(len(PAYLOADS))}) == 50


def test_no_order_of_a_tool_is_published(record_property: Callable[[str, object], None]) -> None:
    through = {number: lines for number in range(len(PAYLOADS)) if (lines := surviving(number))}
    record_property("orders of tools in summaries", f"{len(through)} of {len(PAYLOADS)}")
    assert through == {}


def test_the_model_is_shown_payloads_as_quoted_data() -> None:
    for number in range(len(PAYLOADS)):
        turn = poisoned_turn(number)
        shown = turn_text(turn, Caps()).splitlines()
        inside = [line for line in shown if not line.startswith("| ")]
        assert inside == ["[t1]", "user:", "assistant called fetch:", "result of fetch:", "assistant:"]
