"""A route: what is asked, what is answered, and the words of its documentation. One table of them is the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec
from starlette.requests import Request

if TYPE_CHECKING:
    from sash.server.backend import Backend
    from sash.server.fault import Code
    from sash.thread import Thread

B = TypeVar("B")
Q = TypeVar("Q")
T = TypeVar("T")

Method = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]
Media = Literal["json", "events", "text", "bytes", "html"]
Dialect = Literal["sash", "openai", "anthropic"]
"""In whose form an error is told: a client of a provider's API understands only that one."""

MEDIA_TYPES: dict[Media, str] = {
    "json": "application/json",
    "events": "text/event-stream",
    "text": "text/plain",
    "bytes": "application/octet-stream",
    "html": "text/html",
}


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the API answers; its JSON is in camelCase."""


class Given(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a client says. A name that is not known is refused: it would be a wish that nobody follows."""


class Nothing(Given, frozen=True, kw_only=True):
    """Where nothing is to be said."""


class Asked(Generic[B, Q]):
    """One request, read and checked."""

    def __init__(self, request: Request, backend: Backend, tenant: str, body: B, query: Q) -> None:
        self.request, self.backend, self.tenant = request, backend, tenant
        self.body, self.query = body, query

    @property
    def path(self) -> Mapping[str, str]:
        """The parts of the address that stand for something."""
        params: Mapping[str, str] = self.request.path_params
        return params

    async def of_thread(self, work: Callable[[Thread], T]) -> T:
        """Run something on the thread that the address names."""
        backend = self.backend
        return await backend.call(lambda: work(backend.handles.thread(self.tenant, self.path["thread"])))


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: Method
    path: str
    """`/v1/threads/{thread}`: what is in braces is given to `run`."""
    run: Callable[[Any], Awaitable[Any]]
    """Given what was `Asked`, gives a struct of type `answer` or a response of its own."""
    says: str
    """What it does, as a sentence."""
    tag: str
    body: type[Any] | None = None
    """None: none is read; `run` may read the request by itself."""
    optional_body: bool = False
    query: type[Any] | None = None
    answer: Any = None
    status: int = 200
    media: tuple[Media, ...] = ("json",)
    """What it may answer with; the first is the usual one."""
    faults: tuple[Code, ...] = ()
    """Beside those that any route may have."""
    open: bool = False
    """Whether it asks for no key, ever."""
    dialect: Dialect = "sash"

    @property
    def name(self) -> str:
        """As the description of the API calls it."""
        return self.run.__name__
