"""Messages in another wire's shape, as files take them: nothing mended, each with where it came from."""

from __future__ import annotations

import pytest

from sash.wire.carry_over import carry_each, carry_over
from sash.wire.conversation import Repair
from tests.builders import WIRES, Call, Script


def talk(wire: str) -> Script:
    asked = Script(wire).user("read it").assistant("I will.", Call("a"), Call("b")).results(("a", "one"), ("b", "two"))
    return asked.assistant("Done.").user("and now?")


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("wire", WIRES)
def test_what_was_said_is_said_in_every_wires_shape(wire: str, target: str) -> None:
    messages = talk(wire).messages()
    carried = carry_over(messages, target)
    # Those that had to change have no bytes of their own yet.
    assert {message.wire for message in carried.messages} <= {target, ""}
    assert " ".join(message.text for message in carried.messages).split() == (
        " ".join(message.text for message in messages).split()
    )
    assert list(carried.origins) == sorted(carried.origins)
    assert set(carried.origins) <= set(range(len(messages)))


def test_what_is_missing_stays_missing() -> None:
    messages = Script("openai-chat").user("go").assistant("", Call("never answered")).messages()
    assert len(carry_over(messages, "anthropic").messages) == 2


def test_one_by_one_it_is_the_same() -> None:
    messages = talk("openai-chat").messages()
    lost: list[Repair] = []
    whole = carry_over(messages, "anthropic")
    each = list(carry_each(iter(messages), "anthropic", lost))
    assert each == list(zip(whole.origins, whole.messages, strict=True))
    assert tuple(lost) == whole.lost
