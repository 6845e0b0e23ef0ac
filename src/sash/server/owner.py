"""Which process has a turn, so that what a dead one left behind can be told from what a living one does."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path


def own_name() -> str:
    """This process among all that share a store: machine, number, when it was started, and a word of its own."""
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}/{secrets.token_hex(4)}"


def is_dead(owner: str) -> bool:
    """Whether that process is known to be gone; of another machine's nobody here can tell."""
    host, *rest = owner.split("/")
    if host != socket.gethostname() or len(rest) != 3 or not rest[0].isdigit():
        return False
    number = int(rest[0])
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    # Numbers are given again: another process may have it by now.
    return _started(number) != rest[1]


def _started(number: int) -> str:
    try:
        # The fields behind the program's name, which may hold anything.
        return Path(f"/proc/{number}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"
