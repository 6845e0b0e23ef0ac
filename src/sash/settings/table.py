"""The table of settings: name, kind, default and what it is for. A new setting is one row."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from sash.core.policy import Policy
from sash.core.policy_fields import Check, Order, Replacement
from sash.errors import InvalidSetting
from sash.meant import meant

Kind = Literal["text", "number", "port", "decimal", "share", "switch", "choice", "names", "table"]
Group = Literal["general", "pressure", "window", "server"]

PRESETS = ("best", "sliding", "priority", "threshold", "recent", "chat")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be set."""

    name: str
    kind: Kind
    help: str
    default: object = None
    """None: nothing is set; `meaning` says what holds then."""
    meaning: str = ""
    choices: tuple[str, ...] = ()
    group: Group = "general"
    secret: bool = False
    """May hold a password: shown without it, and a file that holds it should be nobody else's to read."""

    @property
    def variable(self) -> str:
        """The environment variable: `SASH_` and the name in capitals."""
        return f"SASH_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The option of a command, where it takes this setting."""
        return f"--{self.name.replace('_', '-')}"


def _general() -> tuple[Setting, ...]:
    return (
        Setting(
            name="model", kind="text", default="", help="The model that reads it.", meaning="what the session says"
        ),
        Setting(
            name="store",
            kind="text",
            default="",
            meaning="sash.db in the user's data folder",
            help="Where threads are kept: sqlite:///FILE, postgresql://HOST/NAME, memory:",
            secret=True,
        ),
        Setting(name="tenant", kind="text", default="", help="Whose threads they are."),
        Setting(
            name="policy",
            kind="choice",
            default="best",
            choices=PRESETS,
            help="How the window slides: a preset's name; `sash serve` takes chat where none is set.",
        ),
    )


def _pressure() -> tuple[Setting, ...]:
    rows = (
        ("show_above", 0.3, "From this share of the window on pressure is shown."),
        ("notice_above", 0.6, "Above it there is a notice."),
        ("warn_above", 0.8, "Above it there is a warning."),
    )
    return tuple(
        Setting(name=name, kind="share", default=share, help=words, group="pressure") for name, share, words in rows
    )


_HELP: dict[str, tuple[Kind, str]] = {
    "window": ("number", "Tokens the model takes; left out: what is known of the model."),
    "default_window": ("number", "The window of a model that nobody knows; shown as a default."),
    "models": ("table", "Windows of single models, over what is built in: a window, or window, max_output, max_input."),
    "reserve_tokens": ("number", "Left free for the answer; else its largest, at most a tenth of the window."),
    "fixed_tokens": ("number", "Allowance for system prompt and tools."),
    "history_tokens": ("number", "The most that history may take; 0: only the window limits it."),
    "trigger_share": ("share", "Of the window less its reserve: above it the window slides."),
    "keep_share": ("share", "The low mark, as a share of the high one: a slide goes down to it."),
    "soft_share": ("share", "Of the high mark: above it the window slides when the cache is cold anyway."),
    "cache_seconds": ("decimal", "How long the provider keeps a cached prefix."),
    "adaptive": ("switch", "Compute the low mark from prices and growth."),
    "prices": ("table", "What the provider asks for a token: read, write, fresh, smallest."),
    "min_turns": ("number", "Newest turns that leave last."),
    "min_messages": ("number", "Turns that hold one of this many newest messages leave last too."),
    "recent_turns": ("number", "At most this many turns before the current one; 0: any number."),
    "keep_first": ("switch", "The first turn stays as long as anything does."),
    "order": ("choice", "Which turns leave first."),
    "check": ("choice", "When a slide is considered: before each request, or when a turn closes."),
    "replace": ("choice", "What stands for the turns that left."),
    "counter": ("text", "A counter by name; left out: the model's."),
    "shorten_over_tokens": ("number", "Results larger than this may be shortened."),
    "protect_results_tokens": ("number", "The newest results, up to this much, stay whole."),
    "worth_tokens": ("number", "The least that shortening must free."),
    "record_over_tokens": ("number", "A single result larger than this is shortened when it enters."),
    "summary_tokens": (
        "number",
        "The most that what stands for turns that left may take; step_digest_tokens comes on top.",
    ),
    "summary_min_turns": ("number", "A model is asked for a summary only of more turns than this."),
    "facts_tokens": ("number", "The most that facts may take."),
    "pin_tokens": ("number", "The most that pinned turns may take."),
    "carry_tokens": ("number", "Turns kept for their priority, up to this much."),
    "recall_tokens": ("number", "Evicted turns shown again beside the input, up to this much."),
    "step_digest_tokens": (
        "number",
        "The most that the digest of a turn's oldest steps may take, beside summary_tokens.",
    ),
    "body_bytes": ("number", "The most bytes of a request."),
    "max_chars": ("number", "The most characters of a flat prompt."),
    "flat": ("switch", "A server sends the thread as one prompt of text: no system prompt, no tools."),
    "alternate": ("switch", "Merge consecutive messages of one role, for strict chat templates."),
    "breakpoints": ("switch", "Place Anthropic's cache breakpoints where they pay."),
    "budget": ("table", "What each source may have: a table of share or tokens, floor, ceiling."),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "order": get_args(Order),
    "check": get_args(Check),
    "replace": get_args(Replacement),
}


def _window() -> tuple[Setting, ...]:
    """Every field of a policy, in its order."""
    rows = []
    for name in Policy.__struct_fields__:
        kind, words = _HELP.get(name, ("text", ""))
        rows.append(
            Setting(
                name=name,
                kind=kind,
                help=words,
                meaning="the policy's own",
                choices=_CHOICES.get(name, ()),
                group="window",
            )
        )
    return tuple(rows)


PROVIDERS = ("", "openai", "anthropic", "local", "echo")
LEVELS = ("debug", "info", "warning", "error")

_SERVER: tuple[tuple[str, Kind, object, str], ...] = (
    ("host", "text", "127.0.0.1", "The address that the server listens on."),
    ("port", "port", 7274, "Its port; 0 takes a free one."),
    ("provider", "choice", "", "Who answers turns; left out: whoever has a key here, else local, else echo."),
    ("base_url", "text", "", "The provider's address, where it is not the maker's own."),
    ("summarizer", "text", "", "Who writes summaries of turns that left, as PROVIDER:MODEL; left out: nobody."),
    ("summary_tokens_per_hour", "number", 1_000_000, "What summaries of one thread may use, read and written."),
    ("context_recent_turns", "number", 10, "Under the policy `recent`: turns that are injected."),
    ("context_max_chars", "number", 20_000, "Under the policy `recent`: characters of a prompt."),
    ("compact_max_chars", "number", 4_000, "Characters of a summary that compact writes."),
    ("require_key", "switch", False, "Let in only who shows a key; see `sash key`."),
    ("allowed_hosts", "names", (), "Names, beside this machine's, by which clients may call the server."),
    ("allowed_origins", "names", (), "Origins of web pages that may call it."),
    ("max_body_bytes", "number", 32_000_000, "Of a request, also after decompression."),
    ("max_running_turns", "number", 400, "Turns at once in one process."),
    ("max_turns_per_tenant", "number", 200, "Turns at once of one tenant in one process."),
    ("wait_seconds", "decimal", 0.0, "How long a turn waits for the one before it; then it is a conflict."),
    ("idle_seconds", "decimal", 600.0, "A provider that says nothing for so long is given up."),
    ("drain_seconds", "decimal", 20.0, "What running turns get to end after the server was told to stop."),
    ("workers", "number", 1, "Processes that serve."),
    (
        "upstream_openai",
        "text",
        "https://api.openai.com/v1",
        "Where the proxy sends what came for OpenAI: an address, or echo or local.",
    ),
    (
        "upstream_anthropic",
        "text",
        "https://api.anthropic.com",
        "Where the proxy sends what came for Anthropic: likewise.",
    ),
    ("upstream_models", "table", None, 'Addresses by model: a table of patterns, as in {"qwen*" = "http://..."}.'),
    ("upstream_retries", "number", 2, "How often the proxy sends a request again before its first byte came back."),
    ("keepalive_seconds", "decimal", 15.0, "After so long a client that waits for a stream is sent a comment."),
    ("bypass", "switch", False, "Let the proxy pass everything on untouched."),
    ("expand", "switch", False, "Offer models a tool that reads shortened results back; the proxy answers it."),
    ("keep", "switch", False, "Store conversations that pass through the proxy and name themselves, as threads."),
    ("log_level", "choice", "info", "What the server logs."),
)


def _server() -> tuple[Setting, ...]:
    choices = {"provider": PROVIDERS, "log_level": LEVELS}
    return tuple(
        Setting(name=name, kind=kind, default=default, help=words, choices=choices.get(name, ()), group="server")
        for name, kind, default, words in _SERVER
    )


SETTINGS: tuple[Setting, ...] = (*_general(), *_pressure(), *_window(), *_server())
"""In the order in which `sash config` lists them."""

_BY_NAME = {setting.name: setting for setting in SETTINGS}


def setting_named(name: str, *, where: str = "") -> Setting:
    """The setting of that name, however its words are joined."""
    setting = _BY_NAME.get(name.replace("-", "_"))
    if setting is None:
        near = meant(name.replace("-", "_"), _BY_NAME)
        remedy = f"did you mean {near!r}?" if near else "`sash config` lists what can be set"
        raise InvalidSetting(name, where=where, problem=f"is no setting; {remedy}")
    return setting
