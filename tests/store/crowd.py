"""`python crowd.py URL PROCESSES APPENDS`: as many processes open one store at once and append to one thread."""

from __future__ import annotations

import os
import sys
import time
import traceback
from importlib import import_module

from sash.core.event import Event
from sash.errors import ThreadExists
from sash.store import Entry, open_store


def one_of_many(url: str, number: int, appends: int, start: float) -> None:
    """Open, find or make the thread, append, all at the same moment as the others."""
    time.sleep(max(0.0, start - time.monotonic()))
    store = open_store(url)
    try:
        thread = store.create("crowd", "shared", b"").id
    except ThreadExists:
        found = store.find("crowd", "shared")
        assert found is not None
        thread = found.id
    for n in range(appends):
        body = f"{number}.{n}".encode()
        store.append("crowd", thread, Entry(events=(Event(kind="message", body=body, text=f"said {number} {n}"),)))
    store.close()


def main(url: str, processes: int, appends: int) -> int:
    """How many of them failed."""
    # Once, and not in each of them: it is the store that is to be fought over, not the processor.
    import_module(f"sash.store.{'sqlite' if url.startswith('sqlite') else 'postgres'}")
    start = time.monotonic() + 0.2
    children = []
    for number in range(processes):
        child = os.fork()
        if not child:
            code = 1
            try:
                one_of_many(url, number, appends, start)
                code = 0
            except BaseException:  # noqa: BLE001 - whatever it is, the parent has to hear of it
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
