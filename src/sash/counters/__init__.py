"""What counts the tokens of a text, a message, an image and a tool, for every model."""

from sash.counters.models import Limits, Model, describe, gathered
from sash.counters.registry import Choice, counter_for, counter_under
from sash.counters.scaled import calibrated

__all__ = [
    "Choice",
    "Limits",
    "Model",
    "calibrated",
    "counter_for",
    "counter_under",
    "describe",
    "gathered",
]
