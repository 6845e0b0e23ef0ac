"""
Estimates corrected by what the provider reported.

The next request is the last one, whose size the provider told, plus what was said since:
only that is estimated, and times a ratio learned from the growths seen so far. After a
slide the last report no longer describes the window, and the ratio alone is left.

Everything here is a value in and a value out. In a thread reports are events of the log, so
a report moves only what comes after it, and replaying the log gives the same counts.
"""

from __future__ import annotations

import math

import msgspec

RATIO_BOUNDS = (0.6, 1.8)
"""No tokenizer is further from the estimator than this: a ratio beyond it has some other cause."""
RATIO_STEP = 0.15
"""How far one report may move the ratio."""
PRIOR_TOKENS = 3_000
"""So many tokens are taken to agree with the estimate before anything is reported."""
STRAY_TOKENS, STRAY_SHARE = 1_000, 1.0
"""A growth off its estimate by so much, and by this share of it, holds what the log does not: it teaches nothing."""
ABSURD_TIMES, ABSURD_TOKENS = 4, 50_000
"""A report this many times off the estimate of the whole request, and by so many tokens, is not believed at all."""
FACTOR_STEP, FACTOR_MEMORY = 0.1, 2_000_000


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The size of one request as its provider counted it, beside our estimate of the same request."""

    context: int | None
    """Tokens the provider read, cached ones among them; what it wrote is no part of it. None when it did not say."""
    messages: int
    """Our estimate of the messages."""
    fixed: int = 0
    """Our estimate of system prompt and tools."""
    model: str = ""
    frame: int = 0
    """Number of the frame that the request was built under."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What a thread has learned from reports, for one model and since its last slide."""

    model: str = ""
    frame: int = 0
    ratio: float = 1.0
    """Reported tokens for each estimated one."""
    reported: int = 0
    estimated: int = 0
    """Sums of the growths that the ratio was learned from."""
    last: Report | None = None
    """The newest report that is believed; None while there is none in this frame."""

    @property
    def beyond(self) -> float:
        """
        Tokens of the last request that the ratio does not account for; 0 where there is none in this frame.

        An error in the estimate of the fixed part is among them: it cancels out as soon as that part is added again.
        """
        if self.last is None or self.last.context is None:
            return 0.0
        return self.last.context - self.last.fixed - self.ratio * self.last.messages

    def messages(self, estimate: int) -> int:
        """How many tokens messages with this estimate take."""
        return corrected(estimate, self.ratio, self.beyond)


def corrected(estimate: int, ratio: float, beyond: float) -> int:
    """
    So many estimated tokens as the provider would count them.

    Rounded up: an undercount overflows the model, an overcount only slides a little early.
    """
    return max(0, math.ceil(round(ratio * estimate + beyond, 6)))


def observe(calibration: Calibration, report: Report) -> Calibration:
    """
    What is known after a report.

    A report from before the last slide and one that cannot be true change nothing. Another
    model starts anew: its tokenizer is another one.
    """
    if report.model != calibration.model:
        calibration = Calibration(model=report.model, frame=max(calibration.frame, report.frame))
    if report.frame < calibration.frame or not believable(report):
        return calibration
    if report.frame > calibration.frame:
        calibration = slid(calibration, frame=report.frame)
    return msgspec.structs.replace(_learned(calibration, report), last=report)


def refused(calibration: Calibration, report: Report) -> Calibration:
    """
    What is known after a provider refused a request as too long: counts rise to its own at once.

    Unlike what is reported of a request that was answered, this cannot wait for another one.
    """
    if report.model != calibration.model:
        calibration = Calibration(model=report.model, frame=max(calibration.frame, report.frame))
    if report.messages <= 0 or not believable(report) or report.context is None:
        return calibration
    counted = max(0, report.context - report.fixed)
    ratio = _between(counted / report.messages, calibration.ratio, RATIO_BOUNDS[1])
    if ratio <= calibration.ratio:
        return calibration
    return msgspec.structs.replace(
        calibration,
        ratio=ratio,
        # Later reports move it from here.
        reported=round(ratio * report.messages),
        estimated=report.messages,
        last=None,
    )


def slid(calibration: Calibration, *, frame: int) -> Calibration:
    """What is known after a slide: the ratio, but no longer the size of the window."""
    return msgspec.structs.replace(calibration, frame=frame, last=None)


def believable(report: Report) -> bool:
    """Whether a provider can have read so many tokens for this request."""
    if report.context is None or report.context <= 0:
        return False
    estimate = report.messages + report.fixed
    most, least = estimate * ABSURD_TIMES + ABSURD_TOKENS, (estimate - ABSURD_TOKENS) / ABSURD_TIMES
    return least <= report.context <= most


def _learned(calibration: Calibration, report: Report) -> Calibration:
    last = calibration.last
    if last is None or last.context is None or report.context is None or report.fixed != last.fixed:
        # Only growth of the messages teaches: the first report is mostly system prompt and tools.
        return calibration
    grown, expected = report.context - last.context, report.messages - last.messages
    stray = abs(grown - expected) > max(STRAY_TOKENS, STRAY_SHARE * expected)
    if grown <= 0 or expected <= 0 or stray:
        return calibration
    reported, estimated = calibration.reported + grown, calibration.estimated + expected
    ratio = (PRIOR_TOKENS + reported) / (PRIOR_TOKENS + estimated)
    ratio = _between(ratio, calibration.ratio - RATIO_STEP, calibration.ratio + RATIO_STEP)
    return msgspec.structs.replace(
        calibration, reported=reported, estimated=estimated, ratio=_between(ratio, *RATIO_BOUNDS)
    )


class Factor(msgspec.Struct, frozen=True, kw_only=True):
    """
    What all requests of a tenant to a model have taught, for doors that keep no thread.

    It moves in steps of a tenth, and only once the ratio is well past a step's half: each
    move shifts the boundaries of every conversation, and so breaks their caches once.
    """

    value: float = 1.0
    reported: float = 0
    estimated: float = 0


def learn(factor: Factor, report: Report) -> Factor:
    """The factor after a report; older ones fade as new ones come."""
    if not believable(report) or report.context is None or report.messages <= 0:
        return factor
    reported = factor.reported + max(0, report.context - report.fixed)
    estimated = factor.estimated + report.messages
    fade = min(1.0, FACTOR_MEMORY / estimated)
    ratio = (PRIOR_TOKENS + reported) / (PRIOR_TOKENS + estimated)
    value = factor.value
    if abs(ratio - value) > 0.75 * FACTOR_STEP:
        steps = round(_between(ratio, *RATIO_BOUNDS) / FACTOR_STEP)
        near = round(value / FACTOR_STEP)
        value = round(_between(steps, near - 1, near + 1) * FACTOR_STEP, 1)
    return Factor(value=value, reported=reported * fade, estimated=estimated * fade)


def _between(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
