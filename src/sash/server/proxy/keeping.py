"""
Conversations that pass, kept as threads: only those that name themselves, and only where keeping is on.

A client sends all of its history with every request, so what is new is found by comparing, and
nothing is guessed: a history that goes on from a stored one is appended to it; one that diverges from
it (an edit, a rewind) is a fork with a log of its own; one that shares no first message with it (a side
call, a sub-agent under the same session id) is a hidden branch, whose name begins with a dot.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

import msgspec

from sash.core.policy import Policy
from sash.errors import Conflict, SashError
from sash.server.proxy.incoming import Incoming
from sash.server.proxy.links import after_system, bytes_chained, chained
from sash.server.proxy.plan import Sketch
from sash.store import Store
from sash.thread import Thread, open_thread
from sash.wire import json_text, take_apart

_log = logging.getLogger("sash")

HEADERS = ("x-sash-thread", "x-claude-code-session-id", "session-id", "session_id", "thread-id", "x-opencode-session")
"""Where clients name their conversation, in the order in which they are believed."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")
MOST_OPEN = 256
MOST_BRANCHES = 200
"""Of one conversation; what diverges more often than that is not kept any more, and that is said."""


def conversation_of(asked: Incoming, sketch: Sketch) -> str:
    """The name that a request gives its conversation; empty where it gives none: then nothing is kept."""
    for header in HEADERS:
        if named := asked.header(header):
            return _safe(named)
    metadata = sketch.metadata if isinstance(sketch.metadata, dict) else {}
    for value in (sketch.session_id, metadata.get("session_id"), sketch.prompt_cache_key):
        if isinstance(value, str) and value.strip():
            return _safe(value.strip())
    return ""


def _safe(named: str) -> str:
    """The name as every store can hold it: long or odd ones by their digest."""
    if _PLAIN.fullmatch(named):
        return named
    return "id-" + blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request's history is kept now."""

    thread: str
    added: int
    """Messages that were new."""


def named_for(name: str, caller: str) -> str:
    """What the thread of a conversation is called: its own name, and whose it is."""
    return f"{name}@{caller[:8]}"


class _Branch:
    """A stored history: how long it is, and the digest of all of it."""

    def __init__(self, thread: Thread, links: list[bytes]) -> None:
        self.thread, self.links = thread, links
        self.bytes_link = b""
        """A digest of the bytes that it last came as: most histories only grow, and need not be read again."""


class Keeper:
    """Keeps conversations in a store. Synchronous: called in a thread."""

    def __init__(self, store: Store, policy: Policy) -> None:
        self._store, self._policy = store, policy
        self._open: OrderedDict[tuple[str, str], list[_Branch]] = OrderedDict()
        self._busy: dict[tuple[str, str], Lock] = {}
        self._lock = Lock()

    def keep(
        self, tenant: str, base: str, body: bytes, wire: str, model: str = "", *, placed: Callable[[str], None]
    ) -> Kept | None:
        """
        Store what is new in a history, and the model it is for; None where that failed, which the log says.

        `placed` is told its thread as soon as that is known: before anything is stored, which may take a while.
        """
        with self._lock:
            busy = self._busy.setdefault((tenant, base), Lock())
            if len(self._busy) > 4 * MOST_OPEN:
                self._busy = {(tenant, base): busy}
        with busy:
            try:
                return self._kept(tenant, base, body, wire, model, placed)
            except Conflict:
                # Another process keeps it too: look again at what there is.
                self._forget(tenant, base)
                try:
                    return self._kept(tenant, base, body, wire, model, placed)
                except SashError as error:
                    failure: SashError = error
            except SashError as error:
                failure = error
            self._forget(tenant, base)
            _log.error("a conversation could not be kept: %s", type(failure).__name__)
            return None

    def record_usage(self, tenant: str, kept: Kept, usage: dict[str, Any], wire: str) -> None:
        """Tell the thread what its last request took."""
        try:
            with self._lock:
                known = [branch for (of, _), branches in self._open.items() if of == tenant for branch in branches]
            for branch in known:
                if branch.thread.name == kept.thread:
                    branch.thread.record_usage(usage, wire=wire)
                    return
        except SashError as error:
            _log.error("usage could not be kept: %s", type(error).__name__)

    def _kept(self, tenant: str, base: str, body: bytes, wire: str, model: str, placed: Callable[[str], None]) -> Kept:
        given = take_apart(body, wire)
        items = after_system(json_text.items(given.listed))
        branches = self._branches(tenant, base)
        came = bytes_chained(items)
        links = _links(items, came, branches)
        best: _Branch | None = None
        for branch in branches:
            length = len(branch.links)
            if length <= len(links) and (not length or links[length - 1] == branch.links[-1]):
                best = branch if best is None or length > len(best.links) else best
        if best is None:
            best = self._new_branch(tenant, base, branches, links, model)
            branches.append(best)
        placed(best.thread.name)
        new = items[len(best.links) :]
        if model and best.thread.setup.model != model:
            best.thread.configure(model=model)
        if new:
            best.thread.append(json_text.list_of(new), wire=wire)
            best.links = links
        best.bytes_link = came[-1] if came else b""
        return Kept(thread=best.thread.name, added=len(new))

    def _new_branch(
        self, tenant: str, base: str, branches: Sequence[_Branch], links: Sequence[bytes], model: str
    ) -> _Branch:
        """A thread for a history that goes on from none that is stored; hidden where not even its start is known."""
        number = len(branches) + 1
        if number > MOST_BRANCHES:
            raise Conflict(thread=branches[0].thread.id, expected_seq=0, last_seq=0)
        alike = not branches or any(branch.links and branch.links[0] == links[0] for branch in branches)
        name = base if not branches else f"{base}~{number}" if alike else f".{base}~{number}"
        return _Branch(self._opened(tenant, name, model or None), [])

    def _opened(self, tenant: str, name: str, model: str | None = None) -> Thread:
        return open_thread(name, store=self._store, model=model, policy=self._policy, tenant=tenant)

    def _branches(self, tenant: str, base: str) -> list[_Branch]:
        """All histories stored under a name; read once, then remembered."""
        with self._lock:
            known = self._open.get((tenant, base))
            if known is not None:
                self._open.move_to_end((tenant, base))
                return known
        found: list[_Branch] = []
        for number in range(1, MOST_BRANCHES + 1):
            names = [base] if number == 1 else [f"{base}~{number}", f".{base}~{number}"]
            row = next((name for name in names if self._store.find(tenant, name) is not None), None)
            if row is None:
                break
            thread = self._opened(tenant, row)
            said = [event.body for event in thread.events() if event.kind == "message"]
            found.append(_Branch(thread, chained(said)))
        with self._lock:
            self._open[(tenant, base)] = found
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return found

    def _forget(self, tenant: str, base: str) -> None:
        with self._lock:
            self._open.pop((tenant, base), None)


def _links(items: Sequence[bytes], came: Sequence[bytes], branches: Sequence[_Branch]) -> list[bytes]:
    """`chained`, without reading again what came before in these very bytes."""
    for branch in sorted(branches, key=lambda branch: -len(branch.links)):
        length = len(branch.links)
        if branch.bytes_link and length <= len(came) and came[length - 1] == branch.bytes_link:
            return [*branch.links, *chained(items[length:], after=branch.links[-1])]
    return chained(items)
