"""What OpenTelemetry is told: model, provider, thread and tokens; never words."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import sash
from sash.errors import ProviderBusy
from sash.providers import Echo, Finished, Usage
from sash.server.tracing import Tracing


@pytest.fixture
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing_provider.append(provider)
    return exporter


tracing_provider: list[TracerProvider] = []


def test_a_question_is_a_span_in_the_words_of_generative_ai(spans: InMemorySpanExporter) -> None:
    tracing = Tracing()
    tracing._tracer = tracing_provider[-1].get_tracer("test")
    thread = sash.open("talk", store="memory:")
    usage = Usage(input_tokens=10, output_tokens=3, cache_read_tokens=90, reported={})
    with tracing.asked(thread, Echo()) as span:
        span.finished(Finished(stop="calls", message={"content": "secret"}, usage=usage, model="echo-1"))
    with pytest.raises(ProviderBusy), tracing.asked(thread, Echo()):
        raise ProviderBusy("a secret of the upstream")
    told, failed = spans.get_finished_spans()
    assert told.attributes is not None
    assert dict(told.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "echo",
        "gen_ai.request.model": "echo",
        "gen_ai.response.model": "echo-1",
        "gen_ai.conversation.id": "talk",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 90,
        "gen_ai.usage.cache_creation.input_tokens": 0,
    }
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "ProviderBusy"
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert "secret" not in told.to_json() + failed.to_json()
