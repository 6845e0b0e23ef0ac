"""Session files that hold several conversations."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import msgspec
import pytest

from sash.cli.importing import Imported, ImportedAll
from sash.cli.threads import ShownThreads
from tests.cli.front_door import here
from tests.cli.sessions import exchange, written


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Somebody with a list of nine runs."""
    (tmp_path / "runs.json").write_text(json.dumps([run(number) for number in range(9)]), "utf-8")
    return tmp_path


def run(number: int) -> dict[str, object]:
    """A run in which the user asks for its own number."""
    asked = {"role": "user", "content": f"Run {number}, please"}
    return {"messages": [asked, {"role": "assistant", "content": "Done."}] * (number + 1)}


def imported(home: Path, *words: str) -> Imported:
    """What was taken."""
    return msgspec.json.decode(here("import", *words, "--json", home=home).out, type=Imported)


def threads(home: Path) -> list[str]:
    """The names of all threads, in order."""
    told = msgspec.json.decode(here("threads", "--json", home=home).out, type=ShownThreads)
    return sorted(thread.name for thread in told.threads)


def imported_all(home: Path, *words: str) -> ImportedAll:
    """What was taken of each conversation."""
    return msgspec.json.decode(here("import", *words, "--all", "--json", home=home).out, type=ImportedAll)


def opencode(home: Path, *sessions: str) -> None:
    """opencode's database with these sessions, the newest last."""
    place = home / ".local/share/opencode/opencode.db"
    place.parent.mkdir(parents=True)
    with apsw.Connection(str(place)) as database:
        database.execute("CREATE TABLE session (id, title, parent_id, time_updated)")
        database.execute("CREATE TABLE message (id, session_id, time_created, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, data)")
        for at, name in enumerate(sessions, 700_000):
            said = json.dumps({"type": "text", "text": f"Hello from {name}"})
            database.execute("INSERT INTO session VALUES (?, ?, NULL, ?)", (name, name, at))
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (f"m-{name}", name, at, '{"role": "user"}'))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"p-{name}", f"m-{name}", name, said))


def test_importing_one_of_several_tells_which_and_how_to_take_the_others(home: Path) -> None:
    ran = here("import", "runs.json", home=home)
    assert "2 messages added to the thread 'runs'" in ran.words
    assert "one of 9 conversations in the file (part 0); --part takes another (1 2 ... 8), --all each" in ran.words
    told = imported(home, "runs.json")
    assert (told.part, told.parts) == ("0", 9)


def test_import_and_show_count_messages_alike(home: Path) -> None:
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    answered = [*said, {"role": "assistant", "content": "Hello."}]
    (home / "brief.json").write_text(json.dumps({"messages": said}), "utf-8")
    assert "1 message added" in here("import", "brief.json", home=home).words
    (home / "brief.json").write_text(json.dumps({"messages": answered}), "utf-8")
    assert (
        "1 message added to the thread 'brief', 1 were there already" in here("import", "brief.json", home=home).words
    )
    told = imported(home, "brief.json")
    assert (told.added, told.known) == (0, 2)
    for subject in ("brief.json", "thread:brief"):
        assert "1 turn, 2 messages" in here("show", subject, home=home).words


def test_a_file_with_one_conversation_tells_of_no_parts(home: Path) -> None:
    written(home / "one.jsonl", exchange(1, "Hello"))
    assert "conversation" not in here("import", "one.jsonl", home=home).out
    told = imported(home, "one.jsonl")
    assert (told.part, told.parts) == ("", 1)


def test_each_part_has_a_thread_of_its_own_name(home: Path) -> None:
    here("import", "runs.json", home=home)
    assert imported(home, "runs.json", "--part", "2").thread == "runs-2"
    assert imported(home, "runs.json", "--part", "2").known == 6
    assert imported(home, "runs.json", "--part", "0").known == 2, "the same as unasked"
    assert imported(home, "runs.json", "--part", "3", "--thread", "third").thread == "third"
    assert threads(home) == ["runs", "runs-2", "third"]


def test_a_name_that_another_conversation_has_is_refused_with_the_way_to_another(home: Path) -> None:
    here("import", "runs.json", "--thread", "work", home=home)
    ran = here("import", "runs.json", "--part", "2", "--thread", "work", home=home)
    assert (ran.code, ran.out) == (1, "")
    assert "there is a thread 'work' already" in ran.err
    assert "--thread" in ran.err


def test_all_conversations_are_taken_and_nothing_twice(home: Path) -> None:
    here("import", "runs.json", "--part", "2", home=home)
    ran = here("import", "runs.json", "--all", home=home)
    assert ran.code == 0
    assert "9 threads in all; sash threads lists them." in ran.words
    assert threads(home) == ["runs", *(f"runs-{number}" for number in range(1, 9))]
    again = imported_all(home, "runs.json")
    assert sum(told.added for told in again.imported) == 0
    assert [told.known for told in again.imported] == [2 * number for number in range(1, 10)]


def test_all_of_many_or_of_one_are_told_with_what_lists_them(home: Path) -> None:
    written(home / "one.jsonl", exchange(1, "Only this"))
    assert "1 thread in all; sash threads lists it." in here("import", "one.jsonl", "--all", home=home).words
    many = [{"conversations": [{"from": "human", "value": f"Hello {number}"}]} for number in range(60)]
    (home / "many.json").write_text(json.dumps(many), "utf-8")
    ran = here("import", "many.json", "--all", home=home)
    assert "60 threads in all; sash threads -n 60 lists them." in ran.words


def test_one_that_is_refused_keeps_none_of_the_others_out(home: Path) -> None:
    written(home / "other.jsonl", exchange(1, "Something else"))
    here("import", "other.jsonl", "--thread", "runs-4", home=home)
    ran = here("import", "runs.json", "--all", "--json", home=home)
    told = msgspec.json.decode(ran.out, type=ImportedAll)
    assert ran.code == 1
    assert [(each.thread, each.part) for each in told.refused] == [("runs-4", "4")]
    assert len(told.imported) == 8
    assert "not taken: there is a thread 'runs-4' already" in here("import", "runs.json", "--all", home=home).words


@pytest.mark.parametrize("named", ["opencode:ses_1", "opencode:ses_2", "opencode:latest"])
def test_all_sessions_of_a_database_are_taken_whichever_is_named(home: Path, named: str) -> None:
    opencode(home, "ses_1", "ses_2", "ses_3")
    told = imported_all(home, named)
    assert sorted((each.thread, each.part, each.added) for each in told.imported) == [
        ("ses_1", "ses_1", 1),
        ("ses_2", "ses_2", 1),
        ("ses_3", "ses_3", 1),
    ]
    assert threads(home) == ["ses_1", "ses_2", "ses_3"]


def test_a_session_of_a_database_has_one_name_however_it_is_asked_for(home: Path) -> None:
    opencode(home, "ses_1", "ses_2")
    assert imported(home, "opencode:ses_1").thread == "ses_1"
    assert imported(home, "opencode:latest", "--part", "ses_1").known == 1
    assert threads(home) == ["ses_1"]


def test_a_name_that_is_given_is_the_beginning_of_each(home: Path) -> None:
    opencode(home, "ses_1", "ses_2")
    told = imported_all(home, "opencode:latest", "--thread", "ses_1")
    assert [(each.thread, each.part) for each in told.imported] == [("ses_1", "ses_2"), ("ses_1-ses_1", "ses_1")]


def test_a_name_that_is_also_a_parts_is_the_thread_of_one_conversation(home: Path) -> None:
    """The second conversation begins like the first: in the same thread it would pass for the first, grown."""
    first: list[object] = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    more: list[object] = [{"role": "user", "content": "Go on"}]
    (home / "1.json").write_text(json.dumps([{"messages": said} for said in (first, first + more, more)]), "utf-8")
    for words in ((), ("--thread", "1"), ("--thread", "2")):
        told = imported_all(home, "1.json", *words)
        name = words[-1] if words else "1"
        assert [each.thread for each in told.imported] == [name, f"{name}-1", f"{name}-2"]
        assert [each.added + each.known for each in told.imported] == [2, 3, 1]
        assert not told.refused
    assert imported(home, "1.json", "--part", "1").thread == "1-1"


def test_two_conversations_of_a_file_are_never_put_into_one_thread(home: Path) -> None:
    said = [{"role": "user", "content": "Hello"}]
    bodies = [{"id": "1", "messages": said}, {"id": "1", "messages": [*said, *said]}]
    (home / "runs.json").write_text(json.dumps(bodies), "utf-8")
    ran = here("import", "runs.json", "--all", home=home)
    assert ran.code == 1
    assert "1 thread in all" in ran.words
    assert "not taken: there is a thread '1' already; --part '1' with --thread gives this one" in ran.words
    assert imported(home, "runs.json").known == 1
    assert imported(home, "runs.json", "--part", "1", "--thread", "other").added == 2


def test_all_and_one_cannot_be_asked_for_at_once(home: Path) -> None:
    ran = here("import", "runs.json", "--all", "--part", "1", home=home)
    assert ran.code == 2
    assert "--part one of them" in ran.err
    assert not list(home.glob("**/*.db"))


def test_a_part_that_is_not_there_makes_no_store(home: Path) -> None:
    assert here("import", "runs.json", "--part", "9", home=home).code == 1
    assert not list(home.glob("**/*.db"))
    assert here("import", "runs.json", "--part", "8", home=home).code == 0
    assert list(home.glob("**/*.db"))


def test_a_branch_that_was_left_is_named_beside_its_session(home: Path) -> None:
    """The user went back before the second request, and asked for something else."""
    first, second = exchange(1, "Begin"), exchange(2, "Left")
    second[0]["parentUuid"] = first[-1]["uuid"]
    third = exchange(3, "Gone on with")
    third[0]["parentUuid"] = first[-1]["uuid"]
    written(home / "tree.jsonl", [*first, *second, *third])
    ran = here("show", "tree.jsonl", "--part", "u2.0", home=home)
    assert "one of 2 conversations in the file (part u2.0); --part reads another: u3.0" in ran.words
    assert "Left" in ran.out
    assert imported(home, "tree.jsonl").thread == "s1"
    assert imported(home, "tree.jsonl", "--part", "u2.0").thread == "s1-u2.0"
    assert imported(home, "tree.jsonl", "--part", "u3.0").thread == "s1"


def test_agents_alone_in_a_file_are_told_apart(home: Path) -> None:
    lines = [{**line, "isSidechain": True, "agentId": f"a{n}"} for n in (1, 2) for line in exchange(n, f"Agent {n}")]
    written(home / "agents.jsonl", lines)
    for command in ("show", "context", "explain"):
        assert "one of 2 conversations in the file (part a1)" in here(command, "agents.jsonl", home=home).words
    assert "one of 2 conversations in the file (part a1)" in here("fit", "agents.jsonl", home=home).err
    assert imported(home, "agents.jsonl").thread == "s1"
    assert imported(home, "agents.jsonl", "--part", "a2").thread == "s1-a2"
