"""What counts the tokens of a text, a message, an image and a tool, for every model."""

from sash.counters.models import DEFAULT_WINDOW, Limits, Model, describe, gathered
from sash.counters.registry import NAMES, Choice, counter_for
from sash.counters.scaled import calibrated

__all__ = [
    "DEFAULT_WINDOW",
    "NAMES",
    "Choice",
    "Limits",
    "Model",
    "calibrated",
    "counter_for",
    "describe",
    "gathered",
]
