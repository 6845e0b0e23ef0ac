"""Facts: kept apart, with their turns; superseded and never edited; shown within their cap."""

from __future__ import annotations

import pytest

from sash.core import facts as kept
from sash.core.facts import FACTS, TITLE, Fact, Facts, bounded, facts_in, facts_text, supersedes, with_fact
from sash.core.message import Message, Text, ToolResult
from sash.core.policy import Policy
from sash.core.request import assemble, new_facts
from sash.core.told import Room
from tests.builders import Call, Script, assistant, fold_of, grow, result, turns_of, user, words

ENDLESS = Room(1_000_000, len)


def test_facts_are_found_in_what_the_user_wrote_and_nowhere_else() -> None:
    assert facts_in(user("Look.\nAlways  use tabs."), seq=4, turn=2) == [Fact(4, 2, "Always use tabs.", "found")]
    assert facts_in(result("a", "Always use tabs."), seq=4, turn=2) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Never use tabs.", "Always use tabs"),
        ("please don't use tabs", "use tabs"),
        ("Use tabs", "use tabs."),
        ("The port is 8080", "the port is 80"),
        ("port = 9", "Port = 8"),
    ],
)
def test_the_opposite_the_same_and_another_value_supersede(new: str, old: str) -> None:
    assert supersedes(new, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [("Never use spaces", "Always use tabs"), ("The port is 8080", "the host is 80"), ("Use tabs in go", "Use tabs")],
)
def test_where_it_is_not_certain_both_stand(new: str, old: str) -> None:
    assert not supersedes(new, old)


def test_a_superseded_fact_stays_and_says_by_what() -> None:
    facts = with_fact(with_fact([], Fact(3, 1, "Always use tabs")), Fact(9, 4, "Never use tabs"))
    facts = with_fact(facts, Fact(12, 5, "Use tabs"))
    assert [(fact.seq, fact.superseded_by) for fact in facts] == [(3, 9), (9, 12), (12, 0)]
    assert facts[0].stands(9)
    assert not facts[0].stands(10)


def test_of_too_many_superseded_ones_leave_first_and_given_ones_last() -> None:
    facts = [Fact(1, 1, "given"), Fact(2, 1, "old", "found", 3), Fact(3, 1, "first found", "found")]
    many = [*facts, *(Fact(seq, 1, f"found {seq}", "found") for seq in range(4, FACTS + 2))]
    assert [fact.seq for fact in bounded(many)][:3] == [1, 3, 4]
    assert [fact.seq for fact in bounded([*many, Fact(FACTS + 2, 1, "new")])][:3] == [1, 4, 5]
    assert bounded(facts) == facts


def test_facts_are_told_with_where_they_came_from_in_the_order_they_came() -> None:
    facts = [Fact(1, 1, "by hand"), Fact(2, 2, "by user", "found"), Fact(3, 3, "by model", "model")]
    assert facts_text(facts, ENDLESS).split("\n") == [
        TITLE,
        "- remembered at turn 1: by hand",
        '- turn 2, the user: "by user"',
        "- turn 3, as a model read it: by model",
    ]


def test_where_not_all_fit_given_ones_stay_and_the_newest() -> None:
    facts = [Fact(1, 1, "by hand"), *(Fact(seq, seq, f"number {seq}", "found") for seq in range(2, 9))]
    told = facts_text(facts, Room(len(TITLE) + 100, len)).split("\n")
    assert told[1] == "- remembered at turn 1: by hand"
    assert told[-1] == '- turn 8, the user: "number 8"'
    assert len(told) == 4
    assert facts_text(facts, Room(10, len)) == ""
    counts_more = Room(200, lambda text: len(text) if "\n" not in text else len(text) + 60)
    assert counts_more.fits(facts_text(facts, counts_more))
    assert facts_text(facts[:1], Room(120, lambda text: len(text) * (1 + text.count("\n")))) == ""


POLICY = Policy(history_tokens=200, min_turns=1, facts_tokens=100)


def test_a_fact_found_is_told_once_its_turn_has_left_and_survives_every_slide() -> None:
    fold = fold_of([user("Always say please."), *turns_of(*[40] * 3)], POLICY)
    assert fold.standing.facts == ""
    grow(fold, turns_of(*[60] * 12))
    assert '- turn 1, the user: "Always say please."' in fold.standing.facts
    assert fold.standing.facts in "\n".join(message.text for message in assemble(fold).messages)


def test_a_new_fact_stands_with_the_input_until_the_next_frame_takes_it_in() -> None:
    fold = fold_of(turns_of(*[60] * 8), POLICY)
    before = assemble(fold).messages
    fold.remember(Fact(len(fold) + 1, 8, "the key is blue"))
    fold.placing.length += 1
    grow(fold, [user("and now?")])
    told = assemble(fold).messages
    assert told[: len(before) - 2] == before[:-2], "what stood there before has changed"
    assert "the key is blue" in told[-2].text
    while fold.frame.at < len(fold) - 1:
        grow(fold, turns_of(60))
    assert "the key is blue" in fold.standing.facts
    assert new_facts(fold) == ""


def test_what_supersedes_a_fact_between_two_frames_changes_nothing_before_the_next() -> None:
    fold = fold_of([user("Always say please."), *turns_of(*[60] * 8)], POLICY)
    told = fold.standing.facts
    assert "please" in told
    grow(fold, [user("never say please")])
    assert fold.copy().standing.facts == told
    again = fold_of([], POLICY)
    again.__dict__.update(fold.__dict__)
    again._standing = None
    assert again.standing.facts == told
    grow(fold, turns_of(*[60] * 12))
    assert "Always" not in fold.standing.facts
    assert "never say please" in fold.standing.facts


def test_without_room_for_facts_the_digest_tells_what_the_user_wants() -> None:
    script = Script().user("Go.")
    for wish in ("Always say thanks.", "Always say please.", "Never say thanks."):
        script.assistant("ok").user(wish)
    for _ in range(30):
        script.turn(ask=30, answer=30)
    fold = fold_of(script, Policy(history_tokens=400, facts_tokens=0, summary_tokens=200))
    assert fold.standing.facts == ""
    assert '"Always say please."' in fold.digest_text()
    assert '"Never say thanks."' in fold.digest_text()
    assert "Always say thanks" not in fold.digest_text()


@pytest.mark.parametrize("room", [0, 100])
def test_a_wish_that_came_with_a_result_is_told_once_it_has_left(room: int) -> None:
    beside = Message(role="user", blocks=(ToolResult("a", (Text("x"),)), Text("From now on never use tabs.")))
    log = [user("go"), assistant("", Call("a")), beside, *turns_of(*[60] * 30)]
    fold = fold_of(log, Policy(history_tokens=400, facts_tokens=room, summary_tokens=200))
    assert "From now on never use tabs." in fold.digest_text()


def test_a_wish_that_has_no_room_among_the_facts_is_told_by_the_digest_and_none_twice() -> None:
    policy = Policy(history_tokens=300, min_turns=1, facts_tokens=60, summary_tokens=600, step_digest_tokens=0)
    log = [user("Build it."), assistant("yes")]
    for number in range(8):
        log += [user(f"Always follow rule number {number} when you build part {number}."), assistant(words(60))]
    log += [user("Never follow rule number 3 when you build part 3."), *(assistant(words(60)), user("go on")) * 6]
    standing = fold_of(log, policy).standing
    told = [f"rule number {number} when" for number in range(8)]
    assert 0 < sum(wish in standing.facts for wish in told) < len(told)
    both = f"{standing.facts}\n{standing.digest}"
    assert [both.count(wish) for wish in told] == [1] * len(told)
    # What was contradicted since stands nowhere.
    assert "Always follow rule number 3" not in both


def test_a_model_takes_the_place_of_what_a_model_said_and_of_nothing_else() -> None:
    given, read = Fact(1, 1, "The port is 80."), Fact(2, 1, "The port is 81.", "model")
    assert [fact.superseded_by for fact in with_fact([given], read)] == [0, 0]
    again = Fact(3, 2, "The port is 82.", "model")
    assert [fact.superseded_by for fact in with_fact(with_fact([given], read), again)] == [0, 3, 0]
    assert [fact.superseded_by for fact in with_fact([again], Fact(4, 3, "The port is 83."))] == [4, 0]


def test_what_the_user_wants_is_looked_for_once_and_only_when_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def counted(text: str) -> list[str]:
        looked.append(text)
        return [text]

    fold = fold_of(Script().turn(), Policy(counter="chars4"))
    assemble(fold)
    monkeypatch.setattr(kept, "wishes_in", counted)
    assemble(grow(fold, [user("Tabs."), assistant("Yes."), user("Spaces.")]))
    twin = fold.copy()
    assert not looked
    assert [fact.text for fact in fold.facts] == ["Tabs.", "Spaces."]
    assert fold.facts == twin.facts
    assert looked == ["Tabs.", "Spaces."] * 2


def test_a_given_fact_and_one_that_was_found_before_it_stand_in_the_order_in_which_they_came() -> None:
    facts = Facts()
    facts.hear(user("Always use tabs."), seq=3, turn=1)
    facts.add(Fact(5, 1, "never use tabs"))
    assert (Facts().given, facts.given, Facts(facts.known()).given) == (False, True, True)
    assert [(fact.seq, fact.superseded_by) for fact in facts.known()] == [(3, 5), (5, 0)]
