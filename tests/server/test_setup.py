"""What a server is told: as its settings say it, from wherever they come."""

from __future__ import annotations

from pathlib import Path

import pytest

from sash import Policy
from sash.core.budget import Allotment
from sash.server.setup import ServerSetup, setup_from
from sash.settings import load


def told(folder: Path, text: str) -> ServerSetup:
    file = folder / "sash.toml"
    file.write_text(text)
    return setup_from(load({}, environment={}, folder=folder, config=file))


@pytest.mark.parametrize("policy", ["", 'policy = "recent"\n', 'policy = "best"\n'])
def test_a_budget_of_the_file_holds_for_threads_and_for_the_proxy(tmp_path: Path, policy: str) -> None:
    setup = told(tmp_path, f"{policy}[budget.history]\nceiling = 9000\n")
    for one in (setup.policy, setup.proxy.policy):
        assert one.budget is not None
        assert one.budget.history == Allotment(ceiling=9000)


def test_people_talk_to_a_server_so_it_recalls_unless_told_otherwise(tmp_path: Path) -> None:
    assert told(tmp_path, "").policy == Policy.chat()
    assert told(tmp_path, "history_tokens = 7000").policy == Policy(recall_tokens=2_000, history_tokens=7_000)
    assert told(tmp_path, 'policy = "best"').policy == Policy()


def test_recent_turns_are_set_by_either_name(tmp_path: Path) -> None:
    seed = 'policy = "recent"\ncontext_recent_turns = 4\ncontext_max_chars = 900\n'
    assert told(tmp_path, seed).policy == Policy.recent(4, max_chars=900)
    assert told(tmp_path, f"{seed}recent_turns = 3\n").policy == Policy.recent(3, max_chars=900)
