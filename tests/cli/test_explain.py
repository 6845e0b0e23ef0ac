"""`sash explain` of what stands for what left: summaries with their generations and losses, and what is recalled."""

from __future__ import annotations

import json
from pathlib import Path

from sash.store import open_store
from sash.thread.worker import Terms
from tests.builders import Script, words
from tests.cli.front_door import here
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
