"""What is still there when it is needed: probes of a session, and how strategies answer them."""

from __future__ import annotations

import msgspec
import pytest

from sash.core.message import Message
from sash.core.probe import LATELY, Present, Probe, around, commands_again, present, probes_of, wishes_followed
from sash.core.survival import STRATEGIES, Session, Strategy, Survival, sending_by, session_of
from sash.core.survival import replay as replayed
from tests.builders import CHARS4, Call, Script, assistant, lines, result, user, words


def replay(session: Session, strategy: Strategy, cap: int) -> Survival:
    return replayed(session, sending_by(strategy, cap, CHARS4), CHARS4)


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
    kept = replay(session, strategy, 2_000)
    assert session.tokens > 4_000
    assert kept.present.asked == 2
    assert kept.account.requests == 42
    assert 0 < kept.largest <= 2_000


def test_a_digest_keeps_what_the_newest_messages_do_not() -> None:
    session = session_of(agent().messages(), CHARS4)
    by_name = {strategy.name: replay(session, strategy, 2_000).present for strategy in STRATEGIES}
    # The user's own words stay in any window of ours; a plain list loses them.
    assert by_name["last messages"].named < by_name["digest"].named
    assert by_name["digest"] == Present(2, 2, 2)


def test_a_message_larger_than_the_cap_leaves_nothing_to_send() -> None:
    log = (user("hi"), assistant("", Call("a")), result("a", words(500)), assistant("done"))
    assert replay(session_of(log, CHARS4), STRATEGIES[0], 100).largest == CHARS4.message(log[0]).value


def ran(call: str, command: str) -> list[Message]:
    arguments = msgspec.json.encode({"command": command}).decode()
    return [assistant("", Call(call, arguments, "bash")), result(call, "done")]


def test_a_command_that_is_run_again_is_looked_for_as_it_was_or_as_json_writes_it() -> None:
    command = 'grep -rn "old_flag" src'
    log = [user("look"), *ran("1", command), *ran("2", command), assistant("", Call("3", '{"path": "a.py"}', "read"))]
    log += [result("3", "la"), *(message for n in range(LATELY) for message in ran(f"o{n}", f"ls {n}"))]
    log += ran("4", command)
    [(position, [probe])] = commands_again(log).items()
    assert (probe.name, probe.at, position) == (command, position, len(log) - 2)
    assert present([probe], f"- turn 1: {command}: ok") == Present(1, 1, 0)
    assert present([probe], log[1].whole_text) == Present(1, 1, 0)
    assert present([probe], "grep -rn") == Present(1, 0, 0)


def test_a_wish_is_looked_for_when_an_answer_speaks_in_its_words_once_a_turn() -> None:
    wish = 'Always write "pytest" tests before the parser.'
    log = [user(f"Hello. {wish}"), assistant("I write pytest tests before the parser"), user("go on")]
    log += [message for n in range(LATELY) for message in (assistant(f"plain {n}"), user("go on"))]
    log += [
        assistant("The pytest tests come before the parser, I write them"),
        assistant("parser tests written before"),
    ]
    [(position, [probe])] = wishes_followed(log).items()
    assert (probe.name, position) == (wish, len(log) - 2)
    assert present([probe], f"- turn 1: {wish}") == Present(1, 1, 0)
    assert present([probe], "Always write 'pytest' tests before the parser.") == Present(1, 1, 0)
    assert present([probe], "tests before the parser") == Present(1, 0, 0)


def test_commands_and_wishes_of_a_session_are_counted_apart() -> None:
    log = [user("Always keep old_flag working in the parser."), *ran("0", "make all")]
    for number in range(40):
        log += ran(f"s{number}", f"look {number} {words(40)}")
    log += [*ran("9", "make all"), assistant("keep old_flag: the parser is working")]
    kept = replay(session_of(log, CHARS4), STRATEGIES[-2], 2_000)
    assert (kept.commands.asked, kept.wishes.asked) == (1, 1)
    assert kept.wishes.named == 1
