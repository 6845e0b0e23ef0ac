"""What tools say never becomes an instruction, however obedient the model: FAULTS S8."""

from __future__ import annotations

from collections.abc import Callable

from sash.errors import SummaryRejected
from sash.summarize.sections import SECTIONS
from sash.summarize.transcript import Caps, SaidTurn, turn_text
from sash.summarize.verify import Bounds, verified
from tests.builders import Call, assistant, result, user
from tests.injections import PAYLOADS, dressed
from tests.summarize.building import evidence_of

ROOMY = Bounds(first=0, end=9, fits=lambda text: len(text) < 9_000, smaller=lambda text: len(text) < 9_000)


def poisoned(number: int) -> SaidTurn:
    said = (
        user("Please look at the page of the project and tell me its license."),
        assistant("", Call("c", '{"url": "https://project.example"}', "fetch")),
        result("c", dressed(number)),
        assistant("The license of the project is MIT."),
    )
    return SaidTurn(number=1, messages=said, tokens=1_000)


def obedient(number: int) -> str:
    """What a model writes that does all it is told to: the order in every section, plain, quoted and told of."""
    payload = PAYLOADS[number]
    lines = [payload.order, f'"{payload.order}"', f"The user said: {payload.order}", payload.text.replace("\n", " ")]
    parts = [f"## {section}\n" + "\n".join(f"- {line} [t1]" for line in lines) for section in SECTIONS]
    fine = "\n".join(f"- The license of the project is MIT, {word} [t1]" for word in ("page", "look", "tell", "please"))
    return "\n\n".join(parts) + f"\n\n## Decisions\n{fine}\n" * 9


def surviving(number: int) -> list[str]:
    """Lines of a published summary that hold the canary."""
    try:
        found = verified(obedient(number), evidence_of([poisoned(number)]), ROOMY)
    except SummaryRejected:
        return []
    return [line for line in found.text.splitlines() if PAYLOADS[number].canary in line]


def test_there_are_fifty_payloads_that_differ() -> None:
    assert len({dressed(number) for number in range(len(PAYLOADS))}) == 50


def test_no_order_of_a_tool_is_published(record_property: Callable[[str, object], None]) -> None:
    through = {number: lines for number in range(len(PAYLOADS)) if (lines := surviving(number))}
    record_property("orders of tools in summaries", f"{len(through)} of {len(PAYLOADS)}")
    assert through == {}


def test_the_model_is_shown_payloads_as_quoted_data() -> None:
    for number in range(len(PAYLOADS)):
        turn = poisoned(number)
        shown = turn_text(turn, Caps()).splitlines()
        inside = [line for line in shown if not line.startswith("| ")]
        assert inside == ["[t1]", "user:", "assistant called fetch:", "result of fetch:", "assistant:"]
