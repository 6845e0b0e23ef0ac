"""`sash pressure --whole`: how full the window would be if nothing had left it."""

from __future__ import annotations

from pathlib import Path

import msgspec

import sash
from sash.core.pressure import Pressure
from tests.builders import Script
from tests.cli.front_door import here
from tests.cli.sessions import long_session


def used(home: Path, *words: str | Path) -> int:
    ran = here("pressure", *words, "--json", home=home)
    return msgspec.json.decode(ran.out, type=Pressure).used.value


def test_the_pressure_of_the_whole_is_what_a_request_of_all_of_it_would_take(tmp_path: Path) -> None:
    session = long_session(tmp_path / "session.jsonl")
    everything = used(tmp_path, session, "--window", "10m", "--history-tokens", "10m")
    for cap in ("2k", "8k", "100k"):
        assert used(tmp_path, session, "--whole", "--history-tokens", cap) == everything
    assert used(tmp_path, session, "--whole", "--window", "6k") == everything
    assert used(tmp_path, session, "--history-tokens", "8k") < everything
    recent = (session, "--policy", "recent")
    prompts = [used(tmp_path, *recent, "--whole", "--set", f"max_chars={most}") for most in (900, 90_000)]
    assert prompts[0] == prompts[1] > used(tmp_path, *recent)


def test_the_pressure_of_a_whole_thread_keeps_what_it_remembers_and_what_its_provider_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    with sash.open("talk", store=url, policy=sash.Policy(counter="chars4")) as thread:
        thread.append(Script().turn(ask=900, answer=900).user("go on").said)
        thread.remember("The port is 8080.")
        thread.record_usage({"prompt_tokens": 5_000, "completion_tokens": 1})
    assert used(tmp_path, "talk", "--store", url, "--whole") == used(tmp_path, "talk", "--store", url) > 2_000
