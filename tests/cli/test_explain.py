"""`sash explain` of what stands for what left: summaries with their generations and losses, and what is recalled."""

from __future__ import annotations

import json
from pathlib import Path

from sash.store import open_store
from sash.thread.worker import Terms
from tests.builders import Script, words
from tests.cli.front_door import here
from tests.cli.sessions import exchange, long_session, written
from tests.scripted import Scripted
from tests.summarize.building import faithful
from tests.summarize.threads import chat, slid, worked, worker


def forgetful(question: str) -> str:
    """Tells of the turns that it is shown, and drops all that it was told before."""
    shown = question.partition("</summary>")[2] or question
    return faithful(shown).replace(" is ", " to ").replace(", in", " in")


def test_generations_are_shown_and_what_merging_had_lost_against_the_rebuild(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    store = open_store(url)
    thread = slid(store, "", "long")
    made = None
    for said in (17, 23, 29):
        made = worked(worker(store, "", Scripted(answer=forgetful), terms=Terms(turns=1, anew_after=2)).once()).summary
        chat(thread, 6, first=said)
    assert made is not None
    assert "conf/part1.toml" in made.lost
    # What only the new turns tell was never lost.
    before = thread.summaries()[-2].end
    assert not [name for name in made.lost if name.startswith("value_") and int(name[6:]) >= before]
    shown = " ".join(here("explain", "long", "--store", url, home=tmp_path).out.split())
    assert "generation 1," in shown
    assert "conf/part1.toml" in shown.partition("the one before it had lost:")[2]
    store.close()


def test_what_is_recalled_is_shown_with_its_score_and_the_words_it_was_found_by(tmp_path: Path) -> None:
    script = Script().user("The zeppelin lands in Friedrichshafen on Tuesday.").assistant("Noted.")
    for _ in range(20):
        script.turn(ask=40, answer=60)
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(script.user(f"When does the zeppelin land? {words(3)}").said))
    asked = ("explain", str(path), "--history-tokens", "600", "--set", "recall_tokens=200")
    shown = " ".join(here(*asked, home=tmp_path).out.split())
    assert "recalled of turn 1, score" in shown
    assert "zeppelin" in shown.partition("recalled of turn 1")[2][:80]


def test_steps_of_the_current_turn_that_a_slide_digested_are_told(tmp_path: Path) -> None:
    script = Script().user("Look at all of them.")
    for number in range(30):
        script.step(f"c{number}", words(120), text=words(40))
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(script.said))
    asked = ("explain", str(path), "--history-tokens", "1500")
    told = json.loads(here(*asked, "--json", home=tmp_path).out)
    steps = [frame["digested_steps"] for frame in told["frames"]]
    assert sum(steps) == told["turns"][-1]["digested_steps"] > 0
    shown = " ".join(here(*asked, home=tmp_path).out.split())
    assert f"{max(steps)} steps" in shown
    assert f"a digest stands for its first {sum(steps)} steps" in shown


def test_what_the_slides_freed_is_told_and_why_the_turns_that_left_add_up_to_more(tmp_path: Path) -> None:
    plain = long_session(tmp_path / "plain.jsonl", turns=40, words=80)
    told = here("explain", plain, "--history-tokens", "4k", home=tmp_path)
    frames = here("explain", plain, "--history-tokens", "4k", "--json", home=tmp_path).json()["frames"][1:]
    assert all(frame["freed"]["value"] == frame["left"]["value"] > 0 for frame in frames)
    assert "freed" in told.lines[2]
    assert "as they came in" not in told.words
    log = exchange(0, "Look", result="a line of a long log\n" * 3_000)
    giant = written(tmp_path / "giant.jsonl", [*log, *map(json.loads, plain.read_text().splitlines())])
    told = here("explain", giant, "--history-tokens", "4k", home=tmp_path)
    assert "turns are listed below as they came in, which is more" in told.words


def test_a_slide_that_took_out_nothing_but_thinking_says_so(tmp_path: Path) -> None:
    messages: list[object] = [{"role": "user", "content": "Look at both."}]
    for number in range(2):
        thought = {"type": "thinking", "thinking": words(500), "signature": "c2ln"}
        call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": "a.py"}}
        messages.append({"role": "assistant", "content": [thought, call]})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "fine"}
        messages.append({"role": "user", "content": [result]})
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(messages))
    asked = ("explain", path, "--history-tokens", "1000", "--counter", "chars4")
    assert " thinking  " in here(*asked, home=tmp_path).lines[3]
    [_, frame] = here(*asked, "--json", home=tmp_path).json()["frames"]
    assert frame["unsigned"]
    assert (frame["evicted"], frame["left"]["value"]) == ([], 0)
    assert frame["freed"]["value"] > 0


def test_what_is_not_sent_is_told_also_where_nothing_slid(tmp_path: Path) -> None:
    torn = tmp_path / "torn.json"
    torn.write_text('[{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "x", "content": "gone"}]')
    whole = tmp_path / "whole.json"
    whole.write_text('[{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}]')
    assert "It never slid: everything that was said is in the window." in here("explain", whole, home=tmp_path).words
    told = here("explain", torn, home=tmp_path).words
    assert "everything that was said" not in told
    assert "It never slid, and yet ~" in told
    assert "that history counts is not sent: repairs leave it out, `sash fit --json` lists them" in told
    recent = here("explain", torn, "--policy", "recent", home=tmp_path).words
    assert "is not sent: a flat prompt has no place for it" in recent


def test_what_was_shortened_as_it_came_in_is_not_told_as_whole(tmp_path: Path) -> None:
    session = written(tmp_path / "large.jsonl", exchange(1, "Look", result="a line of words\n" * 9_000))
    told = here("explain", session, "-m", "claude-sonnet-4-5", "--set", "record_over_tokens=2000", home=tmp_path).words
    assert "It never slid: every turn is in the window; what was very large was shortened as it came in." in told


def test_a_policy_that_goes_by_the_number_of_turns_is_told_so(tmp_path: Path) -> None:
    session = long_session(tmp_path / "session.jsonl", turns=14)
    keeps = "keeps the newest 10 turns before the current one"
    for command in ("explain", "context", "show"):
        told = here(command, session, "--policy", "recent", home=tmp_path).words
        assert keeps in told
        assert "slides above" not in told
        assert "history_tokens" not in told
    assert "not full enough" not in here("explain", session, "--policy", "recent", home=tmp_path).words
    both = here("context", session, "--policy", "recent", "--history-tokens", "50k", home=tmp_path).words
    assert f"history {keeps}, and slides above 50k" in both


def test_notes_of_a_tool_alone_are_nothing_that_was_said(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    usage = {"type": "turn.completed", "usage": {"input_tokens": 9}}
    lines = [
        {"timestamp": "2025-10-30T12:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/tmp"}},
        {"timestamp": "2025-10-30T12:00:01Z", "type": "event_msg", "payload": usage},
    ]
    notes.write_text("\n".join(map(json.dumps, lines)))
    for command in ("show", "explain"):
        told = here(command, notes, home=tmp_path).words
        assert "Nothing was said in it" in told
        assert "(no words)" not in told
