"""The providers by name."""

from __future__ import annotations

from sash.errors import UnknownProvider
from sash.providers.anthropic import Anthropic
from sash.providers.echo import Echo
from sash.providers.local import Local
from sash.providers.openai import KEY, OpenAI
from sash.providers.patience import Patience
from sash.providers.protocol import Provider

NAMES = ("openai", "anthropic", "local", "echo")


def provider_named(
    name: str,
    *,
    model: str = "",
    base_url: str = "",
    key_variable: str = "",
    patience: Patience | None = None,
) -> Provider:
    """
    The provider of that name.

    `base_url` points to anybody who speaks the same wire; left out, it is `OPENAI_BASE_URL` or
    `ANTHROPIC_BASE_URL` or the maker's own. The key is in the environment variable `key_variable`;
    left out, in the usual one.
    """
    if name in ("openai", "anthropic"):
        if not model:
            raise UnknownProvider(name, "say which model of it, as in `model='...'`")
        if name == "openai":
            return OpenAI(model, base_url=base_url, key_variable=key_variable or KEY, patience=patience)
        return Anthropic(model, base_url=base_url, key_variable=key_variable, patience=patience)
    if base_url or key_variable:
        raise UnknownProvider(name, "only `openai` and `anthropic` take a base URL or a key")
    if name == "local":
        return Local(model)
    if name == "echo":
        return Echo(model or "echo")
    raise UnknownProvider(name, f"there are {', '.join(map(repr, NAMES))}")
