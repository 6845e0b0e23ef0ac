"""The libraries that answer part of our question, and which of them are installed here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import msgspec


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """One library to measure beside sash."""

    distribution: str
    module: str
    """What its users import to manage a history."""
    version: str = ""


PEERS = (
    Peer(distribution="agent-framework-core", module="agent_framework"),
    Peer(distribution="langchain", module="langchain.agents"),
    Peer(distribution="langchain-core", module="langchain_core.messages"),
    Peer(distribution="litellm", module="litellm"),
    Peer(distribution="llama-index-core", module="llama_index.core.memory"),
    Peer(distribution="openai-agents", module="agents"),
    Peer(distribution="pydantic-ai-slim", module="pydantic_ai"),
    Peer(distribution="semantic-kernel", module="semantic_kernel.contents"),
    Peer(distribution="strands-agents", module="strands.agent.conversation_manager"),
)

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
"""Some peers fetch or report something when they are imported. A benchmark measures them without the network."""


def installed() -> tuple[Peer, ...]:
    """The peers that this environment has; `make bench-peers` brings one that has them all."""
    found = []
    for peer in PEERS:
        try:
            found.append(msgspec.structs.replace(peer, version=version(peer.distribution)))
        except PackageNotFoundError:
            continue
    return tuple(found)
