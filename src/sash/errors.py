"""
Every error that sash raises on purpose.

    SashError
    ├── BodyTooLarge          a request of more bytes than the provider takes
    ├── FactsFull             more would be remembered than facts may take of the window
    ├── InvalidArgument       a call was given something of another kind than it takes
    ├── InvalidMessage        what came in is not a message of its wire
    ├── InvalidPolicy         a policy that cannot be followed
    ├── InvalidRequest        what would go out is not a request that its provider takes
    ├── InvalidSetting        a setting that does not exist, or cannot have that value
    ├── InvalidUpstream       an address that no provider can be reached at
    ├── MissingExtra          what was asked for needs a package that is not installed
    ├── NothingToUndo         no slide and no command is in force that could be taken back
    ├── PinsFull              more is pinned than pins may take
    ├── ProviderError         a provider did not answer, or not with an answer
    │   ├── AnswerBroken      what came is no answer, or only a part of one
    │   ├── KeyMissing        no key in the environment
    │   ├── KeyRefused        the provider does not know the key, or does not allow it this
    │   ├── ProviderBusy      it has too much to do; it may say when to come back
    │   ├── ProviderDown      it cannot be reached, or fails by itself
    │   │   └── ProviderSilent   it takes too long
    │   └── RequestRefused    it does not take the request
    │       └── RequestTooLong   because its model cannot read that much
    ├── ServerRefused         a server that would be open to strangers, or has no place to listen
    ├── StoreError            the store could not do what it was asked, and did nothing
    │   ├── Conflict          the thread has moved on since it was looked at
    │   ├── InvalidName       a name that not every database can hold
    │   ├── KeyReused         an idempotency key came back with another request
    │   ├── LeaseLost         somebody else has the work by now
    │   ├── NotFound          there is no such thread, or it is not yours
    │   ├── ThreadBusy        an answer is being got for it already
    │   ├── ThreadExists      the name is taken
    │   ├── ThreadMoved       the thread became another one while it was summarized
    │   ├── UnknownStore      no store has such an address
    │   ├── DamagedDatabase   what is on the disk is not what was written
    │   ├── NewerDatabase     written by a newer sash than this
    │   ├── StoreBusy         others kept it locked for too long
    │   ├── StoreFull         the disk is full
    │   ├── StoreReadOnly     it may be read but not written
    │   └── StoreUnavailable  it cannot be opened or reached
    ├── SummaryRejected       what a model wrote is no summary that may be published
    ├── TranscriptError       a session file could not be read at all
    │   ├── UnknownFormat     no format has that name
    │   ├── UnknownTranscript  the file is in no format that is known
    │   └── UnreadableTranscript  it is not there, may not be read, or is too large
    ├── UnknownCounter        no counter has that name
    ├── UnknownFamily         no tokenizer family has that name
    ├── UnknownHandle         nothing in the log has that handle
    ├── UnknownProvider       no provider has that name, or not such an address
    ├── UnknownWire           no wire has that name
    ├── UnreadableTokenizer   a tokenizer file is missing or is none
    └── WindowOverflow        what may not be left out is larger than the window

Attributes are for programs, the sentence is for people and names the remedy.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sash.core.tokens import TokenCount


class SashError(Exception):
    """The base of every error of ours."""


class InvalidArgument(SashError, TypeError):
    """A call was given something of another kind than it takes; nothing was done."""

    def __init__(self, argument: str, value: object, wanted: str) -> None:
        self.argument, self.value, self.wanted = argument, value, wanted
        super().__init__(f"{argument} is {reprlib.repr(value)}; it takes {wanted}")


class InvalidMessage(SashError, ValueError):
    """What came in is not a message of its wire; nothing was taken from it."""

    def __init__(self, problem: str, *, position: int | None = None, field: str = "", wire: str = "") -> None:
        self.problem, self.position, self.field = problem, position, field
        self.wire = wire
        """The other wire that it is a message of, where that is certain."""
        where = "" if position is None else f"message {position}"
        if field:
            where += f", {field}" if where else field
        super().__init__(f"{where}: {problem}" if where else problem)


class InvalidRequest(SashError):
    """What would go out is nothing its provider takes, and no repair helps."""

    def __init__(self, wire: str, problems: tuple[str, ...]) -> None:
        self.wire, self.problems = wire, problems
        super().__init__(f"not a valid request of {wire!r}: {'; '.join(problems)}")


class InvalidUpstream(SashError, ValueError):
    """An address that no provider can be reached at."""

    def __init__(self, url: str, problem: str) -> None:
        self.url, self.problem = url, problem
        super().__init__(f"{url!r} is no upstream: {problem}; an upstream looks like 'https://api.openai.com/v1'")


class UnknownWire(SashError, ValueError):
    """No wire has that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(f"no wire is called {name!r}; there are {', '.join(map(repr, known))}")


class InvalidPolicy(SashError, ValueError):
    """A policy, or a budget, that cannot be followed."""

    def __init__(self, field: str, value: object, wanted: str) -> None:
        self.field, self.value, self.wanted = field, value, wanted
        super().__init__(f"{field} is {value!r}; it takes {wanted}")


class InvalidSetting(SashError, ValueError):
    """A setting that does not exist, or that cannot have the value it was given."""

    def __init__(self, name: str, *, where: str, problem: str) -> None:
        self.name, self.where, self.problem = name, where, problem
        super().__init__(": ".join(filter(None, (where, f"{name} {problem}".strip()))))


class WindowOverflow(SashError):
    """What may not be left out is already larger than the window; `parts` has the size of each, the largest first."""

    def __init__(
        self, problem: str, *, fixed: TokenCount, tokens: TokenCount, window: int, reserve: int,
        parts: Mapping[str, TokenCount],
    ) -> None:  # fmt: skip
        self.fixed, self.tokens, self.window, self.reserve, self.parts = fixed, tokens, window, reserve, dict(parts)
        super().__init__(problem)


class BodyTooLarge(SashError):
    """What may not be left out is already more bytes than a provider takes."""

    def __init__(self, *, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__(
            f"the request has {size:,} bytes of at most {limit:,}; shorten the input, or raise `body_bytes`"
        )


class NothingToUndo(SashError):
    """Nothing is in force that could be taken back; or it would come again at once."""

    def __init__(self, thread: str, *, window: int = 0) -> None:
        self.thread, self.window = thread, window
        why = "no slide, compact, rewind, pin, unpin, forget or summary of yours is in force"
        if window:
            why = f"what would come back does not fit a window of {window:,}; raise `window`, or pin the turns you need"
        super().__init__(f"nothing in the thread {thread!r} can be undone: {why}")


class FactsFull(SashError):
    """More would be remembered than facts may take of the window: one of them would not be told."""

    def __init__(self, *, facts: int, tokens: TokenCount, limit: int) -> None:
        self.facts, self.tokens, self.limit = facts, tokens, limit
        if not limit:
            told = (
                "facts may take 0 tokens: the policy allots them none, or its prompt is flat and has no place for them"
            )
        elif facts > 1:
            told = f"with it {facts:,} facts would take {tokens.full} of at most {limit:,} tokens; forget one of them"
        else:
            told = f"the fact takes {tokens.full} of at most {limit:,} tokens that facts may take; say it shorter"
        super().__init__(told if not limit else f"{told}, or raise `facts_tokens`")


class PinsFull(SashError):
    """More would be pinned than pins may take of the window."""

    def __init__(self, *, turn: int, sizes: dict[int, int], limit: int) -> None:
        self.turn, self.sizes, self.limit = turn, sizes, limit
        told = ", ".join(f"turn {number}: {tokens:,}" for number, tokens in sizes.items())
        remedy = "unpin one of them, or raise `pin_tokens`" if sizes.keys() - {turn} else "raise `pin_tokens`"
        super().__init__(
            f"with turn {turn} pins would take {sum(sizes.values()):,} of at most {limit:,} tokens ({told}); {remedy}"
        )


class UnknownFamily(SashError, LookupError):
    """No weights have been fitted for a family of this name."""

    def __init__(self, name: str, *, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(f"there is no tokenizer family {name!r}; use one of {', '.join(known)}")


class UnknownHandle(SashError, KeyError):
    """Nothing in the log has that handle."""

    def __init__(self, handle: str) -> None:
        self.handle = handle
        super().__init__(f"no block has the handle {handle!r}; handles stand in the text that was shortened")

    def __str__(self) -> str:
        return str(self.args[0])


class MissingExtra(SashError, ImportError):
    """Something was asked for by name whose package is not installed."""

    def __init__(self, what: str, *, extra: str, package: str) -> None:
        self.what, self.extra, self.package = what, extra, package
        super().__init__(f"{what} needs {package}: install it with `pip install 'sash[{extra}]'`")


class UnknownCounter(SashError, LookupError):
    """No counter has this name."""

    def __init__(self, name: str, *, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(f"there is no counter {name!r}; use one of {', '.join(known)}")


class UnreadableTokenizer(SashError, ValueError):
    """A tokenizer file is missing or is not one."""

    def __init__(self, path: str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path!r} cannot be used as a tokenizer: {problem}; point to a `tokenizer.json`")


class ServerRefused(SashError):
    """A server was not started: it would be open to strangers, or there is no place for it to listen."""


class StoreError(SashError):
    """The store could not do what it was asked, and did nothing of it."""


class Conflict(StoreError):
    """The thread has moved on since it was last looked at."""

    def __init__(self, *, thread: int, expected_seq: int, last_seq: int) -> None:
        self.thread, self.expected_seq, self.last_seq = thread, expected_seq, last_seq
        super().__init__(
            f"the thread is at event {last_seq} and not at {expected_seq}: somebody else wrote to it (its number in "
            f"the store is {thread}); look at what is new and decide again: said once more, the same is stored"
        )


class KeyReused(StoreError):
    """An idempotency key came back with another request; nothing was run."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the key {key!r} was used for another request; use a new key for each new request")


class LeaseLost(StoreError):
    """Somebody else has claimed or finished the work since; what was done is not published."""

    def __init__(self, *, thread: int = 0, token: int = 0, turn: str = "") -> None:
        self.thread, self.token, self.turn = thread, token, turn
        lease = f"{token} on the summary of thread {thread} is over; claim anew"
        if turn:
            lease = f"on turn {turn!r} is over: it has ended, was taken for dead, or its thread is gone; start anew"
        super().__init__(f"the lease {lease}")


class NotFound(StoreError, LookupError):
    """There is no such thing, or it is not yours, which looks the same."""

    def __init__(self, what: str, name: object, remedy: str = "") -> None:
        self.what, self.name, self.remedy = what, name, remedy
        super().__init__(f"there is no {what} {name!r}" + (f"; {remedy}" if remedy else ""))


class ThreadBusy(StoreError):
    """An answer is being got for the thread already; one at a time, or two of them would interleave."""

    def __init__(self, *, thread: int, run: str) -> None:
        self.thread, self.run = thread, run
        super().__init__(f"the thread is busy with the turn {run!r}; wait for it, or cancel it")


class ThreadExists(StoreError):
    """The name is taken."""

    def __init__(self, name: str, differs: int | None = None, remedy: str = "open it, or choose another name") -> None:
        self.name, self.differs, self.remedy = name, differs, remedy
        where = "" if differs is None else f", and message {differs} in it is another one"
        super().__init__(f"there is a thread {name!r} already{where}; {remedy}")


class ThreadMoved(StoreError):
    """The thread was rewound, redacted or summarized by somebody else meanwhile; nothing was published."""

    def __init__(self, *, thread: int) -> None:
        self.thread = thread
        super().__init__(f"thread {thread} was changed while it was summarized; nothing was published, try again")


class InvalidName(StoreError, ValueError):
    """A name that not every database can hold."""

    def __init__(self, what: str, name: object, wanted: str) -> None:
        self.what, self.name, self.wanted = what, name, wanted
        super().__init__(f"{name!r} cannot be the name of a {what}: it takes {wanted}")


class UnknownStore(StoreError, ValueError):
    """No store has such an address."""

    def __init__(self, url: str, problem: str) -> None:
        self.url, self.problem = url, problem
        super().__init__(
            f"{url!r} is no store: {problem}; there are memory:, sqlite:///FILE and postgresql://HOST/NAME"
        )


class StoreUnavailable(StoreError):
    """It cannot be opened, or not be reached any more."""

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = place, problem
        super().__init__(f"the store {place!r} cannot be used: {problem}")


class StoreBusy(StoreError):
    """Others kept it locked for too long."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(f"the store {place!r} was locked by others for too long; try again, or look who holds it")


class StoreFull(StoreError):
    """The disk is full; nothing was stored, and reading goes on."""

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = place, problem
        super().__init__(f"no room to write to {place!r} ({problem}); free some space and try again")


class StoreReadOnly(StoreError):
    """It may be read but not written."""

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = place, problem
        super().__init__(
            f"{place!r} may not be written ({problem}); "
            "look at the permissions of file and folder, or name another store"
        )


class DamagedDatabase(StoreError):
    """What is on the disk is not what was written."""

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = place, problem
        super().__init__(f"{place!r} is damaged ({problem}); restore a backup, and see `sash doctor`")


class NewerDatabase(StoreError):
    """Written by a newer sash; nothing was changed."""

    def __init__(self, place: str, *, schema: int, known: int) -> None:
        self.place, self.schema, self.known = place, schema, known
        super().__init__(
            f"{place!r} was written by a newer sash (schema {schema}; this one knows up to {known}); upgrade sash"
        )


class ProviderError(SashError):
    """A provider did not answer, or not with an answer."""

    def __init__(
        self,
        problem: str,
        *,
        status: int | None = None,
        retry_after_seconds: float | None = None,
        worth_retrying: bool = False,
    ) -> None:
        self.problem, self.status, self.retry_after_seconds = problem, status, retry_after_seconds
        self.worth_retrying = worth_retrying
        """Whether the same request may be answered later."""
        self.body = b""
        """What the provider sent with its refusal, without our key."""
        super().__init__(problem)


class KeyMissing(ProviderError):
    """There is no key in the environment, or none that can be sent."""


class KeyRefused(ProviderError):
    """The provider does not know the key, or does not allow it this."""


class RequestRefused(ProviderError):
    """The provider does not take the request; sending it again does not help."""


class RequestTooLong(RequestRefused):
    """The model cannot read that much. Nothing was answered."""

    def __init__(
        self,
        problem: str,
        *,
        status: int | None = None,
        tokens: int | None = None,
        limit: int | None = None,
        answer: int | None = None,
    ) -> None:
        self.tokens, self.limit, self.answer = tokens, limit, answer
        """In the provider's own numbers, where it told any; `answer` where it counted what was to be left for that."""
        super().__init__(problem, status=status)


class ProviderBusy(ProviderError):
    """The provider has too much to do, or we asked too often; it may say when to come back."""


class ProviderDown(ProviderError):
    """The provider cannot be reached, or fails by itself."""


class ProviderSilent(ProviderDown):
    """The provider took too long: to be reached, or to say anything."""


class AnswerBroken(ProviderError):
    """What came is no answer, or ended in the middle of one; what was said by then has been given out."""


class UnknownProvider(SashError, ValueError):
    """No provider has that name, or not such an address."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"{name!r} is no provider: {problem}")


class TranscriptError(SashError):
    """A session file could not be read at all; what is damaged inside one raises nothing."""


class UnreadableTranscript(TranscriptError, OSError):
    """It is not there, may not be read, or is too large to be read in one piece."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"{name!r} cannot be read: {problem}")

    def __str__(self) -> str:
        return f"{self.name!r} cannot be read: {self.problem}"


class UnknownTranscript(TranscriptError, ValueError):
    """A file in no format that is known, or not in the one that was named."""

    def __init__(self, name: str, *, format: str = "", found: str = "", problem: str = "") -> None:  # noqa: A002  (the word of the domain)
        self.name, self.format, self.found, self.problem = name, format, found, problem
        hint = problem or "where you know its format, name it with `--format`"
        said = f"{name!r} is no session file that sash knows; {hint}"
        if format:
            but = f" but like {found!r}; leave `--format` out" if found else ", nor like any other that sash knows"
            said = f"{name!r} does not look like {format!r}{but}"
        super().__init__(said)


class UnknownFormat(TranscriptError, LookupError):
    """No format of session files has that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(f"no format is called {name!r}; there are {', '.join(map(repr, known))}")

    def __str__(self) -> str:
        return f"no format is called {self.name!r}; there are {', '.join(map(repr, self.known))}"


class SummaryRejected(SashError):
    """What a model wrote is no summary that may be published; the old one stays."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the summary was rejected: {problem}")
