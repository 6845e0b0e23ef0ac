"""`sash config` through the front door."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sash.cli.characters import columns_of
from sash.cli.config import ShownSettings
from sash.settings import SETTINGS
from tests.cli.front_door import here, on_terminal, piped, plain


def test_each_value_is_shown_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "sash.toml").write_text("# ours\nhistory_tokens = 30_000\n")
    ran = piped("config", "--policy", "sliding", home=tmp_path, env={"SASH_MIN_TURNS": "4"})
    assert (ran.code, ran.err) == (0, "")
    assert "history_tokens 30,000 " in ran.words
    assert "sash.toml:2" in ran.words
    assert "min_turns 4 SASH_MIN_TURNS" in ran.words
    assert "policy sliding --policy" in ran.words
    assert "keep_share 1.0 policy sliding" in ran.words


def test_all_settings_can_be_listed_and_each_explained(tmp_path: Path) -> None:
    ran = here("config", "--all", home=tmp_path)
    assert not [setting.name for setting in SETTINGS if setting.name not in ran.out]
    ran = here("config", "keep-share", home=tmp_path)
    assert "keep_share = 0.5" in ran.out
    assert "SASH_KEEP_SHARE" in ran.out


def test_what_cannot_be_meant_fails_here_and_not_later(tmp_path: Path) -> None:
    ran = here("config", home=tmp_path, env={"SASH_HISTORY_TOKEN": "4k"})
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'SASH_HISTORY_TOKENS'?" in ran.err
    (tmp_path / "sash.toml").write_text("counter = 'guess'\n")
    ran = here("config", home=tmp_path)
    assert ran.code == 2
    assert "sash.toml:1: counter is 'guess'; it takes one of" in ran.err


def test_a_model_that_nobody_knows_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "sash.toml").write_text("model = 'gtp-5'\n")
    ran = here("config", home=tmp_path)
    assert ran.code == 0
    assert "sash.toml:1: no model 'gtp-5' is known" in ran.err
    assert here("config", "--model", "gpt-5", home=tmp_path).err == ""


def test_a_program_gets_one_object(tmp_path: Path) -> None:
    ran = here("config", "--json", "--set", "store=postgresql://me:s3cret@host/db", home=tmp_path)
    told = msgspec.json.decode(ran.out, type=ShownSettings)
    assert [setting.name for setting in told.settings] == [setting.name for setting in SETTINGS]
    store = next(setting for setting in told.settings if setting.name == "store")
    assert (store.value, store.where) == ("postgresql://me:***@host/db", "--set")
    assert "s3cret" not in ran.out


@pytest.mark.parametrize("width", [80, 20])
def test_it_fits_the_terminal_in_colour(tmp_path: Path, width: int) -> None:
    ran = on_terminal("config", "--all", home=tmp_path, width=width)
    assert ran.code == 0
    assert "\x1b[" in ran.out
    assert max(columns_of(line) for line in plain(ran.out).splitlines()) <= width
    assert "\x1b[" not in on_terminal("config", "--all", home=tmp_path, env={"NO_COLOR": "1"}).out
    assert "\x1b[" not in on_terminal("--no-color", "config", "--all", home=tmp_path).out
    assert "\x1b[" not in on_terminal("config", home=tmp_path, env={"TERM": "dumb"}).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--history-tokens", "-5"], "--history-tokens: history_tokens is '-5'; it takes a whole number"),
        (["--set", "nothing=1"], "--set: nothing is no setting"),
        (["--policy", "priority", "--window", "1"], "window is 1; it takes a whole number from 10"),
        (["xyzzy"], "xyzzy is no setting"),
        (["--set", "nothing"], "'nothing' is not NAME=VALUE"),
    ],
)
def test_what_cannot_be_meant_ends_with_two(tmp_path: Path, words: list[str], said: str) -> None:
    ran = here("config", *words, home=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_broken_file_stops_every_command_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "sash.toml").write_text("\n\nhistory = 3\n")
    ran = here("config", home=tmp_path)
    assert ran.code == 2
    assert "sash.toml:3: history is no setting" in ran.err
    other = tmp_path / "other.toml"
    other.write_text("min_turns = 5")
    ran = here("--config", other, "config", home=tmp_path)
    assert (ran.code, "min_turns 5" in ran.words.replace("  ", " ")) == (0, True)
    assert here("--config", tmp_path / "none.toml", "config", home=tmp_path).code == 2


def test_a_password_that_everybody_may_read_is_warned_of_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "sash.toml"
    path.write_text("store = 'postgresql://me:s3cret@host/sash'")
    path.chmod(0o644)
    ran = here("config", home=tmp_path)
    assert ran.code == 0
    assert "chmod 600" in ran.err
    assert "s3cret" not in ran.err + ran.out
