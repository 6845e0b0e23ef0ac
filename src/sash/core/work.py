"""
What calls work on, and which of their results later work has made stale.

AnsweredTurns are the tools of the common agents, by the names and arguments they use. Certain
rather than eager: whatever is not known for sure to be the same work makes nothing stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

import msgspec

from sash.core.live import LiveTurn
from sash.core.message import Text, ToolCall, ToolResult

Deed = Literal["read", "edit", "write", "run"]


class Work(msgspec.Struct, frozen=True):
    """What a call does, and to what."""

    deed: Deed
    """`edit` changes a part of a file, `write` all of it."""
    target: str
    """A path or a command, exactly as it was given."""
    rest: str = ""
    """Every other argument that could matter, such as the lines asked for: equal only for equal work."""


_EDITORS = frozenset("strreplaceeditor strreplacebasededittool fileeditor texteditor editor".split())
"""One tool for all work on files; its `command` says which."""
_WHOLE = ("create", "write")
_DEEDS: dict[str, Deed] = {
    **dict.fromkeys("read readfile readtextfile view viewfile cat open openfile notebookread fileread".split(), "read"),
    **dict.fromkeys("write writefile create createfile writetofile savefile filewrite".split(), "write"),
    **dict.fromkeys(
        "edit editfile multiedit notebookedit editnotebook fileedit replace strreplace replaceinfile applydiff "
        "replacestringinfile searchreplace insert inserteditintofile".split(),
        "edit",
    ),
    **dict.fromkeys(
        "bash shell exec execcommand executecommand executebash execute runcommand runshellcommand runterminalcmd "
        "runinterminal terminal localshell".split(),
        "run",
    ),
}
_PATHS = frozenset(
    "path filepath filename file notebookpath absolutepath relativepath relativeworkspacepath targetfile uri".split()
)
_COMMANDS = frozenset({"command", "cmd"})
_IDLE = frozenset(
    "description explanation summary timeout timeoutms securityrisk requiresapproval yieldtimems "
    "maxoutputtokens".split()
)
"""Arguments that change nothing about what is read or run."""
_UNSURE = frozenset({"dryrun", "isinput"})
"""With these a call only looks like the work it is named for."""
_patched = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_namespace = re.compile(r".*(?:__|[./:])", re.DOTALL)


@lru_cache(maxsize=1_024)
def _tool(name: str) -> str:
    """A tool's name without its server's, and without what is spelled differently."""
    return _plain(_namespace.sub("", name))


@lru_cache(maxsize=2_048)
def works_of(call: ToolCall) -> tuple[Work, ...]:
    """What a call reads, writes or runs; nothing when that is not certain."""
    name = _tool(call.name)
    if name == "applypatch":
        return _patches(call.arguments)
    if name not in _DEEDS and name not in _EDITORS:
        return ()
    arguments = _decoded(call.arguments)
    if not isinstance(arguments, dict):
        return ()
    given = {_plain(key): value for key, value in arguments.items() if value is not None}
    if not _UNSURE.isdisjoint(given) and any(given.get(key) for key in _UNSURE):
        return ()
    if name in _EDITORS:
        asked = given.pop("command", "")
        deed: Deed = "read" if asked == "view" else "write" if asked in _WHOLE else "edit"
    else:
        deed = _DEEDS[name]
    named = given.keys() & (_COMMANDS if deed == "run" else _PATHS)
    if len(named) != 1 or not (target := given.pop(named.pop())):
        return ()
    if not isinstance(target, str):
        target = _written(target)
    if deed == "run" and "apply_patch" in target and (patches := _patches(call.arguments)):
        return patches
    if deed in ("edit", "write"):
        return (Work(deed, target),)
    rest = {key: value for key, value in given.items() if key not in _IDLE}
    return (Work(deed, target, _written(rest) if rest else ""),)


def _patches(arguments: str) -> tuple[Work, ...]:
    """A patch names its files itself, in free text or in a string among the arguments."""
    decoded = _decoded(arguments)
    text = arguments if decoded is None else "\n".join(_strings(decoded))
    return tuple(Work("edit" if how == "Update" else "write", path) for how, path in _patched.findall(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _decoded(arguments: str) -> Any:
    """The arguments as JSON says them; None where they are none."""
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


@lru_cache(maxsize=1_024)
def _plain(name: str) -> str:
    """A name without what tools spell differently: `file_path`, `filePath` and `FilePath` are one."""
    return name.replace("_", "").replace("-", "").lower()


def _written(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


Place = tuple[int, int]
"""Position of a message, and block, of a result."""


class Outcome(msgspec.Struct, frozen=True):
    """A call that was answered."""

    turn: int
    place: Place
    """Of its result."""
    in_window: bool
    works: tuple[Work, ...]
    called: str
    """The call itself, where nothing is known of its work."""
    failed: bool
    length: int
    """Characters of the result."""


_moves = re.compile(r"\s*(?:cd|pushd|popd)\b[^;&|\n]*")
_STUB = 500
"""An answer shorter than this may only say that the file is unchanged, and point to the earlier one."""


class Answer(msgspec.Struct, frozen=True):
    """What there is to know about a result, whatever comes later."""

    works: tuple[Work, ...]
    called: str
    failed: bool
    length: int
    moves: bool
    """The shell has gone elsewhere with it."""


class Answered(msgspec.Struct, frozen=True):
    """The answered calls of a turn, when it had so many messages."""

    messages: int
    answers: dict[Place, Answer]
    calls: dict[str, ToolCall]
    """Those that have no result yet."""


AnsweredTurns = dict[int, Answered]
"""By turn. A turn is looked at once, however many slides it stands through, unless it has grown."""


def answered(turn: LiveTurn, known: AnsweredTurns) -> dict[Place, Answer]:
    """The answered calls of a turn, oldest first; those of digested steps too, for they were work all the same."""
    before, messages = known.get(turn.number) or Answered(0, {}, {}), len(turn)
    if before.messages == messages:
        return before.answers
    # A turn only grows at its end. What was known stays as it is: another fold may go on from there.
    found, calls = before.answers.copy(), before.calls.copy()
    for live in islice(turn.all_messages(), before.messages, None):
        for place, block in enumerate(live.message.blocks):
            if type(block) is ToolCall:
                calls[block.id] = block
            elif type(block) is ToolResult and (call := calls.pop(block.call_id, None)) is not None:
                found[live.position, place] = answer_of(call, block)
    known[turn.number] = Answered(messages, found, calls)
    return found


def outcomes(
    turns: Sequence[LiveTurn], known: AnsweredTurns | None = None, *, before_window: bool = True
) -> list[Outcome]:
    """
    All answered calls of these turns, oldest first.

    Without those `before_window` the first is one that is in the window: a turn may have lost thousands of steps.
    """
    known = {} if known is None else known
    found: list[Outcome] = []
    moved = ""
    for turn in turns:
        number = turn.number
        gone = turn.digested_positions()
        for place, answer in answered(turn, known).items():
            works = answer.works
            if works and works[0].deed == "run":
                if moved:
                    # The same command means something else once the shell has gone elsewhere.
                    works = (Work("run", works[0].target, works[0].rest + moved),)
                if answer.moves:
                    moved += f"\n{works[0].target}"
            in_window = place[0] not in gone
            if not (in_window or found or before_window):
                continue
            found.append(Outcome(number, place, in_window, works, answer.called, answer.failed, answer.length))
    return found


def answer_of(call: ToolCall, result: ToolResult) -> Answer:
    """What a result tells of its call."""
    texts = [part.text for part in result.content if type(part) is Text]
    pictures = len(result.content) - len(texts)
    works = works_of(call)
    return Answer(
        works=works,
        called="" if works else f"{call.name} {call.arguments}",
        failed=result.error or tells_of_failure(texts),
        length=sum(map(len, texts)) + pictures * _STUB,
        moves=bool(works) and works[0].deed == "run" and _moves.fullmatch(works[0].target) is not None,
    )


_error = re.compile(r"\s*(?:\[?error\b|traceback \(most recent call|fatal:|exception\b)", re.IGNORECASE)
_exit = re.compile(r"\bexit(?:ed)?(?: with)?(?: exit)? (?:code|status)\W{0,3}-?[1-9]", re.IGNORECASE)
_EDGE = 200


def tells_of_failure(texts: Sequence[str]) -> bool:
    """Whether a result tells of a failure: most wires have no flag for it."""
    if not texts:
        return False
    head, tail = texts[0][:_EDGE], texts[-1][-_EDGE:]
    if _error.match(head):
        return True
    return any("exit" in edge.lower() and _exit.search(edge) is not None for edge in (head, tail))


def stale_among(done: Sequence[Outcome], current: int) -> frozenset[Place]:
    """Places of the results in the window that later work has made stale; `current` is the turn being worked on."""
    stale: set[Place] = set()
    later = _Later()
    for outcome in reversed(done):
        works = outcome.works
        if works and outcome.in_window and all(later.replaces(work, outcome) for work in works):
            stale.add(outcome.place)
        for work in works:
            later.add(work, outcome, current)
    return frozenset(stale)


class _Later:
    """Work done after a point, while that point moves back through the log."""

    def __init__(self) -> None:
        self.longest: dict[Work, int] = {}
        """What was read or run, and the most it gave; -1 for a command that only failed."""
        self.overwritten: set[str] = set()
        self.edited: set[str] = set()

    def add(self, work: Work, outcome: Outcome, current: int) -> None:
        if work.deed == "run":
            given = -1 if outcome.failed else outcome.length
            self.longest[work] = max(self.longest.get(work, -1), given)
        elif outcome.failed:
            return
        elif work.deed == "read":
            self.longest[work] = max(self.longest.get(work, 0), outcome.length)
        elif work.deed == "write":
            self.overwritten.add(work.target)
        elif outcome.turn != current:
            self.edited.add(work.target)

    def replaces(self, work: Work, outcome: Outcome) -> bool:
        if work.deed == "run":
            again = self.longest.get(work)
            return again is not None and (again >= 0 or outcome.failed)
        if work.target in self.overwritten or (work.deed == "read" and work.target in self.edited):
            return True
        again = self.longest.get(work if work.deed == "read" else Work("read", work.target))
        return again is not None and again >= min(_STUB, outcome.length // 4)


_looks = re.compile(
    r"\s*(?:cd\b[^;&|]*&&\s*)?(?:grep|rg|git grep|git diff|diff|ls|cat|head|tail|find|which|test|type)\b"
)


def failing_among(done: Sequence[Outcome]) -> Iterator[Outcome]:
    """
    Failures that nothing later has made good; of work that kept failing, the last time.

    Looking for something that is not there is no failure: that is an answer, not a problem.
    """
    settled: set[object] = set()
    for outcome in reversed(done):
        subjects = [_subject(work) for work in outcome.works] or [outcome.called]
        if outcome.failed and settled.isdisjoint(subjects) and not any(map(only_looks, outcome.works)):
            yield outcome
        settled.update(subjects)


def only_looks(work: Work) -> bool:
    """Whether a work changes nothing: when it finds nothing, that is its answer."""
    return work.deed == "read" or (work.deed == "run" and _looks.match(work.target) is not None)


def _subject(work: Work) -> object:
    """What must go well for a failure to be made good: the same command, or any change of the same file."""
    return work if work.deed == "run" else (work.deed == "read", work.target)
