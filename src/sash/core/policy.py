"""What a window may hold and how it slides: every knob, validated by name, and the presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from sash.core.budget import Allotment, Budget, budget_from, share_of, whole_number
from sash.core.cost import ANTHROPIC, Prices
from sash.errors import InvalidPolicy
from sash.meant import meant

Order = Literal["oldest", "priority"]
Check = Literal["request", "turn"]
Replacement = Literal["digest", "first-sentences", "marker", "nothing"]

DEFAULT_WINDOW = 128_000
"""Of a model that nobody knows, where nobody has stated another default."""
DEFAULT_HISTORY = 100_000


class ModelLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a model takes and gives, stated by somebody who knows better than what is built in."""

    model: str
    """In any spelling; its dated editions are meant too."""
    window: int
    max_output: int | None = None
    max_input: int | None = None
    """The most that a request may take by itself, where that is less than the window."""

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidPolicy("models", self.model, "the name of a model")
        whole_number(f"models.{self.model}.window", self.window, least=1)
        for name in ("max_output", "max_input"):
            size = getattr(self, name)
            if size is not None:
                whole_number(f"models.{self.model}.{name}", size, least=1)
                if size > self.window:
                    raise InvalidPolicy(f"models.{self.model}.{name}", size, f"at most its window of {self.window:,}")


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    How a thread stays inside its budget. `Policy()` is the best known one.

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
    """Left free for the answer; None: the model's largest answer, at most a tenth of the window."""
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
    def sliding(cls, history_tokens: int = 100_000) -> Policy:
        """Seeds 000 and 003: whole turns, oldest first, just under the cap, looked at when a turn closes."""
        return cls(
            history_tokens=history_tokens,
            # The cap is for history alone; what else there is counts as what it takes.
            fixed_tokens=0,
            trigger_share=1.0,
            keep_share=1.0,
            soft_share=1.0,
            min_turns=1,
            check="turn",
            replace="nothing",
            counter="chars4",
            **_NO_LADDER,
        )

    @classmethod
    def priority(cls, window: int = 200_000) -> Policy:
        """Seed 001: what matters least leaves first; its allocation of the window, its summary, its numbers."""
        whole_number("window", window, least=10)
        recent, summary = window * 30 // 100, window * 10 // 100
        return cls(
            window=window,
            budget=Budget.priority(),
            reserve_tokens=window * 45 // 100,
            history_tokens=recent + summary,
            trigger_share=1.0,
            keep_share=recent / (recent + summary),
            soft_share=1.0,
            min_turns=1,
            min_messages=5,
            order="priority",
            replace="first-sentences",
            counter="gitclaw",
            summary_tokens=summary,
            shorten_over_tokens=2_000,
            protect_results_tokens=0,
            worth_tokens=0,
        )

    @classmethod
    def threshold(cls, window: int = 128_000) -> Policy:
        """Seed 002: from 80 % of the window on, the oldest turns leave; the last three and the current one stay."""
        return cls(
            window=window,
            reserve_tokens=0,
            # The seed adds up what is there: no allowance beyond it.
            fixed_tokens=0,
            history_tokens=0,
            keep_share=1.0,
            soft_share=1.0,
            min_turns=4,
            replace="marker",
            counter="bytes4",
            **_NO_LADDER,
        )

    @classmethod
    def recent(cls, turns: int = 10, max_chars: int = 20_000) -> Policy:
        """Seed 004: the last ten turns in one prompt of at most 20,000 characters."""
        return cls(
            history_tokens=0,
            keep_share=1.0,
            soft_share=1.0,
            min_turns=1,
            recent_turns=turns,
            max_chars=max_chars,
            flat=True,
            replace="nothing",
            **_NO_LADDER,
        )

    @classmethod
    def chat(cls) -> Policy:
        """The best known for people talking: evicted turns that bear on the input are recalled."""
        return cls(recall_tokens=2_000)


_NO_LADDER: dict[str, Any] = {
    "shorten_over_tokens": 0,
    "record_over_tokens": 0,
    "step_digest_tokens": 0,
    "worth_tokens": 0,
}
"""These seeds know whole turns only, and slide whenever they are over."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A policy for one model: every size a number."""

    window: int
    window_known: bool
    reserve: int
    fixed: int
    high: int
    """Above it the window slides."""
    low: int
    """A slide goes down to it."""
    soft: int
    shorten_over: int
    protect_results: int
    worth: int
    record_over: int
    summary: int
    facts: int
    pins: int
    step_digest: int

    @property
    def hard(self) -> int:
        """The most that a request may take."""
        return self.window - self.reserve


def limits_of(
    policy: Policy,
    *,
    window: int | None = None,
    max_output: int | None = None,
    fixed: int = 0,
    answer: int = 0,
    told: int = 0,
) -> Limits:
    """
    The policy's sizes for a model with that window.

    `fixed` is the real size of system prompt and tools, `answer` the largest answer that was
    asked for. Boundaries must not move when one tool more is sent or one token more asked
    for, so within the allowance and the reserve neither counts, and above in steps of a tenth.
    What the provider has `told` that the model takes goes before what anybody else said, where it is less.
    """
    known = policy.window or window
    if told:
        known = min(known or told, told)
    size = known or policy.default_window
    own = policy.budget.allot(size) if policy.budget is not None else {}
    reserve = policy.reserve_tokens
    if reserve is None:
        reserve = own.get("reserve") or min(max_output or size // 10, size // 10)
    if told:
        # Stated for a larger window.
        reserve = min(reserve, size // 2)
    if reserve > size:
        raise InvalidPolicy("reserve_tokens", reserve, f"at most the model's window of {size:,}")
    allowance = policy.fixed_tokens
    if allowance is None:
        allowance = own["system"] + own["tools"] if own else min(16_000, size // 8)
    if fixed > allowance:
        allowance = _stepped(fixed)
    triggers = _part(size - reserve, policy.trigger_share)
    if answer > reserve:
        reserve = min(_stepped(answer), size)
    room = max(0, min(triggers, size - reserve) - allowance)
    high = min(policy.history_tokens, room) if policy.history_tokens else room
    if policy.budget is not None:
        high = policy.budget.history.within(high)

    def at_most(given: int | None, default: int, share: float) -> int:
        # At least 1: a tiny window must not turn a rung off, which is what 0 says.
        return given if given is not None else max(1, min(default, _part(high, share)))

    return Limits(
        window=size,
        window_known=known is not None,
        reserve=reserve,
        fixed=allowance,
        high=high,
        low=_part(high, policy.keep_share),
        soft=_part(high, policy.soft_share),
        shorten_over=at_most(policy.shorten_over_tokens, 2_000, 1 / 16),
        protect_results=at_most(policy.protect_results_tokens, 40_000, 0.4),
        worth=at_most(policy.worth_tokens, 20_000, 0.1),
        record_over=at_most(policy.record_over_tokens, 25_000, 0.25),
        summary=at_most(policy.summary_tokens, own.get("summary") or 4_000, 1.0 if own.get("summary") else 0.1),
        facts=at_most(policy.facts_tokens, own.get("facts") or 1_000, 1.0 if own.get("facts") else 0.1),
        pins=at_most(policy.pin_tokens, 10_000, 0.1),
        step_digest=at_most(policy.step_digest_tokens, 4_000, 0.1),
    )


def budget_of(policy: Policy, limits: Limits) -> Budget:
    """
    The budget that a ledger is settled with.

    The policy's own, with the reserve that is in force; else the best known: what the
    limits say, and of the rest, in seed 001's proportions, something for each source
    from outside and for the input.
    """
    reserve = Allotment(tokens=limits.reserve)
    if policy.budget is not None:
        return msgspec.structs.replace(policy.budget, reserve=reserve)
    sizes = {
        "system": limits.fixed - limits.fixed // 2,
        "tools": limits.fixed // 2,
        "facts": limits.facts,
        # What stands for turns and for steps that left is one source.
        "summary": limits.summary + limits.step_digest,
        "recalled": policy.recall_tokens,
        "history": limits.high,
    }
    rest = max(0, limits.hard - sum(sizes.values()))
    for name, percent in _OUTSIDE.items():
        sizes[name] = min(limits.window * percent // 100, rest * percent // sum(_OUTSIDE.values()))
    return Budget(reserve=reserve, **{name: Allotment(tokens=tokens) for name, tokens in sizes.items() if tokens})


_OUTSIDE = {"skills": 3, "knowledge": 3, "cross_thread": 2, "input": 2}
"""Seed 001's percentages of the window."""


def policy_from(table: Mapping[str, object], base: Policy | None = None) -> Policy:
    """
    A policy from settings: a table of its fields, `budget` a table of sources, `prices` one of prices, `models` one of
    windows by model.

    With a `base`, that policy with these fields in place of its own.
    """
    own = () if base is None else Policy.__struct_fields__
    fields: dict[str, object] = {name: getattr(base, name) for name in own} | dict(table)
    for name, value in fields.items():
        if name not in Policy.__struct_fields__:
            near = meant(name, Policy.__struct_fields__)
            remedy = f"; did you mean {near!r}?" if near else f": its fields are {', '.join(Policy.__struct_fields__)}"
            raise InvalidPolicy(name, value, f"no value, for a policy has no such field{remedy}")
    if isinstance(budget := fields.get("budget"), Mapping):
        fields["budget"] = budget_from(budget)
    if isinstance(prices := fields.get("prices"), Mapping):
        try:
            fields["prices"] = msgspec.convert(dict(prices), Prices)
        except msgspec.ValidationError as error:
            raise InvalidPolicy("prices", prices, f"a table of prices ({error})") from None
    if isinstance(models := fields.get("models"), Mapping):
        fields["models"] = tuple(_model_limits(name, stated) for name, stated in models.items())
    return Policy(**fields)  # type: ignore[arg-type]  # every value is looked at when the policy is made


def _model_limits(name: str, stated: object) -> ModelLimits:
    """A window alone, or a table of window, max_output and max_input."""
    table = dict(stated) if isinstance(stated, Mapping) else {"window": stated}
    try:
        return msgspec.convert({**table, "model": name}, ModelLimits)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, InvalidPolicy):
            raise error.__cause__ from None
        raise InvalidPolicy(f"models.{name}", stated, f"a window, or a table of sizes ({error})") from None


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


def _part(tokens: int, share: float) -> int:
    """A share of so many tokens, rounded down; a hair more, because 81 x (61 / 81) must be 61."""
    return math.floor(tokens * share + 1e-6)


def _stepped(tokens: int) -> int:
    """The next of the sizes 1,000, 1,100, 1,210, ... that holds so many."""
    step = 1_000.0
    while step < tokens:
        step *= 1.1
    return math.ceil(step)
