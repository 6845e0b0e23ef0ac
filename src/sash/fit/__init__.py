"""The stateless door: a history in, a request that fits out. Nothing is stored."""

from sash.fit.door import fit
from sash.fit.fitted import Fitted, Report

__all__ = ["Fitted", "Report", "fit"]
