"""
The planner: what leaves the window when it is too full, least loss first.

`plan_slide` is a pure function of the last frame, the turns in the window and the limits.
It climbs down a ladder and stops on the rung that reaches the low mark: shorten old
results, evict whole turns, shorten and digest inside the current turn.
"""

from sash.core.slide.ladder import plan_slide, sizes_shown
from sash.core.slide.plan import Slide
from sash.core.slide.situation import Situation, situation_of

__all__ = ["Situation", "Slide", "plan_slide", "situation_of", "sizes_shown"]
