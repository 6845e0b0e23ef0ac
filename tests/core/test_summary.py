"""A summary enters the window with a frame, and never between two."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sash.core.commands import compact, reframe
from sash.core.explain import explain
from sash.core.fold import Fold
from sash.core.policy import Policy
from sash.core.request import assemble
from sash.core.state import FoldState
from sash.core.summary import PREPARED, Summary, newest_within, offered
from tests.builders import CHARS4, Script, fold_of, grow, limits, turns_of

SMALL = Policy(history_tokens=1_000, keep_share=0.5, soft_share=1.0, min_turns=1, worth_tokens=0)


def summary(seq: int, end: int, text: str = '## Task\n- "go" [t1]', **given: object) -> Summary:
    return Summary(seq=seq, end=end, text=text, **given)  # type: ignore[arg-type]  # as its fields say


def head_of(fold: Fold) -> str:
    assembled = assemble(fold)
    return assembled.messages[0].text if assembled.head else ""


def test_a_summary_waits_for_the_next_frame() -> None:
    fold = fold_of(turns_of(*[300] * 6), SMALL)
    frame, before = fold.frame, assemble(fold)
    assert frame.number > 0
    fold.offer(summary(50, frame.boundary))
    assert (fold.frame, assemble(fold)) == (frame, before)
    grow(fold, turns_of(*[300] * 4))
    assert fold.frame.summary == 50
    told = head_of(fold)
    assert f"turns 0 to {frame.boundary - 1} left this window" in told
    assert '- "go" [t1]' in told
    assert assemble(fold).messages[0].written_by_sash


def test_a_summary_kept_elsewhere_stands_under_the_frame_it_was_chosen_for() -> None:
    fold = fold_of(turns_of(*[300] * 6), SMALL)
    alone = assemble(fold)
    fold.summarized(summary(7, fold.frame.boundary))
    assert fold.frame.summary == fold.past.frames[-1].summary == 7
    assert '- "go" [t1]' in head_of(fold)
    fold.summarized(None)
    assert fold.summary is None
    assert assemble(fold) == alone


def test_the_digest_tells_only_of_what_the_summary_does_not() -> None:
    fold = fold_of(turns_of(*[300] * 6), msgspec.structs.replace(SMALL, summary_tokens=900))
    end = fold.frame.boundary
    fold.offer(summary(50, end))
    grow(fold, turns_of(*[300] * 4))
    told = head_of(fold)
    assert fold.frame.boundary > end
    assert f"- turn {end - 1}:" not in told
    assert f"- turn {end}:" in told


def test_a_slide_takes_no_summary_of_turns_that_are_still_live() -> None:
    fold = fold_of(turns_of(*[300] * 6), SMALL)
    fold.offer(summary(50, fold.frame.boundary))
    fold.offer(summary(51, 1_000, parent=50))
    grow(fold, turns_of(*[300] * 4))
    assert fold.frame.summary == 50


def test_the_users_command_takes_a_summary_that_waits_and_makes_a_frame_for_it() -> None:
    fold = fold_of(turns_of(*[300] * 6), SMALL)
    while compact(fold) is not None:
        pass
    fold.offer(summary(50, fold.frame.boundary))
    frame = compact(fold)
    assert frame is not None
    assert (frame.summary, frame.reason) == (50, "compact")
    assert compact(fold) is None
    fold.offer(summary(60, fold.frame.boundary, by="user", parent=50))
    assert reframe(fold, "summary").summary == 60


def test_what_was_made_from_an_old_revision_is_left_out() -> None:
    mine = summary(7, 3, by="user", kept="mine", parent=5)
    prepared = offered(offered((), summary(5, 3), in_force=0), mine, in_force=5)
    late = summary(8, 4, parent=5)
    assert offered(prepared, late, in_force=5) == prepared
    assert offered(prepared, summary(8, 4, parent=7), in_force=5)[-1].seq == 8


def test_the_user_may_write_over_anything() -> None:
    assert offered((summary(5, 3),), summary(9, 3, by="user"), in_force=0)[-1].seq == 9


def test_the_summary_in_force_is_kept_however_many_wait() -> None:
    prepared: tuple[Summary, ...] = ()
    for seq in range(1, 40):
        prepared = offered(prepared, summary(seq, seq, parent=seq - 1), in_force=1 if seq > 1 else 0)
    assert [one.seq for one in prepared] == [1, *range(40 - PREPARED, 40)]


@given(ends=st.lists(st.integers(1, 30), max_size=8), boundary=st.integers(0, 30))
def test_the_newest_of_those_that_may_stand_is_taken(ends: list[int], boundary: int) -> None:
    prepared = [summary(seq, end) for seq, end in enumerate(ends, 1)]
    found = newest_within(prepared, boundary)
    may = [one for one in prepared if one.end <= boundary]
    assert found == (may[-1] if may else None)


def test_a_summary_survives_a_restart() -> None:
    messages = turns_of(*[300] * 6)
    more = turns_of(*[300] * 4)
    fold = fold_of(messages, SMALL)
    fold.offer(summary(50, fold.frame.boundary))
    whole = [*messages, *more]
    resumed = FoldState.of(fold).fold(SMALL, limits(SMALL), CHARS4, lambda asked: [whole[place] for place in asked])
    assert assemble(grow(resumed, more)) == assemble(grow(fold, more))
    assert resumed.summary == fold.summary
    assert resumed.summary is not None


def test_the_users_words_stand_first() -> None:
    edited = summary(9, 3, text="## Files\n- a.py [t1]", kept="Never touch b.py.", by="user")
    assert edited.whole == "Never touch b.py.\n\n## Files\n- a.py [t1]"
    assert "partly in the user's words" in edited.told()
    assert summary(9, 3).whole == '## Task\n- "go" [t1]'


def test_summary_and_digest_share_one_budget() -> None:
    policy = Policy(history_tokens=4_000, keep_share=0.5, min_turns=1, summary_tokens=400)
    fold = fold_of(turns_of(*[500] * 30), policy)
    fold.offer(summary(90, fold.frame.boundary - 2, text="word " * 200))
    grow(fold, turns_of(*[500] * 10))
    assert fold.frame.summary == 90
    # What the step digest leaves of its own room, the digest has.
    assert CHARS4.text(head_of(fold)).value <= fold.limits.summary + fold.limits.step_digest


def test_a_flat_prompt_shows_the_summary() -> None:
    from sash.window.prompt import flat_prompt

    policy = Policy.recent(turns=2)
    fold = fold_of(Script().turn().turn().turn().turn(), policy)
    fold.offer(summary(50, fold.frame.boundary))
    reframe(fold, "summary")
    assert flat_prompt(fold, policy).text.startswith('[Conversation Summary]\n## Task\n- "go" [t1]')


def test_a_flat_prompt_has_a_summary_of_turns_that_it_still_shows() -> None:
    fold = fold_of(Script().turn().turn().turn(), Policy.recent(turns=5))
    fold.offer(summary(50, 3))
    frame = compact(fold)
    assert frame is not None
    assert (frame.summary, frame.boundary, frame.reason) == (50, 0, "compact")
    assert len(fold.turns) == 3


def test_an_explanation_tells_of_generations_and_of_what_was_lost() -> None:
    fold = fold_of(turns_of(*[300] * 6), SMALL)
    fold.offer(summary(50, fold.frame.boundary, generation=3, removed=2, lines=1))
    compact(fold)
    fold.offer(summary(60, fold.frame.boundary, parent=50, lost=("a.py",)))
    told = explain(fold).summaries
    assert [(one.revision, one.in_force, one.generation, one.removed, one.lost) for one in told] == [
        (50, True, 3, 2, ()),
        (60, False, 1, 0, ("a.py",)),
    ]
    assert told[0].tokens.value > 0
