"""Threads by the ids that clients use, kept open while they are in use."""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from hashlib import blake2b
from threading import Lock

from sash.errors import KeyReused, NotFound
from sash.store import Store, ThreadRow
from sash.thread import Thread, thread_of
from sash.thread.worker import Worker

PLAIN = re.compile(r"[A-Za-z0-9._-][A-Za-z0-9._:@~-]{0,159}")
"""An id that stands in an address as it is; those that the proxy tells of, such as `issue-42@e6018d98~2`, too."""
MOST = 512
KEY_SECONDS = 30 * 86_400.0
"""How long the idempotency key of a thread is known."""


def id_of(row: ThreadRow) -> str:
    """The id of a thread: its name where that can stand in an address, else its number behind a tilde."""
    return row.name if PLAIN.fullmatch(row.name) else f"~{row.id}"


def new_id() -> str:
    """An id that nobody has."""
    return f"thr_{secrets.token_hex(10)}"


def id_for(key: str) -> str:
    """The id that a request has made, or will make: the same for the same key."""
    return f"thr_{_digest(key.encode('utf-8', 'surrogatepass'))}"


def is_repeated(store: Store, tenant: str, key: str, body: bytes) -> bool:
    """Whether a thread was asked for with this key and body before; `KeyReused` where the body was another."""
    place, made = f"made-{_digest(key.encode('utf-8', 'surrogatepass'))}", _digest(body).encode()
    before = store.note(tenant, place)
    if before is None:
        # Two at once: whoever is second hears what the first has asked for.
        before = store.keep_note(tenant, place, made, forget_seconds=KEY_SECONDS)
        if before == made:
            return False
    if before != made:
        raise KeyReused(key)
    return True


def _digest(said: bytes) -> str:
    return blake2b(said, digest_size=10, person=b"sash-made").hexdigest()


class Handles:
    """Handles on threads. Each is made once, so that what it knows need not be read again."""

    def __init__(self, store: Store, worker: Worker | None = None) -> None:
        """`worker` is told when a summary of a thread may be due."""
        self._store, self._worker = store, worker
        self._open: OrderedDict[tuple[str, int], Thread] = OrderedDict()
        self._lock = Lock()

    def row(self, tenant: str, thread_id: str) -> ThreadRow:
        """The thread of that id, or `NotFound`."""
        if thread_id.startswith("~") and thread_id[1:].isdigit() and len(thread_id) < 20:
            return self._store.thread(tenant, int(thread_id[1:]))
        row = self._store.find(tenant, thread_id) if PLAIN.fullmatch(thread_id) else None
        if row is None:
            raise NotFound("thread", thread_id)
        return row

    def thread(self, tenant: str, thread_id: str) -> Thread:
        """A handle on it."""
        return self.of(self.row(tenant, thread_id))

    def of(self, row: ThreadRow) -> Thread:
        """A handle on a thread that was found."""
        place = row.tenant, row.id
        with self._lock:
            known = self._open.get(place)
            if known is not None:
                self._open.move_to_end(place)
                return known
        made = thread_of(self._store, row)
        made.worker = self._worker
        with self._lock:
            made = self._open.setdefault(place, made)
            while len(self._open) > MOST:
                self._open.popitem(last=False)
        return made

    def drop(self, row: ThreadRow) -> None:
        """Forget the handle: the thread is gone, or somebody else has moved it on."""
        with self._lock:
            self._open.pop((row.tenant, row.id), None)
