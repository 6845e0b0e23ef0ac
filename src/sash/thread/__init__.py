"""A conversation that lasts: the log in a store, the window on it, and the handle users hold."""

from sash.core.facts import Fact
from sash.thread.marks import Mark
from sash.thread.opening import open_thread, thread_of
from sash.thread.opening import open_thread as open  # noqa: A004  (its public name, where it stands beside `sash.fit`)
from sash.thread.saying import Appended, Spoken
from sash.thread.taking import Taken
from sash.thread.thread import Thread
from sash.thread.titles import first_words
from sash.thread.tools import tools
from sash.thread.verification import Verification

__all__ = [
    "Appended",
    "Fact",
    "Mark",
    "Spoken",
    "Taken",
    "Thread",
    "Verification",
    "first_words",
    "open",
    "open_thread",
    "thread_of",
    "tools",
]
