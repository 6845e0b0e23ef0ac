"""Seed 001's `context.json`, read as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from sash.core.budget import Allotment, Budget, share_of, whole_number
from sash.core.policy import Policy
from sash.core.pressure import Marks
from sash.errors import InvalidPolicy

FIELDS = ("totalTokens", "allocations", "compressionThreshold", "showPressureAbove", "useLLMSummarization")

SOURCE_OF = {
    "systemPrompt": "system",
    "skills": "skills",
    "knowledgeBase": "knowledge",
    "crossIssue": "cross_thread",
    "sessionSummary": "summary",
    "sessionRecent": "history",
    "currentPrompt": "input",
    "reservedForResponse": "reserve",
}
"""The seed's names of the sources, and ours."""

PERCENTAGES: dict[str, object] = {
    "systemPrompt": 5,
    "skills": 3,
    "knowledgeBase": 3,
    "crossIssue": 2,
    "sessionSummary": 10,
    "sessionRecent": 30,
    "currentPrompt": 2,
    "reservedForResponse": 45,
}
"""In force where the file says nothing about `allocations`."""


class ContextSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a `context.json` says, in our words."""

    policy: Policy
    """Its budget is the file's allocations."""
    pressure: Marks
    summarize: bool
    """A model writes the summaries."""

    @property
    def budget(self) -> Budget:
        """What each source may have."""
        assert self.policy.budget is not None
        return self.policy.budget


def read_context_json(text: bytes) -> ContextSettings:
    """
    The policy, the budget and the pressure settings of a `context.json`.

    Under this policy history slides above `sessionRecent + sessionSummary` and goes down
    to `sessionRecent`, or earlier where `compressionThreshold` says so, which is our
    `trigger_share`. What the file leaves out is the seed's default; what it says and sash
    does not know is refused by name, for it would be silently without effect.
    """
    try:
        said = msgspec.json.decode(text.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidPolicy("context.json", text[:40].decode("utf-8", "replace"), f"JSON ({error})") from None
    if not isinstance(said, dict):
        raise InvalidPolicy("context.json", said, "a JSON object")
    for name in said:
        if name not in FIELDS:
            raise InvalidPolicy(name, said[name], f"no value: the fields are {', '.join(FIELDS)}")
    window = whole_number("totalTokens", said.get("totalTokens", 200_000), least=10)
    percentages = _percentages(said.get("allocations", PERCENTAGES))
    trigger = share_of("compressionThreshold", said.get("compressionThreshold", 0.6))
    show = share_of("showPressureAbove", said.get("showPressureAbove", 0.3), zero=True)
    summarize = said.get("useLLMSummarization", False)
    if not isinstance(summarize, bool):
        raise InvalidPolicy("useLLMSummarization", summarize, "true or false")
    budget = Budget(**{SOURCE_OF[name]: Allotment(share=percent / 100) for name, percent in percentages.items()})
    return ContextSettings(
        policy=_policy(window, budget, trigger),
        pressure=Marks(show=show),
        summarize=summarize,
    )


def _policy(window: int, budget: Budget, trigger: float) -> Policy:
    own = budget.allot(window)
    recent, summary = own["history"], own["summary"]
    if not recent:
        raise InvalidPolicy("allocations.sessionRecent", recent, "a share of the window that holds at least a token")
    return msgspec.structs.replace(
        Policy.priority(window),
        budget=budget,
        reserve_tokens=own["reserve"],
        history_tokens=recent + summary,
        keep_share=recent / (recent + summary),
        summary_tokens=summary,
        trigger_share=trigger,
    )


def _percentages(allocations: object) -> dict[str, float]:
    if not isinstance(allocations, Mapping):
        raise InvalidPolicy("allocations", allocations, "an object of percentages")
    for name, percent in allocations.items():
        field = f"allocations.{name}"
        if name not in SOURCE_OF:
            raise InvalidPolicy(field, percent, f"no value: the sources are {', '.join(SOURCE_OF)}")
        if isinstance(percent, bool) or not isinstance(percent, (int, float)) or not 0 <= percent <= 100:
            raise InvalidPolicy(field, percent, "a percentage from 0 to 100")
    whole = math.fsum(allocations.values())
    if abs(whole - 100) > 1e-6:
        raise InvalidPolicy("allocations", whole, "percentages that add up to 100")
    return dict(allocations)
