"""Spans and counts for OpenTelemetry, in its words for generative AI; nothing without the extra `otel`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from sash.providers import Finished, Provider
from sash.thread import Thread

STOPS = {"end": "stop", "length": "length", "calls": "tool_calls", "refused": "content_filter", "paused": "stop"}


class Span(Protocol):
    """A question to a provider, being watched."""

    def finished(self, event: Finished) -> None:
        """It was answered."""


class _NoSpan:
    def finished(self, event: Finished) -> None:
        """Nobody watches."""


class Tracing:
    """What is told to OpenTelemetry: model, provider, thread and tokens; never what was said."""

    def __init__(self) -> None:
        self._trace: Any = None
        try:
            from opentelemetry import metrics, trace
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("opentelemetry"):
                raise
            return
        self._trace = trace
        self._tracer = trace.get_tracer("sash.server")
        meter = metrics.get_meter("sash.server")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", unit="{token}")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", unit="s")

    @contextmanager
    def asked(self, thread: Thread, provider: Provider) -> Iterator[Span]:
        """Watch one question."""
        if self._trace is None:
            yield _NoSpan()
            return
        known = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider.name,
            "gen_ai.request.model": provider.model,
        }
        kind = self._trace.SpanKind.CLIENT
        started = time.perf_counter()
        with self._tracer.start_as_current_span(
            f"chat {provider.model}",
            kind=kind,
            attributes={**known, "gen_ai.conversation.id": thread.name},
            # An error's own words may hold what was said.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield _Watched(self, span, known)
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(self._trace.StatusCode.ERROR)
                known["error.type"] = type(error).__name__
                raise
            finally:
                self._seconds.record(time.perf_counter() - started, known)

    def count(self, kind: str, tokens: int, known: dict[str, str]) -> None:
        """Tokens of one kind."""
        self._tokens.record(tokens, {**known, "gen_ai.token.type": kind})


class _Watched:
    def __init__(self, tracing: Tracing, span: Any, known: dict[str, str]) -> None:
        self._tracing, self._span, self._known = tracing, span, known

    def finished(self, event: Finished) -> None:
        """What it took, as the provider says."""
        self._span.set_attribute("gen_ai.response.finish_reasons", [STOPS[event.stop]])
        if event.model:
            self._span.set_attribute("gen_ai.response.model", event.model)
        usage = event.usage
        if usage is None:
            return
        self._span.set_attribute("gen_ai.usage.input_tokens", usage.context_tokens)
        self._span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
        self._span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens)
        self._span.set_attribute("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens)
        self._tracing.count("input", usage.context_tokens, self._known)
        self._tracing.count("output", usage.output_tokens, self._known)
