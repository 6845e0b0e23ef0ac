"""Threads: made, listed, looked at, changed, forgotten."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from sash.core.policy import Policy, policy_from
from sash.errors import ThreadExists
from sash.server.backend import Backend
from sash.server.body import key_of
from sash.server.fault import Fault
from sash.server.handles import id_for, id_of, is_repeated, new_id
from sash.server.moment import moment
from sash.server.route import Asked, Route, Shape
from sash.server.setup import ServerSetup
from sash.server.shapes import ChangedThread, ListedThread, ListQuery, NewThread, ThreadList, ThreadShape
from sash.server.shapes import Window as AskedWindow
from sash.store import ThreadRow
from sash.thread import open_thread
from sash.version import __version__

_MACHINE_MADE = re.compile(
    r"thr_[0-9a-f]{20}"  # ours
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\w+)?"  # a session file's
    r"|.+@[0-9a-f]{8}(?:~\d+)?",  # of a client of the proxy
    re.IGNORECASE,
)
"""Names that nobody chose: such a thread is called by its first words."""
PRESETS = ("sliding", "priority", "threshold", "recent", "chat")


class About(Shape, frozen=True, kw_only=True):
    """Who answers here."""

    version: str
    provider: str
    model: str
    why: str
    """Why this provider."""
    policy: str
    store: str
    """What kind it is; where it is stays with the server."""
    keys_asked_for: bool


async def about(asked: Asked[None, None]) -> About:
    """What this server is set up for."""
    backend = asked.backend
    chosen = backend.answering.chosen
    return About(
        version=__version__,
        provider=chosen.name,
        model=backend.answering.usual.model,
        why=chosen.why,
        policy=backend.setup.policy_name,
        store=backend.setup.store.partition(":")[0],
        keys_asked_for=backend.setup.require_key,
    )


async def create_thread(asked: Asked[NewThread, None]) -> ThreadShape:
    """
    Make a thread; `CONFLICT` where its id is taken.

    Asked twice with one idempotency key it is made once; asked for another with it, that is a `CONFLICT` too.
    """
    backend, tenant, body = asked.backend, asked.tenant, asked.body
    key = key_of(asked.request)

    def work() -> ThreadShape:
        name = body.thread_id or (id_for(key) if key else new_id())
        policy = policy_of(backend.setup, body) or backend.setup.policy
        _refuse_unsent(policy, bool(body.system), bool(body.tools))
        known = backend.store.find(tenant, name)
        repeated = bool(key) and is_repeated(backend.store, tenant, key, msgspec.json.encode(body))
        if known is not None:
            if not repeated:
                raise ThreadExists(name)
            return shape_of(backend, known)
        thread = open_thread(
            name,
            store=backend.store,
            model=body.model or backend.answering.usual.model,
            policy=policy,
            system=body.system,
            tools=body.tools or None,
            tenant=tenant,
        )
        row = backend.store.thread(tenant, thread.id)
        if body.title:
            backend.store.put_title(tenant, thread.id, body.title)
        return shape_of(backend, backend.handles.row(tenant, id_of(row)))

    return await backend.call(work)


def policy_of(setup: ServerSetup, asked: AskedWindow, now: Policy | None = None) -> Policy | None:
    """The policy that a client asks for; None where it asks for none."""
    base = now or setup.policy
    if asked.policy is not None and asked.policy != setup.policy_name:
        base = Policy() if asked.policy == "best" else getattr(Policy, asked.policy)()
        known = setup.policy.window
        if known is not None and (base.window is None or base.window > known):
            base = msgspec.structs.replace(base, window=known, budget=None)
    elif asked.policy is not None:
        base = setup.policy
    names = ("history_tokens", "keep_share", "window", "recall_tokens", "pin_tokens", "facts_tokens")
    given = {name: value for name in names if (value := getattr(asked, name)) is not None}
    if asked.policy is None and not given:
        return None
    cap = asked.history_tokens
    if cap and base.recall_tokens > cap:
        # Who asks for little history does not mean that more than it is recalled beside it.
        given = {"recall_tokens": cap, **given}
    return policy_from(given, base)


def _refuse_unsent(policy: Policy, system: bool, tools: bool) -> None:
    """What would never be sent is not taken."""
    had = [name for name, given in (("a system prompt", system), ("tools", tools)) if given]
    if policy.flat and had:
        raise Fault(
            "INVALID_ARGUMENT",
            f"under this policy the thread is one prompt of text, which has no place for {' and '.join(had)}; "
            "leave them out, or take another policy",
        )


async def list_threads(asked: Asked[None, ListQuery]) -> ThreadList:
    """The tenant's threads, newest first."""
    backend, tenant, query = asked.backend, asked.tenant, asked.query

    def work() -> ThreadList:
        before = None
        if query.before is not None:
            if not query.before.isdigit() or len(query.before) > 18:
                raise Fault("INVALID_ARGUMENT", "`before` is what a list gave as `next`")
            before = int(query.before)
        rows = backend.store.threads(tenant, before=before, limit=query.limit)
        troubles = backend.troubles(tenant)
        more = str(rows[-1].id) if len(rows) == query.limit else None
        # Side calls that the proxy kept stand under names with a dot in front: found by name, not listed.
        shown = [row for row in rows if not row.name.startswith(".")]
        return ThreadList(threads=[listed_of(backend, row, troubles) for row in shown], next=more)

    return await backend.call(work)


async def get_thread(asked: Asked[None, None]) -> ThreadShape:
    """One thread."""
    backend = asked.backend
    return await backend.call(lambda: shape_of(backend, backend.handles.row(asked.tenant, asked.path["thread"])))


async def change_thread(asked: Asked[ChangedThread, None]) -> ThreadShape:
    """Change title, model, policy, system prompt or tools; a smaller window slides at once."""
    backend, body = asked.backend, asked.body

    def work() -> ThreadShape:
        row = backend.handles.row(asked.tenant, asked.path["thread"])
        thread = backend.handles.of(row)
        policy = policy_of(backend.setup, body, thread.setup.policy)
        if policy is not None or body.model is not None or body.system is not None or body.tools is not None:
            system = thread.setup.system if body.system is None else body.system
            tools = thread.setup.tools if body.tools is None else body.tools
            _refuse_unsent(policy or thread.setup.policy, bool(system), bool(tools))
            frame = thread.configure(model=body.model, policy=policy, system=body.system, tools=body.tools)
            if frame is not None:
                backend.metrics.slides.add(frame.reason)
        if body.title is not None:
            backend.store.put_title(asked.tenant, row.id, body.title)
        return shape_of(backend, backend.store.thread(asked.tenant, row.id))

    return await backend.call(work)


async def delete_thread(asked: Asked[None, None]) -> None:
    """Forget a thread with all that belongs to it; a turn that runs in it ends."""
    backend = asked.backend

    def work() -> None:
        row = backend.handles.row(asked.tenant, asked.path["thread"])
        backend.store.delete(asked.tenant, row.id)
        backend.drop(row)

    await backend.call(work)


def shape_of(backend: Backend, row: ThreadRow) -> ThreadShape:
    """A thread as the API shows it."""
    listed = listed_of(backend, row, backend.troubles(row.tenant))
    summary = backend.handles.of(row).window.fold.digest_text()
    return ThreadShape(summary=summary, **msgspec.structs.asdict(listed))


def listed_of(backend: Backend, row: ThreadRow, troubles: Mapping[int, str]) -> ListedThread:
    """A thread as a list has it: without what stands for its turns, which may be long."""
    glance, trouble = backend.glance(row), troubles.get(row.id)
    return ListedThread(
        thread_id=id_of(row),
        title=row.title or (glance.title if _MACHINE_MADE.fullmatch(row.name) else "") or row.name,
        model=glance.model,
        policy=policy_name(backend.setup, glance.policy),
        created_at=moment(row.created),
        updated_at=moment(row.updated),
        turns=glance.turns,
        boundary=glance.boundary,
        pressure=glance.pressure,
        window_known=glance.window_known,
        health=[*glance.health, *([] if trouble is None else [f"its summary fails: {trouble}"])],
    )


def policy_name(setup: ServerSetup, policy: Policy) -> str:
    """What a policy is called: a preset's name where it is one."""
    if policy == setup.policy:
        return setup.policy_name
    named: dict[str, Any] = {name: getattr(Policy, name)() for name in PRESETS}
    named["best"] = Policy()
    return next((name for name, preset in named.items() if preset == policy), "own")


ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/about", run=about, tag="threads", answer=About, says="Who answers here."),
    Route(method="POST", path="/v1/threads", run=create_thread, tag="threads", body=NewThread, optional_body=True,
          answer=ThreadShape, status=201, faults=("CONFLICT",), says="Make a thread."),
    Route(method="GET", path="/v1/threads", run=list_threads, tag="threads", query=ListQuery, answer=ThreadList,
          says="List threads, newest first."),
    Route(method="GET", path="/v1/threads/{thread}", run=get_thread, tag="threads", answer=ThreadShape,
          faults=("NOT_FOUND",), says="Look at a thread."),
    Route(method="PATCH", path="/v1/threads/{thread}", run=change_thread, tag="threads", body=ChangedThread,
          answer=ThreadShape, faults=("NOT_FOUND", "CONFLICT"),
          says="Change a thread's title, model, policy, system prompt or tools."),
    Route(method="DELETE", path="/v1/threads/{thread}", run=delete_thread, tag="threads", status=204, media=(),
          faults=("NOT_FOUND",), says="Forget a thread, with all that was said in it."),
)  # fmt: skip
