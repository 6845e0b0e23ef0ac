"""What a window may hold and how it slides: every knob, validated by name, and the presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Unpack, get_args

import msgspec

from sash.core.budget import Budget, budget_from, share_of, whole_number
from sash.core.cost import ANTHROPIC, Prices
from sash.core.model_limits import ModelLimits, limits_stated
from sash.core.policy_fields import Check, Order, PolicyFields, Replacement
from sash.core.stated import Stated
from sash.core.tokens import COUNTERS, names_a_counter
from sash.errors import InvalidPolicy, UnknownCounter

DEFAULT_WINDOW = 128_000
"""Of a model that nobody knows, where nobody has stated another default."""
DEFAULT_HISTORY = 100_000


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=Stated):
    """
    How a thread stays inside its budget. `Policy()` is the best known one.

    Every preset takes changes to its fields by keyword: `Policy.chat(history_tokens=4_000)`.
    A size left at None is the default of docs/reference.md, capped at its share of
    `history_tokens`, so that small windows work. Zero turns a rung or a block off.
    """

    window: int | None = None
    """Tokens the model takes, whichever it is; None: what `models` or the built-in table knows of it."""
    default_window: int = DEFAULT_WINDOW
    """The window of a model that neither knows; shown as a default wherever it is used."""
    models: tuple[ModelLimits, ...] = ()
    """Windows of single models, where the built-in table is wrong or silent."""
    reserve_tokens: int | None = None
    """
    Left free for the answer; None: the model's largest answer, at most a tenth of the window.

    Where a larger answer is asked for that is left free instead, and of a model that reads less than
    its window all that it does not read.
    """
    fixed_tokens: int | None = None
    """Allowance for system prompt and tools; None: 16,000, at most an eighth of the window."""
    history_tokens: int = DEFAULT_HISTORY
    """The most that history may take; 0: only the window limits it."""
    trigger_share: float = 0.8
    """Of the window less its reserve, all sources added up: above it the window slides."""
    keep_share: float = 0.5
    """The low mark, as a share of the high one: a slide goes down to it, so the next one is far."""
    soft_share: float = 0.85
    """Of the high mark: above it the window slides when the provider's cache is cold anyway."""
    cache_seconds: float = 300
    """How long a provider keeps a cached prefix."""
    adaptive: bool = False
    """Compute the low mark from prices and growth instead of `keep_share`."""
    prices: Prices = ANTHROPIC
    """What the provider asks for a token it reads, writes to its cache or finds there."""
    min_turns: int = 2
    """Newest turns, the current one among them, that leave last."""
    min_messages: int = 0
    """Turns that hold one of this many newest messages leave last too (seed 001)."""
    recent_turns: int = 0
    """At most this many turns before the current one; 0: any number (seed 004)."""
    keep_first: bool = False
    """The first turn stays as long as anything does."""
    order: Order = "oldest"
    """Which turns leave first."""
    check: Check = "request"
    """When a slide is considered: before each request, or only when a turn closes (seeds 000 and 003)."""
    replace: Replacement = "digest"
    """What stands for the turns that left."""
    counter: str = ""
    """A counter by name; empty: the model's."""
    shorten_over_tokens: int | None = None
    """Results larger than this may be shortened."""
    protect_results_tokens: int | None = None
    """The newest results, up to this much, are not shortened while their turn is not the problem."""
    worth_tokens: int | None = None
    """The least that shortening must free to be worth a broken cache."""
    record_over_tokens: int | None = None
    """A single result larger than this is shortened when it enters."""
    summary_tokens: int | None = None
    summary_min_turns: int = 5
    """A model is asked for a summary only of more turns than this (seed 001)."""
    facts_tokens: int | None = None
    pin_tokens: int | None = None
    carry_tokens: int = 0
    """Turns kept for their priority, up to this much."""
    recall_tokens: int = 0
    step_digest_tokens: int | None = None
    body_bytes: int = 30_000_000
    max_chars: int = 20_000
    """The most characters of a `flat` prompt."""
    flat: bool = False
    """A server sends the thread as one `flat` prompt: no system prompt, no tools, a summary beside recent turns."""
    alternate: bool = False
    """Merge consecutive messages of one role, for strict chat templates."""
    breakpoints: bool = False
    """Place Anthropic's cache breakpoints where they pay."""

    budget: Budget | None = None
    """What each source may have; None: the best known one, made from the sizes above, which go before it anyway."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            _check(name, getattr(self, name))
        if self.window is not None:
            self._check_against(self.window)

    def _check_against(self, window: int) -> None:
        """Sizes that were stated beside a window must be sizes of that window."""
        for name in _PARTS_OF_THE_WINDOW:
            size = getattr(self, name)
            if size is None or size <= window or (name == "history_tokens" and size == DEFAULT_HISTORY):
                continue
            raise InvalidPolicy(name, size, f"at most the window of {window:,}")
        if self.budget is not None:
            self.budget.check(window)

    @classmethod
    def sliding(cls, history_tokens: int = 100_000, /, **changes: Unpack[PolicyFields]) -> Policy:
        """Seeds 000 and 003: whole turns, oldest first, just under the cap, looked at when a turn closes."""
        own: PolicyFields = {
            "history_tokens": history_tokens,
            # The cap is for history alone; what else there is counts as what it takes.
            "fixed_tokens": 0,
            "trigger_share": 1.0,
            "keep_share": 1.0,
            "soft_share": 1.0,
            "min_turns": 1,
            "check": "turn",
            "replace": "nothing",
            "counter": "chars4",
        }
        return policy_from({**_NO_LADDER, **own, **changes})

    @classmethod
    def priority(cls, window: int = 200_000, /, **changes: Unpack[PolicyFields]) -> Policy:
        """Seed 001: what matters least leaves first; its allocation of the window, its summary, its numbers."""
        window = whole_number("window", changes.get("window", window), least=10)
        recent, summary = window * 30 // 100, window * 10 // 100
        own: PolicyFields = {
            "window": window,
            "budget": Budget.priority(),
            "reserve_tokens": window * 45 // 100,
            "history_tokens": recent + summary,
            "trigger_share": 1.0,
            "keep_share": recent / (recent + summary),
            "soft_share": 1.0,
            "min_turns": 1,
            "min_messages": 5,
            "order": "priority",
            "replace": "first-sentences",
            "counter": "gitclaw",
            "summary_tokens": summary,
            "shorten_over_tokens": 2_000,
            "protect_results_tokens": 0,
            "worth_tokens": 0,
        }
        return policy_from({**own, **changes})

    @classmethod
    def threshold(cls, window: int = 128_000, /, **changes: Unpack[PolicyFields]) -> Policy:
        """Seed 002: from 80 % of the window on, the oldest turns leave; the last three and the current one stay."""
        own: PolicyFields = {
            "window": window,
            "reserve_tokens": 0,
            # The seed adds up what is there: no allowance beyond it.
            "fixed_tokens": 0,
            "history_tokens": 0,
            "keep_share": 1.0,
            "soft_share": 1.0,
            "min_turns": 4,
            "replace": "marker",
            "counter": "bytes4",
        }
        return policy_from({**_NO_LADDER, **own, **changes})

    @classmethod
    def recent(cls, turns: int = 10, **changes: Unpack[PolicyFields]) -> Policy:
        """Seed 004: the last ten turns in one prompt of at most 20,000 characters (`max_chars`)."""
        own: PolicyFields = {
            "history_tokens": 0,
            "keep_share": 1.0,
            "soft_share": 1.0,
            "min_turns": 1,
            "recent_turns": turns,
            "max_chars": 20_000,
            "flat": True,
            "replace": "nothing",
        }
        return policy_from({**_NO_LADDER, **own, **changes})

    @classmethod
    def chat(cls, **changes: Unpack[PolicyFields]) -> Policy:
        """The best known for people talking: evicted turns that bear on the input are recalled."""
        return policy_from({"recall_tokens": 2_000, **changes})


_NO_LADDER: PolicyFields = {
    "shorten_over_tokens": 0,
    "record_over_tokens": 0,
    "step_digest_tokens": 0,
    "worth_tokens": 0,
}
"""These seeds know whole turns only, and slide whenever they are over."""


def policy_from(table: Mapping[str, object], base: Policy | None = None) -> Policy:
    """
    A policy from settings: a table of its fields, `budget` a table of sources, `prices` one of prices, `models` one of
    windows by model.

    With a `base`, that policy with these fields in place of its own.
    """
    own = () if base is None else Policy.__struct_fields__
    fields: dict[str, object] = {name: getattr(base, name) for name in own} | dict(table)
    if isinstance(budget := fields.get("budget"), Mapping):
        fields["budget"] = budget_from(budget)
    if isinstance(prices := fields.get("prices"), Mapping):
        try:
            fields["prices"] = msgspec.convert(dict(prices), Prices)
        except msgspec.ValidationError as error:
            raise InvalidPolicy("prices", prices, f"a table of prices ({error})") from None
    if isinstance(models := fields.get("models"), Mapping):
        fields["models"] = tuple(limits_stated(name, stated) for name, stated in models.items())
    return Policy(**fields)  # type: ignore[arg-type]  # every value is looked at when the policy is made


_OPTIONAL = frozenset(name for name, kind in Policy.__annotations__.items() if "None" in kind)
_CHOICES = {"order": get_args(Order), "check": get_args(Check), "replace": get_args(Replacement)}
_SWITCHES = frozenset(name for name, kind in Policy.__annotations__.items() if kind == "bool")
_PARTS_OF_THE_WINDOW = (
    "reserve_tokens",
    "fixed_tokens",
    "history_tokens",
    "summary_tokens",
    "facts_tokens",
    "pin_tokens",
    "carry_tokens",
    "recall_tokens",
    "step_digest_tokens",
)
_LEAST = {"window": 1, "default_window": 1, "min_turns": 1, "body_bytes": 1, "max_chars": 1}
_MOST_BYTES = 10**12


def _check(name: str, value: object) -> None:
    """Refuses a value that its field cannot have."""
    if value is None and name in _OPTIONAL:
        return
    if name == "budget":
        if not isinstance(value, Budget):
            raise InvalidPolicy(name, value, "a Budget")
    elif name == "prices":
        if not isinstance(value, Prices):
            raise InvalidPolicy(name, value, "Prices")
    elif name == "models":
        if not isinstance(value, tuple) or not all(isinstance(model, ModelLimits) for model in value):
            raise InvalidPolicy(name, value, "a tuple of ModelLimits")
    elif name == "counter":
        if not isinstance(value, str):
            raise InvalidPolicy(name, value, "the name of a counter")
        if value and not names_a_counter(value):
            raise UnknownCounter(value, known=COUNTERS)
    elif name in _SWITCHES:
        if not isinstance(value, bool):
            raise InvalidPolicy(name, value, "true or false")
    elif name in _CHOICES:
        if value not in _CHOICES[name]:
            raise InvalidPolicy(name, value, f"one of {', '.join(map(repr, _CHOICES[name]))}")
    elif name.endswith("_share"):
        share_of(name, value)
    elif name == "cache_seconds":
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise InvalidPolicy(name, value, "a number of seconds, at least 0")
    elif name == "body_bytes":
        whole_number(name, value, least=1, most=_MOST_BYTES)
    else:
        whole_number(name, value, least=_LEAST.get(name, 0))
