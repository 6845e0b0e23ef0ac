"""A list of objects that grows between calls is written where it grew, and whatever was changed in it is seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sash.core.policy import Policy
from sash.core.sources import Source
from sash.errors import InvalidMessage
from sash.fitting import Fitted, door, fit
from sash.fitting.replays import PIECES, Replays
from sash.wire import json_text
from tests.builders import WIRES, Call, Script, lines, words

Said = dict[str, Any]
POLICY = Policy(counter="chars4", history_tokens=1_000)


def anew(given: Any, **how: Any) -> Fitted:
    """As a process would answer that has seen nothing before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "REPLAYS", Replays())
        return fit(given, **how)


def told(fitted: Fitted) -> tuple[object, ...]:
    return fitted.body, fitted.messages, fitted.request, fitted.tokens, fitted.report, fitted.size


@settings(max_examples=40)
@given(
    wire=st.sampled_from(WIRES),
    growth=st.lists(st.sampled_from(["turn", "step", "giant", "open", "interrupt"]), min_size=1, max_size=12),
    cap=st.sampled_from([40, 300, 2_000]),
    beside=st.booleans(),
    as_json=st.booleans(),
)
def test_a_call_on_a_grown_history_gives_what_a_first_call_gives(
    wire: str, growth: list[str], cap: int, beside: bool, as_json: bool
) -> None:
    script, policy = Script(wire), Policy(counter="chars4", history_tokens=cap)
    how: dict[str, Any] = {"wire": wire, "policy": policy, "sources": [Source("knowledge", "it rains", stable=False)]}
    if not beside:
        how.pop("sources")
    for number, kind in enumerate(growth):
        if kind == "turn":
            script.turn(ask=20, answer=20).user("next")
        elif kind == "step":
            script.step(f"c{number}", words(50))
        elif kind == "giant":
            script.step(f"c{number}", lines(500))
        elif kind == "open":
            script.assistant("", Call(f"c{number}"))
        else:
            script.user("stop")
        given: Any = json_text.as_json(script.said) if as_json else script.said
        assert told(fit(given, **how)) == told(anew(given, **how))


def long(turns: int = 30) -> list[Said]:
    script = Script()
    for number in range(turns):
        script.user(f"{number} {words(20)}").assistant(f"{number} {words(20)}")
    return script.user("and now?").said


def test_a_history_may_come_as_objects_once_and_as_json_the_next_time_with_any_space_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "REPLAYS", Replays())
    said, policy = long(), Policy(counter="chars4", history_tokens=400)
    for end, spaced in ((21, False), (41, True), (51, False), (51, True), (61, False)):
        given: Any = json.dumps(said[:end], indent=1) if spaced else said[:end]
        assert told(fit(given, policy=policy)) == told(anew(given, policy=policy))


def test_only_what_is_new_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = json_text.written

    def counted(given: Any) -> tuple[bytes, bool]:
        written.append(len(given))
        return write(given)

    monkeypatch.setattr(json_text, "written", counted)
    said = long()
    fit(said, policy=POLICY)
    said += [{"role": "assistant", "content": "this"}, {"role": "user", "content": "and then?"}]
    fit(said, policy=POLICY)
    fit(said, policy=POLICY)
    assert written == [61, 2, 0]


CHANGES: dict[str, Callable[[list[Said]], object]] = {
    "other words": lambda said: said[3].update(content="changed"),
    "another order of keys": lambda said: said[3].update(role=said[3].pop("role")),
    "a number that is a truth": lambda said: said[3].update(extra=True),
    "a number with a point": lambda said: said[3].update(extra=1.0),
    "inside a list": lambda said: said[4]["content"][0].update(text="changed"),
    "one message less": lambda said: said.pop(3),
    "one message more": lambda said: said.insert(3, {"role": "user", "content": "between"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_caller_changed_in_its_own_objects_is_seen(change: str) -> None:
    said = long(5)
    said[3]["extra"] = 1
    said[4]["content"] = [{"type": "text", "text": "in a list"}]
    before = fit(said, policy=POLICY).body
    CHANGES[change](said)
    said.append({"role": "user", "content": "more"})
    after = fit(said, policy=POLICY)
    assert after.body == anew(said, policy=POLICY).body == json_text.as_json({"messages": said})
    assert not after.body.startswith(before[:-2])


def test_what_is_not_plain_is_written_anew_each_time() -> None:
    said = long(3)
    said[1]["at"] = datetime(2024, 1, 1, tzinfo=UTC)
    first = fit(said, policy=POLICY).body
    said[1]["at"] = said[1]["at"].astimezone(timezone(timedelta(hours=2)))
    assert fit(said, policy=POLICY).body != first


def test_a_number_that_has_no_json_is_refused_by_its_place_in_the_whole_list() -> None:
    said = long(3)
    fit(said, policy=POLICY)
    said += [{"role": "assistant", "content": "x", "score": float("nan")}, {"role": "user", "content": "y"}]
    with pytest.raises(InvalidMessage, match=r"\[7\]\.score"):
        fit(said, policy=POLICY)


class Dumped:
    """An object of an SDK."""

    def __init__(self, **said: Any) -> None:
        self.said = said

    def model_dump(self, **how: Any) -> Said:
        return self.said


def test_objects_of_an_sdk_are_written_anew_each_time() -> None:
    said: list[Any] = [*long(3), Dumped(role="assistant", content="mine"), {"role": "user", "content": "and?"}]
    fit(said, policy=POLICY)
    said[-2].said["content"] = "changed"
    said.append({"role": "user", "content": "more"})
    assert b'"changed"' in fit(said, policy=POLICY).body


def test_a_list_that_grew_many_times_is_known_as_objects_and_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    replays = Replays()
    monkeypatch.setattr(door, "REPLAYS", replays)
    history: list[Said] = []
    for number in range(PIECES + 3):
        history += [{"role": "user", "content": f"ask {number}"}, {"role": "assistant", "content": f"say {number}"}]
        fitted = fit(history, policy=POLICY)
        assert json.loads(fitted.listed) == history
        (known,) = replays._known.values()
        assert len(known.pieces) <= PIECES
        assert b"".join(known.pieces) + b"]" == fitted.listed
    written = json.dumps(history, separators=(",", ":"))
    assert told(fit(written, policy=POLICY)) == told(anew(written, policy=POLICY))
    other = json.dumps([*history[:-1], {"role": "assistant", "content": "something else"}], separators=(",", ":"))
    assert told(fit(other, policy=POLICY)) == told(anew(other, policy=POLICY))
    assert len(replays._known) == 2
