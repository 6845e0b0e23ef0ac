"""What is still there when it is needed: probes of a session, and how strategies answer them."""

from __future__ import annotations

import pytest

from sash.core.probe import LATELY, Present, Probe, around, present, probes_of
from sash.core.survival import STRATEGIES, Strategy, replay, session_of
from tests.builders import CHARS4, Call, Script, assistant, lines, result, user, words


def said_long_ago(gap: int) -> list[object]:
    log = [user("the deploy key lives in secret_store, on the shelf")]
    log += [message for n in range(gap // 2) for message in (assistant(f"plain {n}"), user("go on"))]
    return [*log, assistant("I read secret_store now and other_name")]


def test_a_probe_is_a_name_used_again_that_was_not_said_lately() -> None:
    long, short = said_long_ago(LATELY + 1), said_long_ago(LATELY - 3)
    assert probes_of(short) == {}  # type: ignore[arg-type]  # messages, as the builder made them
    [(position, [probe])] = probes_of(long).items()  # type: ignore[arg-type]  # likewise
    assert (position, probe.name, probe.at) == (len(long) - 1, "secret_store", len(long) - 1)
    assert probe.settings == (frozenset({"the", "deploy", "key", "lives", "shelf"}),)


def test_a_system_prompt_asks_nothing_and_tells_nothing() -> None:
    script = Script().system("use secret_store")
    for _ in range(LATELY):
        script.turn()
    assert probes_of(script.assistant("secret_store").messages()) == {}


def test_named_is_less_than_in_its_setting_and_a_list_of_names_is_no_setting() -> None:
    probe = Probe("secret_store", 9, (frozenset({"deploy", "key", "lives"}),))
    assert present([probe], "nothing of it") == Present(1, 0, 0)
    assert present([probe], "deploy_key key_lives secret_store lives_on") == Present(1, 1, 0)
    assert present([probe], "the Deploy key lives in secret_store") == Present(1, 1, 1)
    assert Present(1, 1, 1) + Present(2, 1, 0) == Present(3, 2, 1)


def test_words_around_a_name_are_those_near_it_wherever_it_stands() -> None:
    text = f"early some_name {'1 ' * 250} far {'2 ' * 250} some_name late"
    assert around("some_name", text) == {"early", "late"}


def agent() -> Script:
    script = Script().user("Fix the parser. Always keep old_flag working.").assistant("on it").user("go")
    for number in range(40):
        script.step(f"{number}", f"line about token_{number} and how it is parsed\n{lines(12)}", text=f"step {number}")
    return script.assistant("So token_3 and old_flag are done")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_every_strategy_stays_within_the_cap_all_added_up(strategy: Strategy) -> None:
    session = session_of(agent().messages(), CHARS4)
    kept = replay(session, strategy, 2_000, CHARS4)
    assert session.tokens > 4_000
    assert kept.present.asked == 2
    assert kept.account.requests == 42
    assert 0 < kept.largest <= 2_000


def test_a_digest_keeps_what_the_newest_messages_do_not() -> None:
    session = session_of(agent().messages(), CHARS4)
    by_name = {strategy.name: replay(session, strategy, 2_000, CHARS4).present for strategy in STRATEGIES}
    # The user's own words stay in any window of ours; a plain list loses them.
    assert by_name["last messages"].named < by_name["digest"].named
    assert by_name["digest"] == Present(2, 2, 2)


def test_a_message_larger_than_the_cap_leaves_nothing_to_send() -> None:
    log = (user("hi"), assistant("", Call("a")), result("a", words(500)), assistant("done"))
    assert replay(session_of(log, CHARS4), STRATEGIES[0], 100, CHARS4).largest == CHARS4.message(log[0]).value
