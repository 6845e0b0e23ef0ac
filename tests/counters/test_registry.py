"""From the name of a model to what counts for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis.strategies import characters, text

from sash.core.policy import DEFAULT_WINDOW
from sash.core.tokens import Counter
from sash.counters import Limits, counter_for, describe
from sash.counters.exact import VOCABULARIES, _loaded
from sash.counters.models import _known, gathered
from sash.counters.names import canonical
from sash.counters.registry import _best, _made
from sash.errors import MissingExtra, UnknownCounter


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("gpt-5", "gpt-5"),
        ("  GPT-5 ", "gpt-5"),
        ("openai/gpt-5", "gpt-5"),
        ("azure/gpt-5", "gpt-5"),
        ("ft:gpt-4o-2024-08-06:my-org:name:id", "gpt-4o-2024-08-06"),
        ("anthropic/claude-opus-5", "claude-opus-5"),
        ("openrouter/anthropic/claude-opus-4.7:beta", "claude-opus-4-7"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
        ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
        ("bedrock/us.anthropic.claude-opus-4-20250514-v1:0", "claude-opus-4-20250514"),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0:200k", "claude-3-5-sonnet-20240620"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        (
            "arn:aws:bedrock:us-east-1:123:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            "claude-haiku-4-5-20251001",
        ),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("meta.llama3-3-70b-instruct-v1:0", "llama3-3-70b-instruct"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b-instruct"),
        ("llama3.3:70b", "llama3.3"),
        ("fireworks_ai/accounts/fireworks/models/deepseek-v3", "deepseek-v3"),
        ("", ""),
    ],
)
def test_a_model_is_known_by_all_its_names(name: str, same: str) -> None:
    assert canonical(name) == same


@given(text(characters(codec=None), max_size=60))
def test_no_name_makes_it_fail(name: str) -> None:
    found = counter_for(name)
    assert found.counter.text("some words").value > 0
    assert found.model.window > 0
    assert found.why


@pytest.mark.parametrize(
    ("model", "counter", "exact"),
    [
        ("gpt-5", "exact:o200k_base", True),
        ("gpt-5.4-mini-2026-03-17", "exact:o200k_base", True),
        ("gpt-4o", "exact:o200k_base", True),
        ("o3", "exact:o200k_base", True),
        ("gpt-oss-20b", "exact:o200k_base", True),
        ("gpt-4", "exact:cl100k_base", True),
        ("gpt-4-turbo-2024-04-09", "exact:cl100k_base", True),
        ("gpt-3.5-turbo", "exact:cl100k_base", True),
        ("gpt-35-turbo", "exact:cl100k_base", True),
        ("gpt-9-sol", "near:o200k_base", False),
        ("meta-llama/Llama-3.1-8B-Instruct", "exact:llama3", True),
        ("llama2:7b", "exact:llama2", True),
        ("codellama:34b", "exact:codellama", True),
        ("Qwen/Qwen3-8B", "exact:qwen3", True),
        ("qwen2.5-coder:32b", "exact:qwen3", True),
        ("qwen3.7-max", "near:qwen3", False),
        ("deepseek-ai/DeepSeek-V3.2", "exact:deepseek_v3", True),
        ("deepseek-v4-pro", "near:deepseek_v3", False),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "exact:mistral_v1", True),
        ("mistral-large-2407", "exact:mistral_v2", True),
        ("open-mistral-nemo", "exact:mistral_v3", True),
        ("mistral-large-4", "near:mistral_v3", False),
        ("google/gemma-2-9b-it", "exact:gemma2", True),
        ("gemma3:27b", "exact:gemma3", True),
        ("zai-org/GLM-4.5-Air", "exact:glm4", True),
        ("moonshotai/Kimi-K2-Instruct", "exact:kimi_k2", True),
        ("microsoft/phi-4", "exact:phi4", True),
        ("anthropic/claude-opus-5", "estimate:claude-new", False),
        ("claude-opus-4-7", "estimate:claude-new", False),
        ("claude-fable-5", "estimate:claude-new", False),
        ("claude-sonnet-4-6", "estimate:claude", False),
        ("claude-haiku-4-5-20251001", "estimate:claude", False),
        ("claude-3-7-sonnet-latest", "estimate:claude", False),
        ("gemini-3.1-pro-preview", "estimate:gemini", False),
        ("grok-4.7", "estimate:generic", False),
        ("my-own-model", "estimate:generic", False),
    ],
)
def test_a_model_is_counted_by_its_own_tokenizer_or_the_nearest_thing(model: str, counter: str, exact: bool) -> None:
    found = counter_for(model)
    assert found.counter.id == counter
    assert found.exact == found.counter.exact == found.counter.text("some words").exact == exact


def test_an_unknown_model_is_estimated_and_says_so() -> None:
    found = counter_for("my-own-model")
    assert "'my-own-model'" in found.why
    assert "generic" in found.why
    assert found.model.default_window
    assert found.model.window == DEFAULT_WINDOW == 128_000
    assert counter_for("my-own-model", default_window=32_000).model.window == 32_000


@pytest.mark.parametrize(
    ("model", "window", "output"),
    [
        ("claude-opus-5", 1_000_000, 128_000),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000),
        ("claude-opus-4-1", 200_000, 32_000),
        ("gpt-4o-2024-08-06", 128_000, 16_384),
        ("gpt-5-2025-08-07", 400_000, 128_000),
        ("gpt-5-chat-latest", 128_000, 16_384),
        ("gemini-2.5-pro", 1_048_576, 65_536),
        ("o4-mini", 200_000, 100_000),
        ("llama3.3:70b", 131_072, 8_192),
    ],
)
def test_windows_and_outputs_of_current_models_are_known(model: str, window: int, output: int) -> None:
    known = describe(model)
    assert (known.window, known.limits.max_output) == (window, output)
    assert not known.default_window


def test_a_request_to_gpt_5_may_not_fill_the_whole_window() -> None:
    assert describe("gpt-5").limits.max_input == 272_000


def test_the_next_model_reads_as_its_forerunner_but_its_window_is_not_guessed() -> None:
    known = describe("gpt-5.9")
    assert known.reading.vocabulary == "o200k_base"
    assert known.default_window


def test_a_name_can_ask_for_a_window_of_a_million() -> None:
    assert describe("claude-sonnet-4-5").window == 200_000
    assert describe("claude-sonnet-4-5[1m]").window == 1_000_000
    assert describe("my-own-model[1m]").window == 1_000_000


def test_who_knows_better_can_say_so() -> None:
    mine = {"OpenAI/gpt-5": Limits(window=50_000), "my-own-model": Limits(window=8_000, max_output=1_000)}
    assert describe("gpt-5-2025-08-07", overrides=mine).window == 50_000
    assert describe("my-own-model", overrides=mine).window == 8_000
    assert not describe("my-own-model", overrides=mine).default_window


def test_the_facts_have_a_date_and_every_entry_can_be_reached() -> None:
    assert gathered().count("-") == 2
    for name in (*_known().reading, *_known().limits):
        assert canonical(name) == name
    for name in _known().limits:
        assert describe(name).limits_of == name
    for name, reading in _known().reading.items():
        assert describe(name).read_as == name
        assert not reading.vocabulary or reading.vocabulary in VOCABULARIES


@pytest.mark.parametrize(
    "name", ["chars4", "gitclaw", "bytes4", "estimate", "estimate:claude", "exact:llama3", "exact"]
)
def test_a_counter_can_be_had_by_its_name(name: str) -> None:
    found = counter_for("gpt-5", counter=name)
    assert isinstance(found.counter, Counter)
    assert found.counter.id.startswith(name)
    assert repr(name) in found.why


@pytest.mark.parametrize("name", ["nope", "exact:nope", "exact:", "chars5", "remote:anthropic"])
def test_a_name_that_no_counter_has_is_an_error_that_lists_them(name: str) -> None:
    with pytest.raises(UnknownCounter, match="use one of"):
        counter_for("gpt-5", counter=name)


def test_exact_by_name_is_an_error_where_there_is_no_tokenizer() -> None:
    with pytest.raises(UnknownCounter, match="claude-opus-5"):
        counter_for("claude-opus-5", counter="exact")


def test_another_tokenizer_by_name_makes_no_message_exact() -> None:
    assert counter_for("gpt-5").counter.version != counter_for("gpt-5", counter="exact:llama3").counter.version


@pytest.fixture
def without_splintr(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine where the extra `exact` is not installed."""
    remembered = (_loaded, _best, _made)
    monkeypatch.setitem(sys.modules, "splintr", None)
    for each in remembered:
        each.cache_clear()
    yield
    for each in remembered:
        each.cache_clear()


@pytest.mark.usefixtures("without_splintr")
def test_without_the_extra_a_known_model_is_estimated_and_says_how_to_do_better() -> None:
    found = counter_for("gpt-5")
    assert found.counter.id == "estimate:openai"
    assert not found.exact
    assert "sash[exact]" in found.why


@pytest.mark.usefixtures("without_splintr")
def test_without_the_extra_asking_for_it_by_name_is_an_error_that_names_it() -> None:
    with pytest.raises(MissingExtra, match=r"sash\[exact\]") as missing:
        counter_for("gpt-5", counter="exact:o200k_base")
    assert (missing.value.extra, missing.value.package) == ("exact", "splintr-rs")
