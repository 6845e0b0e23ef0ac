"""A real model that cannot summarize: it is asked over HTTP, within its limit, and never believed."""

from __future__ import annotations

import pytest

from sash.errors import SummaryRejected
from sash.providers import Anthropic, LocalServer, OpenAI
from sash.store import MemoryStore
from sash.summarize import Asked, Summarizer
from tests.model_server import MODEL
from tests.summarize.building import evidence_of, turns
from tests.summarize.threads import slid, worked, worker


@pytest.mark.parametrize("wire", ["openai-chat", pytest.param("anthropic", marks=pytest.mark.soak)])
def test_what_a_small_model_writes_is_rejected_and_nothing_of_it_is_published(
    model_server: LocalServer, wire: str
) -> None:
    url = model_server.url
    provider = OpenAI(MODEL, base_url=f"{url}/v1") if wire == "openai-chat" else Anthropic(MODEL, base_url=url)
    summarizer = Summarizer(provider, window=4_096, seconds=120)
    said = turns()[2:]
    asked = Asked(turns=said, cap_tokens=60, replaced_tokens=6_000)
    with pytest.raises(SummaryRejected):
        summarizer.summarize(asked, evidence_of(said))
    assert summarizer.spent.calls == 1
    assert summarizer.spent.input_tokens > 500


@pytest.mark.soak
def test_a_thread_goes_on_when_its_summarizer_is_too_small(model_server: LocalServer) -> None:
    store = MemoryStore()
    thread = slid(store, "somebody", turns=8)
    before = thread.request()
    small = OpenAI(MODEL, base_url=f"{model_server.url}/v1")
    busy = worker(store, "somebody")
    busy.summarizer = Summarizer(small, window=4_096, seconds=120)
    made = worked(busy.once())
    assert made.outcome == "failed"
    assert "rejected" in made.error
    assert thread.request() == before
    assert thread.summaries() == ()
