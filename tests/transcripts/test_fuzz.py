"""Records with anything in the place of anything: nothing crashes a reader."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.transcripts import FORMATS, WRITERS, open_transcript, write_transcript
from tests.transcripts.samples import SAMPLES

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "x"]), inner),
    max_leaves=6,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def replaced(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    twin = deepcopy(node)
    holder = twin
    for key in path[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return twin


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=25)
@given(choice=st.data())
def test_a_record_with_anything_in_any_place_is_read_or_listed(name: str, choice: st.DataObject) -> None:
    records = SAMPLES[name]
    path = choice.draw(st.sampled_from(places(records)).filter(bool))
    changed = replaced(records, path, choice.draw(st.just(...) | ANYTHING))
    by_line = name not in ("gemini", "sharegpt", "swe-agent", "locomo", "openai-chat", "openai-responses", "anthropic")
    lines = "\n".join(json.dumps(record) for record in changed) if by_line else json.dumps(changed[0] if changed else 0)
    transcript = open_transcript(io.BytesIO(lines.encode()), format=name)
    list(transcript.messages(as_sent=True))
    entries = list(transcript.messages())
    for writer in WRITERS:
        write_transcript(entries, writer, io.BytesIO())


def test_every_format_but_the_database_has_a_sample() -> None:
    assert set(SAMPLES) == set(FORMATS) - {"opencode"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_told_apart_by_its_content(name: str) -> None:
    by_line = name not in ("gemini", "sharegpt", "swe-agent", "locomo", "openai-chat", "openai-responses", "anthropic")
    records = SAMPLES[name]
    for text in ("\n".join(map(json.dumps, records)), *([] if by_line else [json.dumps(records[0], indent=2)])):
        transcript = open_transcript(io.BytesIO(text.encode()))
        assert transcript.format == name
        assert list(transcript.messages())
        assert not transcript.damage
