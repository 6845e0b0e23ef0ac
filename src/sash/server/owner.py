"""Which process has a turn, so that what a dead one left behind can be told from what a living one does."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path


def own_name() -> str:
    """This process among all that share a store: machine, number, when it was started, and a word of its own."""
    return f"{socket.gethostname()}/{os.getpid()}/{_looked_at(os.getpid())[1]}/{secrets.token_hex(4)}"


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
    state, started = _looked_at(number)
    # A zombie is dead, although nobody has buried it. Numbers are given again: another process may have it by now.
    return state in ("Z", "X") or started != rest[1]


def _looked_at(number: int) -> tuple[str, str]:
    """What a process does, and when it was started."""
    try:
        # The fields behind the program's name, which may hold anything.
        fields = Path(f"/proc/{number}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "-", "-"
