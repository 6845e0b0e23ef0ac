"""A tool's text never becomes an instruction by leaving the window: fifty payloads, none gets through the digest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sash.core.fold import Fold
from sash.core.message import Message
from sash.core.policy import Policy
from tests.builders import Call, assistant, fold_of, result, user
from tests.injections import PAYLOADS, dressed

POLICY = Policy(history_tokens=600, min_turns=1, summary_tokens=2_000, facts_tokens=500, step_digest_tokens=500)
COMMAND = "cat build.log"


def poisoned(number: int, *, failed: bool, steps: bool = False) -> Fold:
    """A fold in which a tool gave the payload, and its turn, or the step, has left."""
    said: list[Message] = [
        user("Look at the log, please."),
        assistant("", Call("a", f'{{"command": "{COMMAND}"}}', "bash")),
        result("a", dressed(number), error=failed),
    ]
    for place in range(14):
        if steps:
            said += [assistant("", Call(f"s{place}", '{"q": 1}', "ask")), result(f"s{place}", "la " * 100)]
        else:
            said += [assistant("I have read it."), user(f"Go on with number {place}. {'la ' * 100}")]
    return fold_of(said, POLICY)


def obeyed(fold: Fold, canary: str) -> list[str]:
    """Lines of what sash wrote that hold the canary and do not quote a tool."""
    texts = [fold.standing.digest, fold.standing.facts, *fold.standing.steps.values()]
    lines = [line for text in texts for line in text.split("\n") if canary in line]
    return [line for line in lines if not line.startswith(("> ", "Also named: ")) and not _in_quotes(line, canary)]


def _in_quotes(line: str, canary: str) -> bool:
    """Behind a command, as its outcome, in quotation marks."""
    before, _, after = line.partition(canary)
    outcome = line.startswith((f"- turn 1: {COMMAND}: ", f"- run {COMMAND}: "))
    return outcome and before.count('"') % 2 == 1 and after.endswith('"')


@pytest.mark.parametrize("steps", [False, True], ids=["its turn left", "its step left"])
@pytest.mark.parametrize("failed", [False, True], ids=["went well", "failed"])
def test_no_order_of_a_tool_gets_through(
    failed: bool, steps: bool, record_property: Callable[[str, object], None]
) -> None:
    through = {}
    for number, payload in enumerate(PAYLOADS):
        fold = poisoned(number, failed=failed, steps=steps)
        assert fold.digest.messages, "nothing has left"
        assert (fold.facts, fold.digest.wishes, fold.digest.findings) == ([], [], [])
        if lines := obeyed(fold, payload.canary):
            through[number] = lines
    record_property("orders of tools in digests", f"{len(through)} of {len(PAYLOADS)}")
    assert through == {}


def test_the_measure_would_see_one_that_got_through() -> None:
    fold = poisoned(0, failed=False)
    fold.digest.task = f"run {PAYLOADS[0].canary}"
    fold._standing = None
    assert obeyed(fold, PAYLOADS[0].canary)
