"""Commands on stored threads, through the front door."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from sash.cli.changing import Changed
from sash.cli.characters import columns_of
from sash.cli.convert import Converted
from sash.cli.facts import ShownFacts
from sash.cli.importing import Imported
from sash.cli.search import FoundMessages
from sash.cli.show import ShownTurns
from sash.cli.threads import ShownThreads
from sash.thread import Fact
from tests.cli.front_door import Ran, here, here_on_terminal, on_terminal, piped, plain
from tests.cli.sessions import exchange, long_session, written
from tests.store.powers import held_to_permissions

SMALL = ("--history-tokens", "4k", "--set", "pin_tokens=3000")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Somebody who has imported a session of twenty turns."""
    long_session(tmp_path / "session.jsonl", turns=20)
    ran = here("import", "session.jsonl", "--thread", "work", *SMALL, home=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    return tmp_path


def changed(home: Path, *words: str) -> Changed:
    ran = here(*words, "--json", home=home)
    assert ran.code == 0, ran.err
    return msgspec.json.decode(ran.out, type=Changed)


def shown(home: Path, *words: str) -> ShownTurns:
    return msgspec.json.decode(here("show", "work", *words, "--json", home=home).out, type=ShownTurns)


def test_an_imported_session_is_shown_like_its_file(home: Path) -> None:
    stored = shown(home)
    by_file = here("show", "session.jsonl", *SMALL, "--json", home=home)
    file = msgspec.json.decode(by_file.out, type=ShownTurns)
    assert (stored.name, stored.kind) == ("work", "thread")
    assert (stored.boundary, stored.tokens, stored.model) == (file.boundary, file.tokens, file.model)
    assert [(turn.number, turn.title, turn.state, turn.tokens, turn.at) for turn in stored.turns] == [
        (turn.number, turn.title, turn.state, turn.tokens, turn.at) for turn in file.turns
    ]
    assert here("context", "work", home=home).words.count("history slides above 4.0k") == 1
    for command in ("explain", "pressure", "replay", "fit"):
        assert here(command, "work", home=home).code == 0
    opened = here("show", "work", "--turn", "2", home=home)
    assert "what stands in line 3 of file 2" in opened.out


def test_a_flag_of_another_import_changes_that_setting_and_no_other(home: Path) -> None:
    assert here("import", "session.jsonl", "--thread", "work", "--set", "min_turns=3", home=home).code == 0
    assert here("context", "work", home=home).words.count("history slides above 4.0k") == 1
    assert here("import", "session.jsonl", "--thread", "work", "--history-tokens", "6k", home=home).code == 0
    assert here("context", "work", home=home).words.count("history slides above 6.0k") == 1
    assert changed(home, "pin", "work", "2").frame is not None


def test_a_flag_asks_what_a_window_would_do_and_changes_nothing(home: Path) -> None:
    before = shown(home)
    assert before.boundary > 1
    assert {turn.state for turn in shown(home, "--history-tokens", "90k").turns} == {"live"}
    assert shown(home, "--history-tokens", "2k").tokens.value <= 2_000 < before.tokens.value
    assert shown(home) == before
    # What is set for everybody is for what has no policy of its own.
    assert (
        msgspec.json.decode(
            here("show", "work", "--json", home=home, env={"SASH_HISTORY_TOKENS": "90k"}).out, type=ShownTurns
        )
        == before
    )


def test_importing_again_adds_what_is_new_and_nothing_twice(home: Path) -> None:
    def imported(*words: str) -> Imported:
        ran = here("import", "session.jsonl", "--thread", "work", "--json", *words, home=home)
        return msgspec.json.decode(ran.out, type=Imported)

    again = imported()
    assert (again.added, again.known, again.turns) == (0, 80, 20)
    long_session(home / "session.jsonl", turns=22)
    grown = imported()
    assert (grown.added, grown.known, grown.turns) == (8, 80, 22)
    assert shown(home).turns[-1].title == "Request number 22"
    written(home / "session.jsonl", exchange(1, "Something else"))
    ran = here("import", "session.jsonl", "--thread", "work", home=home)
    assert (ran.code, ran.out) == (1, "")
    assert "there is a thread 'work' already" in ran.err
    assert len(shown(home).turns) == 22


def test_a_session_without_a_name_gets_its_own(home: Path) -> None:
    ran = here("import", "session.jsonl", home=home)
    assert "the thread 's1'" in ran.words
    written(home / "t.jsonl", [{"type": "summary", "summary": "Long work", "leafUuid": "x"}, *exchange(1, "Hi")])
    here("import", "t.jsonl", "--thread", "titled", home=home)
    assert here("show", "titled", home=home).lines[0] == "titled: Long work"
    told = msgspec.json.decode(here("threads", "--json", home=home).out, type=ShownThreads)
    assert told.threads[0].title == "Long work"
    assert msgspec.json.decode(here("show", "titled", "--json", home=home).out, type=ShownTurns).title == "Long work"
    assert here("import", "work", home=home).code == 1
    assert here("import", "nowhere.jsonl", home=home).code == 1


def test_threads_are_listed_newest_first(home: Path) -> None:
    here("import", "session.jsonl", "--thread", "other", home=home)
    told = msgspec.json.decode(here("threads", "--json", home=home).out, type=ShownThreads)
    assert [thread.name for thread in told.threads] == ["other", "work"]
    assert told.threads[1].turns == 20
    assert told.threads[1].model == "claude-sonnet-4-5"
    assert (told.threads[1].updated or "").startswith("2023-11-")
    # Their age is by when they were made here, and so is their order.
    made = [thread.created or "" for thread in told.threads]
    assert made == sorted(made, reverse=True)
    assert made[1] > "2024"
    rows = [line.split() for line in here("threads", home=home).lines[1:]]
    assert [(row[0], row[-1]) for row in rows] == [("other", "now"), ("work", "now")]
    assert [line.split()[0] for line in here("threads", "-n", "1", home=home).lines[:-1]] == ["thread", "other"]


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    assert "no threads yet" in here("threads", home=tmp_path).out
    for words in (["show", "work"], ["compact", "work"], ["search", "x"], ["facts", "work"]):
        assert here(*words, home=tmp_path).code == 1
    assert not list(tmp_path.rglob("*.db"))


@pytest.mark.parametrize("command", ["compact", "undo", "facts", "mark", "rewind", "fork", "delete"])
def test_a_session_where_a_thread_is_wanted_is_told_how_to_become_one(home: Path, command: str) -> None:
    ran = here(command, "session.jsonl", home=home)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "sash: there is no thread 'session.jsonl'; it is a session: `sash import session.jsonl` makes a thread of it\n"
    )
    assert "`sash import claude:latest`" in here(command, "claude:latest", home=home).err
    assert here(command, "nobody", home=home).err == (
        "sash: there is no thread 'nobody'; `sash threads` lists those there are\n"
    )


def test_where_nothing_was_stored_yet_the_way_to_store_something_is_told(tmp_path: Path) -> None:
    long_session(tmp_path / "session.jsonl", turns=1)
    assert "`sash import session.jsonl` makes a thread" in here("compact", "session.jsonl", home=tmp_path).err
    assert "`sash import` makes it" in here("compact", "work", home=tmp_path).err


def test_a_thread_is_deleted_when_somebody_says_so(home: Path) -> None:
    ran = here("delete", "work", home=home)
    assert (ran.code, ran.out) == (2, "")
    assert "say --yes to delete thread 'work'" in " ".join(ran.err.split())
    assert here("show", "work", home=home).code == 0
    told = here("delete", "work", "--yes", "--json", home=home).json()
    assert told["thread"] == "work"
    assert told["events"] > 0
    assert here("show", "work", home=home).code == 1
    assert here("search", "Answer", home=home).code == 1
    assert here("delete", "work", "--yes", home=home).code == 1


def test_the_window_is_compacted_and_that_is_undone(home: Path) -> None:
    before = shown(home)
    dry = changed(home, "compact", "work", "--dry-run")
    assert dry.frame is not None
    assert shown(home) == before
    done = changed(home, "compact", "work")
    assert done.frame is not None
    assert (done.frame.boundary, done.frame.tokens) == (dry.frame.boundary, dry.frame.tokens)
    assert done.boundary > before.boundary
    assert changed(home, "undo", "work").boundary == before.boundary
    here("compact", "work", home=home)
    assert ": the compact of frame " in here("undo", "work", home=home).words
    for command in ("show", "explain", "context"):
        told = here(command, "work", home=home).words
        assert "slides only when the window is full, since an undo" in told
        assert "slides above" not in told
    assert "somebody compacted" in here("compact", "work", home=home).words


def test_a_pinned_turn_comes_back_and_stays(home: Path) -> None:
    told = changed(home, "pin", "work", "1")
    assert told.frame is not None
    assert 1 in told.frame.carried
    states = {turn.number: turn.state for turn in shown(home).turns}
    assert (states[1], states[2]) == ("carried", "evicted")
    back = changed(home, "unpin", "work", "1")
    assert back.frame is None or 1 not in back.frame.carried
    assert here("unpin", "work", "1", home=home).code == 1
    refused = here("pin", "work", "99", home=home)
    assert (refused.code, refused.err) == (1, "sash: there is no turn 99; the newest is turn 20\n")


def test_a_turn_that_there_is_not_is_told_with_those_there_are(home: Path) -> None:
    for words in (["pin", "work", "99"], ["show", "work", "--turn", "99"], ["explain", "work", "--turn", "99"]):
        assert here(*words, home=home).err == "sash: there is no turn 99; the newest is turn 20\n"
    assert here("unpin", "work", "19", home=home).err == "sash: there is no pinned turn 19; no turn is pinned\n"
    here("pin", "work", "19", home=home)
    assert here("unpin", "work", "2", home=home).err == "sash: there is no pinned turn 2; pinned are: 19\n"
    here("mark", "work", home=home)
    long_session(home / "session.jsonl", turns=21)
    here("import", "session.jsonl", "--thread", "work", home=home)
    here("rewind", "work", home=home)
    assert "there is no turn 21; it was rewound" in here("pin", "work", "21", home=home).err


def test_what_is_no_number_is_told_with_where_numbers_are_found(home: Path) -> None:
    ran = here("pin", "work", "abc", home=home)
    assert ran.code == 2
    assert "'abc' is no whole number; turns are numbered, and `sash show` lists them" in ran.err
    assert "-1 is not in the range" in here("pin", "work", "--", "-1", home=home).err
    for words in (["show", "work", "--last", "few"], ["search", "x", "-n", "few"], ["fork", "work", "--at", "few"]):
        assert "'few' is no whole number" in here(*words, home=home).err


def test_pins_get_more_room_when_somebody_says_so(home: Path) -> None:
    assert here("import", "session.jsonl", "--thread", "tight", "--history-tokens", "4k", home=home).code == 0
    refused = here("pin", "tight", "1", home=home)
    assert (refused.code, refused.out) == (1, "")
    assert "raise `pin_tokens`" in refused.err
    told = changed(home, "pin", "tight", "1", "--set", "pin_tokens=3000")
    assert told.frame is not None
    assert 1 in told.frame.carried
    again = changed(home, "pin", "tight", "2")
    assert again.frame is not None
    assert {1, 2} <= set(again.frame.carried)
    assert here("show", "tight", "--json", home=home).json()["high"] == 4_000


def test_a_setting_that_a_command_does_not_take_is_refused(home: Path) -> None:
    for words, why in (
        (("pin", "work", "1", "--set", "port=1"), "port is nothing that a thread's policy has"),
        (("compact", "work", "--dry-run", "--set", "keep_share=0.5"), "asks what another policy would do"),
        (("mark", "work", "--set", "pin_tokens=1"), "No such option '--set'"),
        (("search", "Request", "--set", "pin_tokens=1"), "No such option '--set'"),
    ):
        ran = here(*words, home=home)
        assert (ran.code, ran.out) == (2, "")
        assert why in " ".join(ran.err.split())


def test_a_thread_is_rewound_to_its_mark(home: Path) -> None:
    marked = changed(home, "mark", "work", "here")
    assert marked.event is not None
    long_session(home / "session.jsonl", turns=23)
    here("import", "session.jsonl", "--thread", "work", home=home)
    assert len([turn for turn in shown(home).turns if turn.state == "live"]) > 0
    told = changed(home, "rewind", "work", "here")
    assert told.frame is not None
    assert told.frame.reason == "rewind"
    assert here("rewind", "work", "nowhere", home=home).code == 1
    # It is told as such.
    assert [turn.title for turn in shown(home).turns if turn.state == "rewound"] == [
        "Request number 21",
        "Request number 22",
        "Request number 23",
    ]
    for command in ("show", "explain"):
        ran = here(command, "work", home=home)
        assert ran.code == 0, ran.err
        assert "rewound" in ran.out
    # What was rewound is not exported either.
    assert here("export", "work", "--as", "claude-code", "-o", "out.jsonl", home=home).code == 0
    exported = (home / "out.jsonl").read_text()
    assert "Request number 20" in exported
    assert "Request number 21" not in exported


def test_a_rewind_tells_what_left(home: Path) -> None:
    changed(home, "mark", "work", "here")
    nothing = here("rewind", "work", home=home)
    assert (nothing.code, nothing.words) == (0, "Nothing was said since that mark: nothing left.")
    changed(home, "mark", "work", "here")
    refused = here("rewind", "work", "nowhere", home=home)
    assert (refused.code, refused.err) == (1, "sash: there is no mark 'nowhere'; it has 'here'\n")
    long_session(home / "session.jsonl", turns=22)
    here("import", "session.jsonl", "--thread", "work", home=home)
    told = here("rewind", "work", home=home).words
    assert told.startswith("8 messages of 2 turns left; `sash undo` brings back what left. frame ")
    assert "the thread was rewound" in told


def test_a_search_tells_what_was_rewound(home: Path) -> None:
    changed(home, "mark", "work")
    long_session(home / "session.jsonl", turns=21)
    here("import", "session.jsonl", "--thread", "work", home=home)
    changed(home, "fork", "work", "before")
    changed(home, "rewind", "work")
    assert "work  turn 21  rewound  user" in here("search", "Request number 21", home=home).out
    for words, rewound in ((("number 21",), True), (("number 21", "work"), True), (("number 21", "before"), False)):
        told = msgspec.json.decode(here("search", *words, "--json", home=home).out, type=FoundMessages)
        assert [one.rewound for one in told.found] == [rewound]
    assert "rewound" not in here("search", "Request number 20", home=home).out


def test_a_list_of_threads_tells_that_there_are_more(home: Path) -> None:
    changed(home, "fork", "work", "other")
    assert "These are the newest 1; -n lists more of them." in here("threads", "-n", "1", home=home).words
    assert "newest" not in here("threads", "-n", "2", home=home).words
    more = [
        msgspec.json.decode(here("threads", "-n", last, "--json", home=home).out, type=ShownThreads).more
        for last in ("1", "2")
    ]
    assert more == [True, False]


def test_a_fork_is_called_what_its_thread_is(home: Path) -> None:
    changed(home, "fork", "work", "other")
    listed = msgspec.json.decode(here("threads", "--json", home=home).out, type=ShownThreads).threads
    assert [thread.title for thread in listed] == ["Request number 1"] * 2


def test_a_fork_goes_its_own_way(home: Path) -> None:
    forked = changed(home, "fork", "work", "other")
    assert forked.name == forked.thread == "other"
    assert "Request number 3" in here("search", "Request number 3", "other", home=home).out
    changed(home, "compact", "other")
    told = msgspec.json.decode(here("show", "other", "--json", home=home).out, type=ShownTurns)
    assert [turn.title for turn in told.turns] == [turn.title for turn in shown(home).turns]
    assert told.boundary > shown(home).boundary
    early = changed(home, "fork", "work", "--at", "8")
    assert early.name is not None
    listed = here("show", early.name, "--json", home=home)
    assert [turn.number for turn in msgspec.json.decode(listed.out, type=ShownTurns).turns] == [1, 2]
    assert here("fork", "work", "other", home=home).code == 1
    assert here("fork", "work", "--at", "9999", home=home).code == 1


def test_a_fact_that_facts_have_no_room_for_is_refused(home: Path) -> None:
    ran = here("remember", "work", "a long story " * 400, home=home)
    assert (ran.code, ran.out) == (1, "")
    assert "of at most 400 tokens that facts may take; say it shorter, or raise `facts_tokens`" in ran.err
    assert "No facts yet" in here("facts", "work", home=home).out
    # What is refused has not changed the thread's policy either.
    assert here("remember", "work", "short", "--set", "facts_tokens=2", home=home).code == 1
    assert here("remember", "work", "short", home=home).code == 0
    assert here("forget", "work", "short", home=home).code == 0
    assert here("remember", "work", "a long story " * 400, "--set", "facts_tokens=2k", home=home).code == 0
    assert "a long story" in here("facts", "work", home=home).out


def test_a_fact_is_kept_and_listed(home: Path) -> None:
    assert "No facts yet" in here("facts", "work", home=home).out
    ran = here("remember", "work", "Use tabs\x1b[31m", "--json", home=home)
    assert msgspec.json.decode(ran.out, type=Fact).text == "Use tabs\x1b[31m"
    told = msgspec.json.decode(here("facts", "work", "--json", home=home).out, type=ShownFacts)
    assert [fact.text for fact in told.facts] == ["Use tabs\x1b[31m"]
    assert "Use tabs\\x1b[31m" in here("facts", "work", home=home).out
    assert "remembered" in here("remember", "work", "Use spaces", home=home).out


def test_a_fact_is_forgotten_by_its_first_words(home: Path) -> None:
    here("remember", "work", "Use tabs\x1b[31m, not blanks", home=home)
    changed(home, "compact", "work")
    told = here("forget", "work", "Use", home=home)
    assert told.words.startswith("Forgotten: Use tabs\\x1b[31m, not blanks frame ")
    assert "a fact was forgotten; history" in told.words
    assert "No facts yet" in here("facts", "work", home=home).out
    ran = here("forget", "work", "Use", home=home)
    assert (ran.code, ran.out, ran.err) == (1, "", "sash: there is no fact 'Use'; no fact is kept\n")
    here("remember", "work", "Use blanks", home=home)
    assert changed(home, "forget", "work", "Use").frame is None


def test_a_text_is_found_in_threads_and_in_files(home: Path) -> None:
    path = written(home / "words.jsonl", exchange(1, "Buy a Xylophone, not a drum") + exchange(2, "And the xylophone?"))
    here("import", path, "--thread", "music", home=home)
    for subject in ([], ["music"], ["thread:music"], ["words.jsonl"]):
        ran = here("search", "xylophone", *subject, "--json", home=home)
        assert ran.code == 0
        found = msgspec.json.decode(ran.out, type=FoundMessages).found
        assert [(one.turn, one.position, one.role) for one in found] == [(2, 2, "user"), (1, 0, "user")]
        assert "Buy a Xylophone" in found[1].text
        # All of the words, wherever they stand.
        ran = here("search", "drum xylophone", *subject, "--json", home=home)
        assert [one.turn for one in msgspec.json.decode(ran.out, type=FoundMessages).found] == [1]
        assert len(here("search", "xylophone", *subject, "-n", "1", home=home).lines) == 2
    ran = here("search", "no such words", home=home)
    assert (ran.code, ran.out, ran.err) == (1, "", "nothing was found\n")
    for text in ('"drum"', "NOT", "a:b", "drum*", "don't"):
        for subject in ([], ["words.jsonl"]):
            assert here("search", text, *subject, home=home).code in (0, 1)
    assert here("search", "x", "nowhere", home=home).code == 1


@pytest.mark.parametrize("text", ["", "  ", "!?", '"', "*"])
def test_a_text_without_words_is_not_looked_for(home: Path, text: str) -> None:
    for words in ((), ("work",), ("session.jsonl",), ("--json",)):
        ran = here("search", text, *words, home=home)
        assert (ran.code, ran.out) == (2, "")
        assert f"{text!r} has no word to look for" in ran.err


def test_what_a_handle_names_is_given_whole_or_in_part(home: Path) -> None:
    for subject in ("work", "session.jsonl"):
        whole = here("expand", subject, "2.0", home=home)
        assert whole.lines[0] == "0 what stands in line 0 of file 1"
        assert len(whole.lines) == 50
        assert here("expand", subject, "2.0", "--lines", "2-3", home=home).lines == whole.lines[1:3]
        assert here("expand", subject, "2.0", "--lines", "4", home=home).lines == whole.lines[3:4]
        assert here("expand", subject, "2.0", "--grep", "line 4[12]", home=home).lines == whole.lines[41:43]
        for handle in ("999.0", "2.7", "-1.0", "x"):
            ran = here("expand", "--", subject, handle, home=home)
            assert (ran.code, ran.out) == (1, "")
            assert "no block has the handle" in ran.err
    assert here("expand", "work", "2.0", "--lines", "a-b", home=home).code == 2
    for wrong in (("--grep", "("), ("--lines", "5-2")):
        for subject in ("work", "session.jsonl"):
            ran = here("expand", subject, "2.0", *wrong, home=home)
            assert (ran.code, ran.out) == (2, "")
            assert "it takes" in ran.err
    assert "5-2 takes no line; it takes FIRST-LAST" in here("expand", "work", "2.0", "--lines", "5-2", home=home).err
    assert "write: \\[a\n" in here("expand", "work", "2.0", "--grep", "[a", home=home).err


def test_a_pattern_that_nothing_has_is_told(home: Path) -> None:
    for subject in ("work", "session.jsonl"):
        ran = here("expand", subject, "2.0", "--grep", "zzzz", home=home)
        assert (ran.code, ran.out, ran.err) == (1, "", "nothing was found\n")
    (home / "gap.json").write_text(json.dumps([{"role": "user", "content": "one\n\ntwo"}]), "utf-8")
    ran = here("expand", "gap.json", "0.0", "--grep", "^$", home=home)
    assert (ran.code, ran.out) == (0, "\n")


def test_an_expanded_text_cannot_command_a_terminal(tmp_path: Path) -> None:
    path = written(tmp_path / "n.jsonl", exchange(1, "hi", result="\x1b]0;x\x07end"))
    assert "\\x1b]0;x\\x07end" in here_on_terminal("expand", path, "2.0", home=tmp_path).out
    assert piped("expand", path, "2.0", home=tmp_path).out == "\x1b]0;x\x07end\n"


COMMANDS: list[list[str]] = [
    ["threads"],
    ["count", "work"],
    ["doctor"],
    ["config"],
    ["completion", "bash"],
    ["backup", "copy for a {way}.db"],
    ["key", "new"],
    ["search", "Answer"],
    ["expand", "work", "2.0"],
    ["compact", "work"],
    ["undo", "work"],
    ["pin", "work", "20"],
    ["unpin", "work", "20"],
    ["remember", "work", "Use tabs"],
    ["facts", "work"],
    ["mark", "work", "m"],
    ["rewind", "work", "m"],
    ["fork", "work"],
    ["import", "session.jsonl", "--thread", "work"],
    ["import", "session.jsonl", "--thread", "other"],
    ["delete", "other", "--yes"],
    ["convert", "session.jsonl", "--as", "pi", "-o", "converted.jsonl"],
    ["export", "work", "--as", "pi", "-o", "exported.jsonl"],
    ["fit", "work", "-o", "fitted.json"],
]


def test_every_command_works_in_a_pipe_and_on_narrow_terminals(home: Path) -> None:
    def fits(ran: Ran, width: int) -> bool:
        return max((columns_of(line) for line in plain(ran.out).splitlines()), default=0) <= width

    # One after the other: some of them undo what the one before did.
    for words in COMMANDS:
        ran = piped(*(word.format(way="pipe") for word in words), home=home)
        assert ran.code == 0, (words, ran)
        assert "\x1b[" not in ran.out
    for words in COMMANDS:
        ran = on_terminal(*(word.format(way="terminal") for word in words), home=home, width=20)
        assert ran.code == 0, (words, ran)
        # What was asked for is given as it is; a sentence on stderr is left to the terminal.
        assert words[0] in ("completion", "expand", "export", "fit", "key") or fits(ran, 20), (words, ran)


def test_the_fitted_request_goes_to_a_file_whole_or_not_at_all(home: Path) -> None:
    ran = here("fit", "session.jsonl", *SMALL, "-o", "out.json", home=home)
    assert (ran.code, ran.out) == (0, "")
    assert "turns left out" in ran.err
    request = msgspec.json.decode((home / "out.json").read_bytes())
    assert request["messages"][-1]["content"][0]["text"] == "Answer 20."
    assert here("fit", "session.jsonl", *SMALL, home=home).out.encode() == (home / "out.json").read_bytes()
    report = here("fit", "session.jsonl", *SMALL, "--json", home=home).json()
    assert report["turns_out"] == list(range(1, report["turns_in"][0]))
    assert report["tokens"]["value"] < report["before"]["value"]
    chat = here("fit", "session.jsonl", *SMALL, "--wire", "openai-chat", home=home).json()
    assert {message["role"] for message in chat["messages"]} == {"user", "assistant", "tool"}
    written(home / "long.jsonl", exchange(1, "many words " * 500))
    tiny = here("fit", "long.jsonl", "--window", "600", "-o", "none.json", home=home)
    assert (tiny.code, tiny.out) == (1, "")
    assert "raise `window`" in tiny.err
    assert sorted(path.name for path in home.glob("*none*")) == []


@pytest.mark.parametrize("command", ["fit", "convert", "export"])
def test_a_file_that_cannot_be_written_is_told_by_the_name_it_was_asked_for(home: Path, command: str) -> None:
    form = ("--as", "pi") if command != "fit" else ()
    ran = here(command, "work", *form, "-o", "nowhere/x.jsonl", home=home)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == "sash: 'nowhere/x.jsonl': No such file or directory"


def test_a_store_that_may_only_be_read_is_looked_into(home: Path) -> None:
    whole = here("show", "work", home=home)
    folder = home / ".local" / "share" / "sash"
    (folder / "sash.db").chmod(0o444)
    folder.chmod(0o555)
    try:
        with held_to_permissions():
            assert here("show", "work", home=home) == whole
            for words in (
                ("threads",),
                ("explain", "work"),
                ("context", "work"),
                ("fit", "work"),
                ("count", "work"),
                ("search", "Request"),
                ("expand", "work", "2.0"),
                ("facts", "work"),
                ("export", "work", "--as", "pi"),
                ("backup", str(home / "copy.db")),
            ):
                assert here(*words, home=home).code == 0, words
            for words in (("compact", "work"), ("mark", "work"), ("import", "session.jsonl", "--thread", "new")):
                ran = here(*words, home=home)
                assert (ran.code, ran.out) == (1, "")
                assert "may not be written" in ran.err
                assert "permissions of file and folder" in ran.err
    finally:
        folder.chmod(0o755)


def test_a_thread_that_was_opened_again_is_fitted_with_all_that_left_it(home: Path) -> None:
    of_file = here("fit", "session.jsonl", *SMALL, "--json", home=home).json()
    stored = here("fit", "work", "--json", home=home).json()
    for name in ("before", "after", "ratio", "turns_in", "turns_out", "tokens"):
        assert stored[name] == of_file[name], name


def test_a_store_can_be_named(home: Path) -> None:
    address = f"sqlite:///{home / 'elsewhere.db'}"
    assert here("import", "session.jsonl", "--thread", "there", "--store", address, home=home).code == 0
    assert (home / "elsewhere.db").exists()
    assert here("show", "there", "--store", address, home=home).code == 0
    assert here("show", "there", home=home).code == 1
    assert here("show", "there", home=home, env={"SASH_STORE": address}).code == 0
    assert here("show", "there", "--store", address, "--tenant", "somebody", home=home).code == 1


@pytest.mark.parametrize("format_as", ["pi", "claude-code", "openai-chat", "openai-responses", "anthropic"])
def test_a_fitted_session_can_be_gone_on_from(home: Path, format_as: str) -> None:
    """Read again it fits as it is: the same turns, in the same window."""
    ran = here("fit", "session.jsonl", *SMALL, "--as", format_as, "-o", "trimmed", home=home)
    assert (ran.code, ran.out) == (0, "")
    report = here("fit", "session.jsonl", *SMALL, "--as", format_as, "--json", home=home).json()
    told = msgspec.json.decode(here("show", "trimmed", *SMALL, "--json", home=home).out, type=ShownTurns)
    assert told.kind == format_as
    assert [turn.title for turn in told.turns if turn.number] == [f"Request number {n}" for n in report["turns_in"]]
    assert {turn.state for turn in told.turns} == {"live"}
    again = here("fit", "trimmed", *SMALL, "--json", home=home).json()
    assert again["turns_out"] == []
    assert told.damage == ()
    wrong = here("fit", "session.jsonl", "--as", "pi", "--wire", "anthropic", home=home)
    assert wrong.code == 2


@pytest.mark.parametrize("format_as", ["pi", "claude-code", "openai-chat", "openai-responses", "anthropic"])
def test_what_is_exported_is_imported_as_it_was(home: Path, format_as: str) -> None:
    assert here("export", "work", "--as", format_as, "-o", "out", home=home).code == 0
    assert here("convert", "session.jsonl", "--as", format_as, "-o", "converted", home=home).code == 0
    model = ("-m", "claude-sonnet-4-5")
    request = here("fit", "session.jsonl", *SMALL, "--wire", "anthropic", home=home).out
    for name in ("out", "converted"):
        assert here("import", name, "--thread", name, *SMALL, *model, home=home).code == 0
        sent = msgspec.json.decode(here("fit", f"thread:{name}", "--wire", "anthropic", home=home).out)
        assert len(sent["messages"]) == len(msgspec.json.decode(request)["messages"])
        assert "Answer 20." in str(sent["messages"][-1])
        told = msgspec.json.decode(here("show", f"thread:{name}", "--json", home=home).out, type=ShownTurns)
        assert [turn.title for turn in told.turns] == [f"Request number {n}" for n in range(1, 21)]


def test_a_thread_is_exported_with_the_time_it_began(home: Path) -> None:
    assert here("export", "work", "--as", "pi", "-o", "out.jsonl", home=home).code == 0
    header, change, first, *_ = map(json.loads, (home / "out.jsonl").read_text().splitlines())
    assert {header["timestamp"], change["timestamp"]} == {first["timestamp"]}
    assert first["timestamp"].startswith("2023-11-")


def test_exporting_says_what_was_done(home: Path) -> None:
    ran = here("export", "work", "--as", "pi", "-o", "out.jsonl", "--json", home=home)
    told = msgspec.json.decode(ran.out, type=Converted)
    assert told.bytes == (home / "out.jsonl").stat().st_size
    assert (told.name, told.format, told.output) == ("work", "pi", "out.jsonl")
    assert [(lost.what, lost.message) for lost in told.lost] == [("usage", -1)]
    assert here("export", "work", "--as", "pi", "--json", home=home).code == 2
    assert here("export", "work", home=home).code == 2
    assert here("export", "nowhere", "--as", "pi", home=home).code == 1
    assert here("convert", "session.jsonl", "--as", "nothing", home=home).code == 2
    # On stdout it is the same.
    written_out = piped("export", "work", "--as", "pi", home=home)
    assert written_out.err == "a thread keeps no usage of single answers, so pi is told that each took 0 tokens\n"
    assert written_out.out == (home / "out.jsonl").read_text()


def test_converting_tells_of_messages_that_become_one(tmp_path: Path) -> None:
    call = {"type": "function", "function": {"name": "read", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "Read both."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", **call}, {"id": "b", **call}]},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
    ]
    (tmp_path / "chat.json").write_text(json.dumps(said), "utf-8")
    ran = here("convert", "chat.json", "--as", "anthropic", home=tmp_path)
    assert ran.err == "1 message is written as part of the one before, as anthropic has it\n"
    assert len(ran.json()["messages"]) == 3


def test_what_could_not_be_read_is_told_beside_what_is_written(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "hi"},
        {"role": "zebra", "content": "x"},
        7,
        {"role": "assistant", "content": ""},
    ]
    (tmp_path / "odd.json").write_text(json.dumps(said), "utf-8")
    for words in (("convert", "odd.json", "--as", "openai-responses"), ("fit", "odd.json")):
        ran = here(*words, home=tmp_path)
        assert ran.code == 0
        assert "2 places are damaged; what cannot be read is left out: line 2: " in ran.err
        # A message without words is no part of another one.
        assert "as part of" not in ran.err
        told = here(*words, "-o", "out.json", "--json", home=tmp_path).json()
        assert (told["damaged"], len(told["damage"])) == (2, 2)


LONG = "d703f2aa-88b1-4c1e-9f52-0a6d3c1b7e42"


def test_the_beginning_of_a_name_is_enough_where_it_is_the_only_one(home: Path) -> None:
    here("import", "session.jsonl", "--thread", LONG, home=home)
    ran = here("show", "d703", home=home)
    assert (ran.code, ran.err) == (0, f"d703 is the thread {LONG}\n")
    assert changed(home, "pin", "d703f", "20").thread == LONG
    here("import", "session.jsonl", "--thread", "d703-another", home=home)
    ran = here("show", "d703", home=home)
    assert ran.code == 1
    assert "several begin so" in ran.err
    assert here("show", "d70", home=home).code == 1


def test_a_list_of_threads_shows_names_whole_and_first_words_as_titles(home: Path) -> None:
    here("import", "session.jsonl", "--thread", LONG, home=home)
    ran = here_on_terminal("threads", home=home, width=100)
    assert LONG in ran.out
    listed = msgspec.json.decode(here("threads", "--json", home=home).out, type=ShownThreads)
    assert {thread.title for thread in listed.threads} == {"Request number 1"}


def test_what_a_tool_gave_is_found_as_a_tools_with_the_words_around(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": "start " + "filler " * 200 + "the red violin end"}
    said = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read", "input": {}}]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "seen"},
    ]
    (tmp_path / "body.json").write_bytes(
        msgspec.json.encode({"model": "claude-opus-5", "max_tokens": 9, "messages": said})
    )
    here("import", "body.json", "--thread", "work", home=tmp_path)
    for subject in (["work"], ["body.json"], []):
        ran = here("search", "violin red", *subject, "--json", home=tmp_path)
        [found] = msgspec.json.decode(ran.out, type=FoundMessages).found
        assert (found.role, found.position) == ("tool", 2)
        assert "red violin" in found.text
