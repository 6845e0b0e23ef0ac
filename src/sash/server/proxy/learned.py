"""What a caller's requests to a model have taught: how the provider counts, and how much it takes."""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import Protocol

import msgspec

from sash.core.calibration import FACTOR_STEP, RATIO_BOUNDS, Factor, Report, learn
from sash.core.policy import Policy
from sash.errors import StoreError
from sash.providers import Overflow

_log = logging.getLogger("sash")

MOST = 10_000
"""Pairs of caller and model that are remembered at once."""
SMALLER = 0.8
"""Of what was too large, where the provider does not say how much it takes."""


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one model, from one caller's requests."""

    factor: Factor = Factor()
    window: int | None = None
    """What the provider said that the model takes, where it is less than we thought."""

    def policy(self, policy: Policy) -> Policy:
        """The policy within the window that was learned; stated sizes give way to it."""
        if self.window is None or (policy.window is not None and policy.window <= self.window):
            return policy
        sizes = {
            name: min(value, self.window)
            for name in policy.__struct_fields__
            if name.endswith("_tokens") and isinstance(value := getattr(policy, name), int)
        }
        return msgspec.structs.replace(policy, window=self.window, budget=None, **sizes)


NOTHING = Lesson()
# Made here: threads that learn a type at the same time crash.
_lesson = msgspec.json.Decoder(Lesson)


class Shelf(Protocol):
    """Where lessons are kept between two starts."""

    def lesson(self, tenant: str, name: str) -> bytes | None: ...
    def put_lesson(self, tenant: str, name: str, body: bytes) -> None: ...


Caller = tuple[str, str]
"""A tenant, and a digest of the credentials that were shown."""


def _name(caller: Caller, model: str) -> str:
    """What a lesson is kept under: nothing that anybody said."""
    return blake2b(f"{caller[1]} {model}".encode("utf-8", "replace"), digest_size=16).hexdigest()


class Learned:
    """
    Lessons by caller and model. What one caller's provider says moves nobody else's requests.

    Looking up and learning never wait; `fetch` and `keep` go to the shelf, and are called where waiting harms nobody.
    """

    def __init__(self, shelf: Shelf | None = None) -> None:
        self._shelf = shelf
        self._known: OrderedDict[tuple[Caller, str], Lesson] = OrderedDict()
        self._lock = Lock()

    def known(self, caller: Caller, model: str) -> Lesson | None:
        """What is known of a model for this caller; None where the shelf has to be asked first."""
        with self._lock:
            lesson = self._known.get((caller, model))
            if lesson is not None:
                self._known.move_to_end((caller, model))
            elif self._shelf is None:
                lesson = NOTHING
            return lesson

    def fetch(self, caller: Caller, model: str) -> Lesson:
        """The same, after a look at the shelf."""
        lesson = NOTHING
        try:
            kept = self._shelf.lesson(caller[0], _name(caller, model)) if self._shelf is not None else None
            lesson = _lesson.decode(kept) if kept is not None else NOTHING
        except (StoreError, msgspec.DecodeError) as error:
            # What was learned makes requests better, but they go without it too.
            _log.error("what was learned could not be read: %s", type(error).__name__)
        self._remember(caller, model, lesson)
        return lesson

    def keep(self, caller: Caller, model: str) -> None:
        """Put what is known on the shelf."""
        lesson = self.known(caller, model)
        if self._shelf is None or lesson is None:
            return
        try:
            self._shelf.put_lesson(caller[0], _name(caller, model), msgspec.json.encode(lesson))
        except StoreError as error:
            _log.error("what was learned could not be kept: %s", type(error).__name__)

    def usage(self, caller: Caller, model: str, report: Report) -> bool:
        """
        A provider has told the size of a request that it took; whether that is to be kept.

        Only a step is: what lies between two of them moves no boundary.
        """
        before = self.known(caller, model) or NOTHING
        after = msgspec.structs.replace(before, factor=learn(before.factor, report))
        self._remember(caller, model, after)
        return after.factor.value != before.factor.value

    def overflow(self, caller: Caller, model: str, told: Overflow, *, estimate: int, window: int) -> Lesson:
        """
        A provider found a request too large; what to go by from now on.

        `estimate` is what we took it for, uncorrected, and `window` what we thought the model takes.
        """
        before = self.known(caller, model) or NOTHING
        factor, limit = before.factor, before.window
        if told.limit is not None and told.limit < window:
            limit = told.limit
        if told.tokens is not None and estimate > 0:
            # Rounded up, and at once: this request was refused, and a second refusal would be final.
            steps = math.ceil(round(told.tokens / estimate / FACTOR_STEP, 6))
            value = min(RATIO_BOUNDS[1], max(factor.value, round(steps * FACTOR_STEP, 1)))
            # As if all reports had said so: the next ones may not take the step back at once.
            factor = Factor(value=value, reported=value * estimate, estimated=estimate)
        if factor.value == before.factor.value and limit == before.window:
            limit = max(1, int(SMALLER * min(window, math.ceil(estimate * factor.value))))
        after = Lesson(factor=factor, window=limit)
        self._remember(caller, model, after)
        return after

    def _remember(self, caller: Caller, model: str, lesson: Lesson) -> None:
        with self._lock:
            self._known[(caller, model)] = lesson
            self._known.move_to_end((caller, model))
            while len(self._known) > MOST:
                self._known.popitem(last=False)
