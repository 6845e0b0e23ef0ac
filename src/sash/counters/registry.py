"""From the name of a model to what counts for it, and why that."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from sash.core.policy import DEFAULT_WINDOW, Policy
from sash.core.tokens import COUNTERS, Counter
from sash.counters.estimate import Framing, family
from sash.counters.exact import exact
from sash.counters.hf import hf
from sash.counters.messages import ModelCounter, Rules
from sash.counters.models import Limits, Model, Reading, describe, stated
from sash.counters.seeds import TEN_A_MESSAGE, WORDS_ONLY, Bytes4, Chars4, Gitclaw
from sash.counters.texts import Estimate, TextCounter
from sash.errors import MissingExtra, UnknownCounter


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What counts for a model."""

    counter: Counter
    model: Model
    why: str
    """One sentence: why this counter, and how to get a better one where there is one."""

    @property
    def exact(self) -> bool:
        """Whether plain text gets an exact count."""
        return self.counter.exact


def counter_for(
    model: str = "",
    *,
    counter: str = "",
    overrides: Mapping[str, Limits] | None = None,
    default_window: int = DEFAULT_WINDOW,
) -> Choice:
    """
    What counts for a model; `counter` asks for one by its name instead.

    Without a name this never fails: a model that nobody knows is estimated, a tokenizer
    that is not installed is stood in for, and the choice says so. What was asked for by
    name is had or is an error.
    """
    known = describe(model, overrides=overrides, default_window=default_window)
    found, why = _named(counter, known) if counter else _best(known.reading, known.read_as, known.canonical)
    return Choice(counter=found, model=known, why=why)


def counter_under(policy: Policy, model: str, *, counter: str | None = None) -> Choice:
    """
    What counts for a model under a policy, with the windows that it states.

    By the counter that the policy asks for; `counter` asks for another, or, empty, for the model's own.
    """
    choice = counter_for(
        model,
        counter=policy.counter if counter is None else counter,
        overrides=stated(policy.models),
        default_window=policy.default_window,
    )
    if policy.window is None:
        return choice
    limits = msgspec.structs.replace(choice.model.limits, window=policy.window)
    stating = choice.model.limits_of or "the policy"
    known = msgspec.structs.replace(choice.model, limits=limits, limits_of=stating)
    return msgspec.structs.replace(choice, model=known)


@lru_cache(maxsize=256)
def _best(reading: Reading, read_as: str, name: str) -> tuple[Counter, str]:
    texts: TextCounter = Estimate(family(reading.family))
    if not read_as:
        why = f"no model {name!r} is known; estimated as {reading.family!r}" if name else "no model was named"
        return _counter(texts, reading), why
    if not reading.vocabulary:
        return _counter(texts, reading), f"the tokenizer of {name!r} is not public; estimated as {reading.family!r}"
    try:
        texts = exact(reading.vocabulary, near=reading.near, beyond=family(reading.family))
    except MissingExtra as missing:
        why = f"estimated as {reading.family!r}: {missing}"
    else:
        why = f"{reading.vocabulary} is the tokenizer of {name!r}"
        if reading.near:
            why = f"the tokenizer of {name!r} is not public; {reading.vocabulary}, of a relative, stands in for it"
    return _counter(texts, reading), why


def _named(counter: str, model: Model) -> tuple[Counter, str]:
    why = f"{counter!r} was asked for by name"
    if counter == "exact":
        if not model.reading.vocabulary:
            raise UnknownCounter(f"exact (of {model.name!r})", known=("exact:VOCABULARY", "estimate", "hf:PATH"))
        counter = f"exact:{model.reading.vocabulary}"
    if counter.startswith("hf:"):
        # Not remembered: the file may change.
        return _counter(hf(counter.removeprefix("hf:")), model.reading), why
    return _made(counter, model.reading), why


@lru_cache(maxsize=256)
def _made(counter: str, reading: Reading) -> Counter:
    kind, _, which = counter.partition(":")
    if kind == "exact" and which:
        if which != reading.vocabulary:
            # Whose words these are nobody knows, so nobody has published what stands around them.
            reading = msgspec.structs.replace(reading, near=False, published=False)
        return _counter(exact(which, near=reading.near, beyond=family(reading.family)), reading)
    if kind == "estimate":
        weights = family(which or reading.family)
        rules = msgspec.structs.replace(_rules(reading), framing=weights.framing)
        return ModelCounter(Estimate(weights), rules)
    if counter in _SEEDS:
        texts, framing = _SEEDS[counter]
        return ModelCounter(texts, Rules(framing=framing, images=reading.images, words_only=True))
    raise UnknownCounter(counter, known=COUNTERS)


_SEEDS: dict[str, tuple[TextCounter, Framing]] = {
    "chars4": (Chars4(), WORDS_ONLY),
    "gitclaw": (Gitclaw(), WORDS_ONLY),
    "bytes4": (Bytes4(), TEN_A_MESSAGE),
}


def _counter(texts: TextCounter, reading: Reading) -> Counter:
    return ModelCounter(texts, _rules(reading))


def _rules(reading: Reading) -> Rules:
    return Rules(
        framing=family(reading.family).framing,
        images=reading.images,
        priming=reading.priming,
        tools_as_json=reading.tools_as_json,
        tools_prompt=reading.tools_prompt,
        published=reading.published,
    )
