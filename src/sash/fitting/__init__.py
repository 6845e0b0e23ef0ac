"""The stateless door: a history in, a request that fits out. Nothing is stored."""

from sash.fitting.door import fit
from sash.fitting.fitted import Fitted
from sash.fitting.replays import KeptSummaries

__all__ = ["Fitted", "KeptSummaries", "fit"]
