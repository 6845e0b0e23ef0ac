"""What a client has to be told to come here: the variables, and the tools that want it otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec


def client_variables(url: str) -> dict[str, str]:
    """What the SDKs read: OpenAI's has the `/v1` in it, Anthropic's has not."""
    return {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url}


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool is started so that it comes here."""

    arguments: tuple[str, ...] = ()
    """In front of the user's own."""
    variables: Mapping[str, str] = {}


def _claude(url: str, _: Path) -> Launch:
    return Launch(variables={"ANTHROPIC_BASE_URL": url})


def _codex(url: str, _: Path) -> Launch:
    # It reads no variable any more; `-c` sets a value of its config.toml for one run.
    return Launch(arguments=("-c", f"openai_base_url={json.dumps(f'{url}/v1')}"))


def _aider(url: str, _: Path) -> Launch:
    return Launch(variables={"OPENAI_API_BASE": f"{url}/v1", "ANTHROPIC_API_BASE": url, **client_variables(url)})


def _opencode(url: str, _: Path) -> Launch:
    providers = {name: {"options": {"baseURL": f"{url}/v1"}} for name in ("anthropic", "openai")}
    # Merged over its files: what the user has set there stays.
    return Launch(variables={"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": providers})})


def _pi(url: str, folder: Path) -> Launch:
    extension = folder / "sash.ts"
    extension.write_text(
        "export default function (pi) {\n"
        f'  pi.registerProvider("anthropic", {{ baseUrl: {json.dumps(url)} }});\n'
        f'  pi.registerProvider("openai", {{ baseUrl: {json.dumps(f"{url}/v1")} }});\n'
        "}\n",
        encoding="utf-8",
    )
    return Launch(arguments=("--extension", str(extension)))


LAUNCHES: dict[str, Callable[[str, Path], Launch]] = {
    "claude": _claude,
    "codex": _codex,
    "aider": _aider,
    "opencode": _opencode,
    "pi": _pi,
}
"""By the name of the tool; each is given the server's address and a folder that lasts as long as the tool."""
