"""The many names of one model: as its maker, a cloud, a router or a local server spells it."""

from __future__ import annotations

import re

_REGION = r"(?:us|us-gov|eu|apac|au|ca|jp|in|sa|uk|global)"
_VENDOR = r"(?:amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot(?:ai)?|nvidia|openai|qwen|zai)"
_BEDROCK = re.compile(rf"^(?:{_REGION}\.)?{_VENDOR}\.(?=.)")
_BEDROCK_EDITION = re.compile(r"-v\d+(?::\d+)?(?::\d+k)?$|-\d+:\d+$")
_CLAUDE_VERSION = re.compile(r"(?<=\d)\.(?=\d)")
_LONG = "[1m]"


def canonical(model: str) -> str:
    """
    The name that a model's maker gives it, in lower case.

    `openrouter/anthropic/claude-opus-4.7:beta`, `us.anthropic.claude-opus-4-7-v1:0` and
    `claude-opus-4-7@20260416` are all `claude-opus-4-7`, the last with its date.
    """
    name = model.strip().lower()
    if name.startswith("ft:"):
        # OpenAI's fine-tuned models: `ft:gpt-4o-2024-08-06:my-org::id`.
        name = name.split(":")[1]
    name = name.removesuffix(_LONG).rstrip("/").rsplit("/", 1)[-1]
    if bedrock := _BEDROCK.match(name):
        name = _BEDROCK_EDITION.sub("", name[bedrock.end() :])
    # Routers and local servers put an edition after a colon: `:free`, `:70b`, `:latest`.
    name = name.split(":", 1)[0].replace("@", "-")
    if name.startswith("claude"):
        name = _CLAUDE_VERSION.sub("-", name)
    return name


def asks_for_long_window(model: str) -> bool:
    """Whether the name itself asks for a window of a million tokens, as Claude Code writes it: `...[1m]`."""
    return model.strip().lower().endswith(_LONG)


def is_edition(name: str, of: str) -> bool:
    """
    Whether a name is the model `of` itself or an edition of it: a date, a size, a variant.

    `gpt-5-2025-08-07` is an edition of `gpt-5`; `gpt-5.4` is another model.
    """
    return name.startswith(of) and (len(name) == len(of) or name[len(of)] in "-_")
