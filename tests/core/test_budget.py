"""Budgets: each source gets what it may have, lends what it does not need, and gives way in the stated order."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis.strategies import DrawFn, composite, dictionaries, integers, none, one_of, sampled_from

from sash.core.budget import (
    PRECEDENCE,
    SOURCES,
    VOLATILE,
    WHOLE,
    Allotment,
    Budget,
    Ledger,
    SourceName,
    budget_from,
    settle,
)
from sash.core.tokens import TokenCount
from sash.errors import InvalidPolicy

STABLE = [name for name in PRECEDENCE if name not in VOLATILE]


def asks(**tokens: int) -> dict[SourceName, TokenCount]:
    return {name: TokenCount(tokens[name.replace("-", "_")]) for name in SOURCES if name.replace("-", "_") in tokens}


def tokens(floor: int = 0, ceiling: int | None = None, **own: int) -> Budget:
    return Budget(**{name: Allotment(tokens=size, floor=floor, ceiling=ceiling) for name, size in own.items()})


def given_to(ledger: Ledger) -> dict[str, int]:
    return {row.source: row.given for row in ledger.rows if row.given}


@composite
def allotments(draw: DrawFn) -> Allotment:
    floor = draw(integers(0, 300))
    if draw(integers(0, 1)):
        return Allotment(
            share=draw(integers(0, 9)) / 100, floor=floor, ceiling=draw(one_of(none(), integers(300, 900)))
        )
    size = draw(integers(floor, 500))
    return Allotment(tokens=size, floor=floor, ceiling=draw(one_of(none(), integers(500, 900))))


FIELDS = sampled_from([name.replace("-", "_") for name in SOURCES])
BUDGETS = dictionaries(FIELDS, allotments(), max_size=7).map(lambda table: Budget(**table))
ASKS = dictionaries(sampled_from(SOURCES), integers(0, 2_000).map(TokenCount))
WINDOWS = integers(1, 2_500)


@given(budget=BUDGETS, asked=ASKS, window=WINDOWS)
def test_all_that_is_given_fits_the_window_together_with_the_reserve(
    budget: Budget, asked: dict[SourceName, TokenCount], window: int
) -> None:
    ledger = settle(budget, asked, window)
    assert ledger.given <= window
    assert [row.source for row in ledger.rows] == list(SOURCES)
    for row in ledger.rows:
        ceiling = budget.of(row.source).ceiling
        assert 0 <= row.given <= row.asked.value
        assert ceiling is None or row.given <= ceiling
        assert row.cut >= 0


@given(budget=BUDGETS, asked=ASKS, window=WINDOWS)
def test_the_books_balance(budget: Budget, asked: dict[SourceName, TokenCount], window: int) -> None:
    ledger = settle(budget, asked, window)
    for row in ledger.rows:
        assert row.allotted + row.borrowed >= row.given + row.lent
        assert min(row.lent, row.borrowed) >= 0
    unclaimed = window - sum(row.allotted for row in ledger.rows)
    assert 0 <= sum(row.borrowed for row in ledger.rows) - sum(row.lent for row in ledger.rows) <= unclaimed


@given(budget=BUDGETS, asked=ASKS, window=WINDOWS)
def test_a_floor_is_honored_whenever_all_floors_fit(
    budget: Budget, asked: dict[SourceName, TokenCount], window: int
) -> None:
    if sum(budget.of(name).floor for name in SOURCES) > window:
        return
    for row in settle(budget, asked, window).rows:
        floor = budget.of(row.source).floor
        assert row.allotted >= floor
        assert row.given >= min(floor, row.asked.value)


@given(budget=BUDGETS, asked=ASKS, window=WINDOWS)
def test_what_is_settled_at_a_frame_does_not_depend_on_volatile_sources(
    budget: Budget, asked: dict[SourceName, TokenCount], window: int
) -> None:
    quiet: dict[SourceName, TokenCount] = {name: count for name, count in asked.items() if name not in VOLATILE}
    before, after = settle(budget, quiet, window), settle(budget, asked, window)
    for name in STABLE:
        assert before.row(name).given == after.row(name).given
    assert before.row("history") == after.row("history")


@given(budget=BUDGETS, asked=ASKS, window=WINDOWS)
def test_who_comes_later_borrows_nothing_while_an_earlier_one_lacks_tokens(
    budget: Budget, asked: dict[SourceName, TokenCount], window: int
) -> None:
    ledger = settle(budget, asked, window)
    for group in (STABLE, sorted(VOLATILE, key=PRECEDENCE.index)):
        lacking = False
        for name in group:
            row = ledger.row(name)
            # What was borrowed and then given up to a source that goes whole was not kept.
            assert not lacking or row.borrowed <= row.lent
            lacking = lacking or row.given < budget.of(name).within(row.asked.value)


@given(budget=BUDGETS, asked=ASKS, window=WINDOWS)
def test_nobody_is_cut_while_a_lender_has_tokens_to_spare(
    budget: Budget, asked: dict[SourceName, TokenCount], window: int
) -> None:
    ledger = settle(budget, asked, window)
    spare = {row.source: row.allotted + row.borrowed - row.given - row.lent for row in ledger.rows}
    for name in STABLE:
        if ledger.row(name).given < budget.of(name).within(ledger.row(name).asked.value):
            assert not any(spare[lender] for lender in STABLE)


@given(budget=BUDGETS, asked=ASKS, window=WINDOWS)
def test_the_same_asks_give_the_same_ledger_in_whatever_order_they_come(
    budget: Budget, asked: dict[SourceName, TokenCount], window: int
) -> None:
    assert settle(budget, asked, window) == settle(budget, dict(reversed(asked.items())), window)


def test_each_source_gets_what_it_asks_for_when_there_is_enough() -> None:
    ledger = settle(tokens(system=10, history=60, reserve=30), asks(system=8, history=60), 100)
    assert given_to(ledger) == {"system": 8, "history": 60, "reserve": 30}
    assert not any(row.lent or row.borrowed or row.cut for row in ledger.rows)


def test_a_source_that_asks_less_than_its_floor_lends_the_rest() -> None:
    budget = Budget(skills=Allotment(tokens=50, floor=50), history=Allotment(tokens=50))
    ledger = settle(budget, asks(skills=10, history=90), 100)
    assert given_to(ledger) == {"history": 90, "skills": 10}
    assert (ledger.row("skills").lent, ledger.row("history").borrowed) == (40, 40)


def test_tokens_of_nobody_are_borrowed_before_those_of_the_least_important_lender() -> None:
    ledger = settle(tokens(facts=20, knowledge=20, history=20), asks(history=55), 80)
    assert given_to(ledger) == {"history": 55}
    assert [(row.source, row.lent) for row in ledger.rows if row.lent] == [("knowledge", 15)]


def test_the_more_important_borrower_is_served_first_and_the_other_is_cut() -> None:
    ledger = settle(tokens(summary=10, history=10), asks(summary=40, history=40), 50)
    assert given_to(ledger) == {"summary": 40, "history": 10}
    assert ledger.row("history").cut == 30


def test_a_ceiling_holds_although_there_is_more_to_borrow() -> None:
    budget = Budget(knowledge=Allotment(tokens=10, ceiling=15))
    assert settle(budget, asks(knowledge=100), 1_000).row("knowledge").given == 15


def test_for_the_system_prompt_others_give_way_in_the_stated_order_down_to_their_floors() -> None:
    budget = Budget(
        system=Allotment(tokens=10),
        recalled=Allotment(tokens=10, floor=4),
        skills=Allotment(tokens=10),
        history=Allotment(tokens=60, floor=30),
        reserve=Allotment(tokens=10),
    )
    wanted = {"skills": 10, "history": 60, "recalled": 10}
    ledger = settle(budget, asks(system=20, **wanted), 100)
    assert given_to(ledger) == {"system": 20, "recalled": 4, "skills": 6, "history": 60, "reserve": 10}
    ledger = settle(budget, asks(system=90, **wanted), 100)
    assert given_to(ledger) == {"system": 56, "recalled": 4, "history": 30, "reserve": 10}
    assert ledger.row("system").cut == 34


def test_for_the_input_recalled_turns_give_way_and_history_does_not() -> None:
    budget = tokens(recalled=20, input=10, history=70)
    ledger = settle(budget, asks(recalled=20, input=50, history=40), 100)
    assert given_to(ledger) == {"input": 30, "history": 40}


def test_volatile_sources_may_use_what_stable_ones_but_history_left() -> None:
    budget = tokens(skills=20, input=10, history=70)
    ledger = settle(budget, asks(input=50, history=10), 100)
    assert given_to(ledger) == {"input": 30, "history": 10}
    assert (ledger.row("skills").lent, ledger.row("history").lent) == (20, 0)


def test_what_the_input_leaves_is_not_lent_to_history() -> None:
    assert settle(tokens(input=50, history=50), asks(history=80), 100).row("history").given == 50


def test_a_source_that_changes_with_each_request_can_be_named_volatile() -> None:
    budget, asked = tokens(knowledge=50, history=50), asks(history=80)
    assert settle(budget, asked, 100).row("history").given == 80
    assert settle(budget, asked, 100, volatile={"knowledge", *VOLATILE}).row("history").given == 50


def test_the_reserve_is_neither_lent_nor_borrowed() -> None:
    ledger = settle(tokens(reserve=45, history=55), asks(history=90, reserve=5), 100)
    assert given_to(ledger) == {"history": 55, "reserve": 45}


def test_a_window_that_is_too_small_cuts_to_the_floors_and_then_below_them() -> None:
    budget = Budget(
        system=Allotment(tokens=40, floor=20), history=Allotment(tokens=40, floor=20), reserve=Allotment(tokens=40)
    )
    assert [budget.allot(120)[name] for name in ("system", "history", "reserve")] == [40, 40, 40]
    assert [budget.allot(110)[name] for name in ("system", "history", "reserve")] == [40, 30, 40]
    assert [budget.allot(50)[name] for name in ("system", "history", "reserve")] == [20, 20, 10]
    assert [budget.allot(30)[name] for name in ("system", "history", "reserve")] == [20, 10, 0]
    assert [budget.allot(10)[name] for name in ("system", "history", "reserve")] == [10, 0, 0]


def test_the_ledger_takes_what_is_used_when_the_request_is_laid_out() -> None:
    ledger = settle(tokens(system=10, history=60, reserve=30), asks(system=8, history=60), 100)
    assert ledger.used == TokenCount(68)
    sent = ledger.laid_out({"system": TokenCount(8), "history": TokenCount(21, exact=False)})
    assert sent.used == TokenCount(29, exact=False)
    assert sent.row("history").given == 60
    assert sent.row("reserve").used == TokenCount(30)


def test_what_is_not_sent_is_taken_off_history_first_and_never_below_nothing() -> None:
    ledger = settle(tokens(system=10, history=60, reserve=30), asks(system=8, history=20), 100)
    assert ledger.within(28) == ledger.within(90) == ledger
    assert [ledger.within(15).row(name).used.value for name in ("system", "history", "reserve")] == [8, 7, 30]
    assert [ledger.within(3).row(name).used.value for name in ("system", "history", "reserve")] == [3, 0, 30]
    assert ledger.within(0).used == TokenCount(0)


def test_a_count_below_zero_asks_for_nothing() -> None:
    assert settle(Budget(), {"history": TokenCount(-5)}, 100).given == 0


def test_asking_for_an_unknown_source_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="source is 'weather'"):
        settle(Budget(), {"weather": TokenCount(1)}, 100)  # type: ignore[dict-item]  # wrong on purpose


def test_every_source_but_the_reserve_has_its_place_in_the_order() -> None:
    assert {*PRECEDENCE, "reserve"} == set(SOURCES)
    assert len(PRECEDENCE) == len(SOURCES) - 1
    assert set(PRECEDENCE[:3]) == WHOLE


def test_the_allocation_of_seed_001_is_its_own_for_its_window() -> None:
    """`DEFAULT_BUDGET` and the comments beside it: 10K, 6K, 6K, 4K, 20K, 60K, 4K, 90K."""
    assert {name: size for name, size in Budget.priority().allot(200_000).items() if size} == {
        "system": 10_000,
        "skills": 6_000,
        "knowledge": 6_000,
        "cross-thread": 4_000,
        "summary": 20_000,
        "history": 60_000,
        "input": 4_000,
        "reserve": 90_000,
    }


@given(percent=integers(0, 100), window=integers(1, 2_000_000))
def test_a_share_is_rounded_down_as_whole_percentages_are(percent: int, window: int) -> None:
    assert Allotment(share=percent / 100).size(window) == window * percent // 100


def test_a_budget_survives_json_under_its_sources_names() -> None:
    budget = Budget(cross_thread=Allotment(tokens=5))
    text = msgspec.json.encode(budget)
    assert b'"cross-thread"' in text
    assert msgspec.json.decode(text, type=Budget) == budget


def test_a_budget_is_read_from_a_table() -> None:
    table = {"history": {"share": 0.5, "floor": 10}, "cross-thread": {"tokens": 5, "ceiling": 9}, "cross_thread": {}}
    del table["cross_thread"]
    assert budget_from(table) == Budget(
        history=Allotment(share=0.5, floor=10), cross_thread=Allotment(tokens=5, ceiling=9)
    )


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"weather": {}}, "budget.weather"),
        ({"history": 5}, "budget.history"),
        ({"history": {"size": 5}}, "budget.history.size"),
        ({"history": {"share": 1.5}}, "budget.history.share"),
        ({"history": {"share": -0.1}}, "budget.history.share"),
        ({"history": {"share": math.nan}}, "budget.history.share"),
        ({"history": {"share": "half"}}, "budget.history.share"),
        ({"history": {"share": True}}, "budget.history.share"),
        ({"history": {"share": 0.5, "tokens": 5}}, "budget.history.tokens"),
        ({"history": {"tokens": -1}}, "budget.history.tokens"),
        ({"history": {"tokens": 1.5}}, "budget.history.tokens"),
        ({"history": {"tokens": 1e9}}, "budget.history.tokens"),
        ({"history": {"tokens": 10**9}}, "budget.history.tokens"),
        ({"history": {"tokens": True}}, "budget.history.tokens"),
        ({"history": {"tokens": 5, "floor": 6}}, "budget.history.tokens"),
        ({"history": {"floor": -1}}, "budget.history.floor"),
        ({"history": {"floor": None}}, "budget.history.floor"),
        ({"history": {"floor": 6, "ceiling": 5}}, "budget.history.ceiling"),
        ({"history": {"tokens": 6, "ceiling": 5}}, "budget.history.ceiling"),
        ({"cross-thread": {"ceiling": -1}}, "budget.cross-thread.ceiling"),
        ({"history": {"share": 0.7}, "reserve": {"share": 0.4}}, "budget"),
    ],
)
def test_a_budget_that_cannot_be_followed_is_refused_by_the_fields_name(table: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        budget_from(table)
    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field} is ")


def test_an_allotment_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match=r"budget\.history is 5; it takes an Allotment"):
        Budget(history=5)  # type: ignore[arg-type]  # wrong on purpose


def test_shares_that_do_not_add_up_are_listed() -> None:
    with pytest.raises(InvalidPolicy, match=r"budget is 1\.1; .* \(history 0\.7, reserve 0\.4\)"):
        Budget(history=Allotment(share=0.7), reserve=Allotment(share=0.4))


def test_a_budget_larger_than_its_window_is_refused_with_its_sizes() -> None:
    budget = tokens(history=700, reserve=400)
    budget.check(1_100)
    with pytest.raises(InvalidPolicy, match=r"budget is 1100; .* window of 1,000 .* \(history 700, reserve 400\)"):
        budget.check(1_000)


def test_a_ledger_tells_the_room_that_is_really_left_to_the_answer() -> None:
    settled = settle(Budget(reserve=Allotment(tokens=55)), {"history": TokenCount(100)}, 100)
    told = settled.reserving(50)
    assert (told.row("reserve").given, told.row("reserve").allotted) == (50, 55)
    assert told.rows[:-1] == settled.rows[:-1]
