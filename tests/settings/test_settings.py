"""Where a setting's value comes from, and what is refused, with its line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from sash.core.policy import Policy
from sash.core.pressure import Marks
from sash.counters import counter_under
from sash.errors import InvalidSetting
from sash.settings import SETTINGS, Settings, load, setting_named

CONTEXT_JSON = """{
  "totalTokens": 100000,
  "allocations": {
    "systemPrompt": 5, "skills": 3, "knowledgeBase": 3, "crossIssue": 2,
    "sessionSummary": 10, "sessionRecent": 30, "currentPrompt": 2, "reservedForResponse": 45
  },
  "compressionThreshold": 0.6,
  "showPressureAbove": 0.25
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A project folder and, beside it, somebody's settings."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "xdg" / "sash").mkdir(parents=True)
    return tmp_path


def settings(home: Path, flags: dict[str, object] | None = None, **environment: str) -> Settings:
    return load(flags, environment={"XDG_CONFIG_HOME": str(home / "xdg"), **environment}, folder=home / "project")


def project(home: Path, text: str) -> Path:
    path = home / "project" / "sash.toml"
    path.write_text(text, "utf-8")
    return path


def user(home: Path, text: str) -> Path:
    path = home / "xdg" / "sash" / "config.toml"
    path.write_text(text, "utf-8")
    return path


def refused(home: Path, text: str) -> str:
    project(home, text)
    with pytest.raises(InvalidSetting) as error:
        settings(home).policy()
    return str(error.value).replace(f"{home / 'project'}/", "")


def test_every_field_of_a_policy_can_be_set_and_is_explained() -> None:
    names = {setting.name for setting in SETTINGS if setting.group == "window"}
    assert names == set(Policy.__struct_fields__)
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert not [setting.name for setting in SETTINGS if not setting.help]


def test_a_flag_counts_more_than_the_environment_the_project_and_the_user(home: Path) -> None:
    assert settings(home).value("history_tokens") is None
    assert settings(home).where("history_tokens") == "default"
    mine = user(home, "history_tokens = 1_000\nmin_turns = 3\n")
    assert settings(home).policy() == Policy(history_tokens=1_000, min_turns=3)
    ours = project(home, "# ours\nhistory_tokens = 2_000\n")
    assert settings(home).where("history_tokens") == f"{ours}:2"
    assert settings(home).where("min-turns") == f"{mine}:2"
    found = settings(home, SASH_HISTORY_TOKENS="3k")
    assert (found.value("history_tokens"), found.where("history_tokens")) == (3_000, "SASH_HISTORY_TOKENS")
    found = settings(home, {"history_tokens": 4_000, "window": None}, SASH_HISTORY_TOKENS="3k")
    assert (found.value("history_tokens"), found.where("history_tokens")) == (4_000, "--history-tokens")
    assert found.policy() == Policy(history_tokens=4_000, min_turns=3)
    assert found.files == (ours, mine)


def test_the_projects_file_is_the_nearest_one_inside_its_repository(home: Path) -> None:
    (home / "sash.toml").write_text("min_turns = 9")
    deep = home / "project" / "src" / "deep"
    deep.mkdir(parents=True)
    environment = {"XDG_CONFIG_HOME": str(home / "xdg")}
    assert load(environment=environment, folder=deep).files == ()
    path = project(home, "min_turns = 4")
    assert load(environment=environment, folder=deep).files == (path,)
    elsewhere = home / "other.toml"
    elsewhere.write_text("min_turns = 7")
    assert load(environment=environment, folder=deep, config=elsewhere).value("min_turns") == 7
    assert load(environment=environment | {"SASH_CONFIG": str(elsewhere)}, folder=deep).files == (elsewhere,)


@pytest.mark.parametrize(
    ("preset", "flags", "policy"),
    [
        ("best", {}, Policy()),
        ("chat", {"recall_tokens": 500}, Policy(recall_tokens=500)),
        ("sliding", {"history_tokens": "5k"}, Policy.sliding(5_000)),
        ("priority", {"window": 50_000}, Policy.priority(50_000)),
        ("threshold", {"window": 50_000}, Policy.threshold(50_000)),
        ("recent", {"recent_turns": 3, "max_chars": 900}, Policy.recent(3, max_chars=900)),
    ],
)
def test_a_preset_takes_what_is_set_beside_it(
    home: Path, preset: str, flags: dict[str, object], policy: Policy
) -> None:
    assert settings(home, {"policy": preset, **flags}).policy() == policy


def test_tables_set_the_budget_and_the_prices(home: Path) -> None:
    project(home, "[budget.history]\nshare = 0.4\n[budget.reserve]\ntokens = 900\n[prices]\nread = 0.5\nwrite = 1.0\n")
    policy = settings(home).policy()
    assert policy.budget is not None
    assert policy.budget.history.share == 0.4
    assert policy.prices.read == 0.5
    by_variable = settings(home, SASH_PRICES='{"read": 0.2, "write": 2}')
    assert by_variable.policy().prices.write == 2


def test_windows_of_single_models_are_settings_and_the_default_of_the_others_is_one(home: Path) -> None:
    project(home, 'default_window = 32_000\n[models]\nmine = 40_960\n[models."gpt-5"]\nwindow = 99_000\n')
    policy = settings(home).policy()
    assert counter_under(policy, "mine").model.window == 40_960
    assert not counter_under(policy, "mine").model.default_window
    assert counter_under(policy, "openai/gpt-5-2025-08-07").model.window == 99_000
    unknown = counter_under(policy, "somebody-elses").model
    assert (unknown.window, unknown.default_window) == (32_000, True)
    assert json.loads({value.name: value for value in settings(home).values()}["models"].text)["mine"] == 40_960
    by_variable = settings(home, SASH_MODELS='{"mine": {"window": 50000, "max_output": 1000}}')
    assert counter_under(by_variable.policy(), "mine").model.limits.max_output == 1_000
    path = project(home, "default_window = 1\n[models]\nmine = 0\n")
    with pytest.raises(InvalidSetting, match=rf"{re.escape(str(path))}:2: models.mine.window is 0; it takes"):
        settings(home).policy()


def test_the_pressure_marks_are_settings(home: Path) -> None:
    assert settings(home).marks() == Marks()
    assert settings(home, SASH_SHOW_ABOVE="0").marks() == Marks(show=0)
    with pytest.raises(InvalidSetting, match=r"SASH_WARN_ABOVE: warn_above is 0\.1; it takes at least `notice`"):
        settings(home, SASH_WARN_ABOVE="0.1").marks()


def test_a_context_json_is_read_as_it_is(home: Path) -> None:
    place = home / "project" / ".GITCLAW" / "context.json"
    place.parent.mkdir()
    place.write_text(CONTEXT_JSON)
    found = settings(home)
    policy = found.policy()
    assert (policy.window, policy.trigger_share, policy.history_tokens) == (100_000, 0.6, 40_000)
    assert policy.order == "priority"
    assert found.marks().show == 0.25
    assert found.where("window") == f"{place}:2"
    assert found.where("trigger_share") == f"{place}:7"
    assert settings(home, SASH_KEEP_SHARE="0.5").policy().keep_share == 0.5
    place.write_text(CONTEXT_JSON.replace('"compressionThreshold": 0.6', '"compressionThreshold": 6'))
    with pytest.raises(InvalidSetting, match=r"context\.json:7: compressionThreshold is 6; it takes a share"):
        settings(home)
    place.write_text("{bad\n")
    with pytest.raises(InvalidSetting, match=r"context\.json:1: it takes JSON \(") as refused:
        settings(home)
    assert "b'" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nhistory_token = 5", "sash.toml:2: history_token is no setting; did you mean 'history_tokens'?"),
        ("xyzzy = 5", "sash.toml:1: xyzzy is no setting; `sash config` lists what can be set"),
        (
            "# a\n\nhistory_tokens = -5",
            "sash.toml:3: history_tokens is -5; it takes a whole number, such as 30000 or 30k",
        ),
        ("history_tokens = true", "sash.toml:1: history_tokens is True; it takes a whole number, such as 30000 or 30k"),
        ("min_turns = 0", "sash.toml:1: min_turns is 0; it takes a whole number from 1 to 100,000,000"),
        ("keep_share = 2", "sash.toml:1: keep_share is 2; it takes a share from 0 to 1"),
        (
            "policy = 'fast'",
            "sash.toml:1: policy is 'fast'; it takes one of best, sliding, priority, threshold, recent, chat",
        ),
        ("order = 1", "sash.toml:1: order is 1; it takes one of oldest, priority"),
        ("adaptive = 'yes'", "sash.toml:1: adaptive is 'yes'; it takes true or false"),
        ("model = 5", "sash.toml:1: model is 5; it takes some words"),
        ("budget = 5", "sash.toml:1: budget is 5; it takes a table"),
        ("keep_share = 0.5\n[", "sash.toml:2: no TOML: Invalid initial character for a key part"),
        ("a = '\x00'", "sash.toml:1: no TOML: "),
        ("min-turns = 3\nmin_turns = 3", "sash.toml:2: min_turns is set twice: sash.toml:1 sets it too"),
        (
            'model = """\nxyzzy = 1\n"""\nxyzzy = 1',
            "sash.toml:4: xyzzy is no setting; `sash config` lists what can be set",
        ),
        (
            "[budget.history]\nshare = 0.5\n[budget.bread]\nshare = 1",
            "sash.toml:1: budget.bread is {'share': 1}; it takes no value",
        ),
        ("window = 1000\nhistory_tokens = 5000", "sash.toml:2: history_tokens is 5000; it takes at most the window"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(home: Path, text: str, said: str) -> None:
    assert said in refused(home, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [("HISTORY_TOKENS", "many"), ("HISTORY_TOKENS", "1.5"), ("KEEP_SHARE", "nan"), ("KEEP_SHARE", "x"),
     ("ADAPTIVE", "perhaps"), ("PRICES", "[1]"), ("PRICES", "{"), ("ORDER", "newest")],
)  # fmt: skip
def test_a_bad_variable_is_named(home: Path, name: str, text: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^SASH_{name}: {name.lower()} is {text!r}".replace("[", r"\[")):
        settings(home, None, **{f"SASH_{name}": text})


def test_a_misspelled_variable_is_warned_of_and_one_of_somebody_else_is_not(home: Path) -> None:
    found = settings(home, SASH_HISTORY_TOKEN="4k", SASH_MODLES="{}", SASH_DATA="x", SASH_API_KEY="y", SASH_MODLE="")
    assert found.warnings == (
        "SASH_HISTORY_TOKEN is no setting; did you mean 'SASH_HISTORY_TOKENS'?",
        "SASH_MODLES is no setting; did you mean 'SASH_MODELS'?",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[models]\n"gpt-5" = {window = 1000, max_ouput = 5}', "models.gpt-5.max_ouput is no field; there are window,"),
        (
            "[prices]\nread = 0.1\nwrite = 1\nfrsh = 2",
            "prices.frsh is no field; there are read, write, fresh, smallest",
        ),
    ],
)
def test_a_field_that_a_table_cannot_have_is_named_with_those_it_can(home: Path, text: str, said: str) -> None:
    assert refused(home, text).startswith(f"sash.toml:1: {said}")


def test_an_empty_variable_says_nothing(home: Path) -> None:
    assert settings(home, SASH_HISTORY_TOKENS="").where("history_tokens") == "default"


def test_a_file_that_cannot_be_one_is_refused(home: Path) -> None:
    path = project(home, "")
    path.write_bytes(b"model = 'a'\nmodel = '\xff'")
    with pytest.raises(InvalidSetting, match=r"sash\.toml:2: is not UTF-8"):
        settings(home)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(InvalidSetting, match="more than 1,000,000 bytes"):
        settings(home)
    path.write_bytes(b"\xef\xbb\xbfmin_turns = 3")
    assert settings(home).value("min_turns") == 3
    with pytest.raises(FileNotFoundError):
        load(environment={}, config=home / "nowhere.toml")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///x.db", "sqlite:///x.db"),
        ("postgresql://me:s3cret@host:5432/sash", "postgresql://me:***@host:5432/sash"),
        ("postgresql://host/sash?user=me&password=s3cret", "postgresql://host/sash?user=me&password=***"),
        ("postgresql://me:s3cret@[host/sash", "postgresql:***"),
    ],
)
def test_a_password_is_never_shown(home: Path, url: str, shown: str) -> None:
    values = {value.name: value for value in settings(home, SASH_STORE=url).values()}
    assert values["store"].text == shown


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_password_that_everybody_may_read_is_warned_of(home: Path) -> None:
    path = project(home, "store = 'postgresql://me:s3cret@host/sash'")
    path.chmod(0o644)
    (warning,) = settings(home).warnings
    assert "chmod 600" in warning
    assert "s3cret" not in warning
    path.chmod(0o600)
    assert settings(home).warnings == ()


def test_every_value_tells_where_it_comes_from(home: Path) -> None:
    values = {value.name: value for value in settings(home, {"policy": "sliding"}).values()}
    assert [value.where for value in (values["policy"], values["keep_share"], values["window"])] == [
        "--policy",
        "policy sliding",
        "default",
    ]
    assert values["history_tokens"].text == "100,000"
    assert values["adaptive"].text == "false"
    assert json.loads(values["prices"].text)["read"] == 0.1
    assert values["window"].text == ""


def test_the_store_is_in_the_users_data_folder_unless_said_otherwise(home: Path) -> None:
    assert settings(home, SASH_STORE="memory:").store() == "memory:"
    assert settings(home).store() == "sqlite:"


def test_a_setting_has_one_name_everywhere() -> None:
    setting = setting_named("history-tokens")
    assert (setting.variable, setting.flag) == ("SASH_HISTORY_TOKENS", "--history-tokens")
