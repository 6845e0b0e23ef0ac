"""
What is remembered of turns and steps that left: written by code, a state of fixed limits.

Everything goes in message by message, in the order in which it leaves, so adding turns as
they leave gives the same as adding them all at once. How it is told is in `core/told.py`.

What the user said and what tools gave are kept apart from the first word on: a tool's text
is only ever quoted, with where it came from, and never stands among what the user wants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from sash.core.brief import in_brief
from sash.core.departed import Departed, DepartedSteps, DepartedTurn, ShortenedResults, counted, result_at
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.noted import Names, Noting, called, clip
from sash.core.turn import wrote
from sash.core.wish import has_any, is_task, own_words, wishes_in
from sash.core.work import Answer, Place, only_looks, tells_of_failure

FIRST_SENTENCES = 30
"""Lines of seed 001's summary."""
TASK = 2_000
"""Characters of the first request."""
LINES = 400
"""Lines of turns, and of steps of one turn."""
WISHES = 60
FINDINGS = 40
FILES = 200
COMMANDS = 60
LINE_LENGTH = 200
OUTCOME = 100
FEW_WORDS = 80
"""Characters: an exchange that is no longer is told as it was."""

_sentence = re.compile(r"^[^.!?\n]+[.!?]?")
_sentence_end = re.compile(r"(?<=[.!?])\s+|\n+")
_finding = re.compile(
    r"\b(?:decided|decision|we(?:'ll| will)\s+(?:use|go\s+with|keep)|going\s+with|chose|settled\s+on|agreed|conclusion"
    r"|root\s+cause|turn(?:s|ed)\s+out|the\s+(?:fix|problem|reason|bug|cause|solution|answer)\s+(?:is|was)|fixed\s+by)\b",
    re.IGNORECASE,
)
_FINDING = (
    "decided decision we'll will going chose settled agreed conclusion cause turns turned fix problem reason bug "
    "solution answer"
).split()
"""One of these stands wherever the pattern finds something."""
_REACH = 4_000


class Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Words, and the turn they were said in."""

    turn: int
    words: str


class Touched(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that was worked on."""

    turn: int
    """The last time."""
    changed: bool = False
    created: bool = False


class Ran(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A command, or a change of a file, and how it went the last time."""

    turn: int
    failed: bool
    outcome: str
    """The tool's words."""
    failed_before: bool = False


_Outcomes = dict[str, tuple[DepartedTurn | DepartedSteps, Place]]
"""Where it stands how a command, or a change of a file, went the last time."""


class Digest(msgspec.Struct):
    """The state of a digest."""

    messages: int = 0
    """How many have left."""
    task: str = ""
    """The first request of the user's."""
    wishes: list[Said] = []
    """Standing instructions and corrections, in the user's own words."""
    findings: list[Said] = []
    """What was decided or found out, in the words of whoever said so."""
    files: dict[str, Touched] = {}
    ran: dict[str, Ran] = {}
    noted: Names = msgspec.field(default_factory=Names)
    turns: list[str] = []
    """A line a turn, newest last; the oldest of more than enough are gone."""
    sentences: list[str] = []
    steps: dict[int, list[str]] = {}
    """Lines of the steps that left while their turn is still live."""

    def copy(self) -> Digest:
        """A digest that grows by itself."""
        return Digest(
            messages=self.messages,
            task=self.task,
            wishes=self.wishes[:],
            findings=self.findings[:],
            files=self.files.copy(),
            ran=self.ran.copy(),
            noted=self.noted.copy(),
            turns=self.turns[:],
            sentences=self.sentences[:],
            steps={turn: lines[:] for turn, lines in self.steps.items()},
        )

    def since(self, turn: int) -> Digest:
        """
        What is told beside a summary that stands for the turns before this one.

        The story of those turns is the summary's; what the user wants, files, commands and
        names stay, since code knows them for certain.
        """
        return msgspec.structs.replace(
            self,
            findings=[said for said in self.findings if said.turn >= turn],
            turns=[line for line in self.turns if _number_of(line) >= turn],
        )

    def take(self, departed: Sequence[Departed]) -> None:
        """All of this left, in this order."""
        noting = Noting(self.noted, until=self.messages + counted(departed))
        outcomes: _Outcomes = {}
        turns = sum(type(one) is DepartedTurn for one in departed)
        for one in departed:
            # Steps that left before their turn were told of then.
            if isinstance(one, ShortenedResults):
                for call, result in one.results:
                    noting.result(result, call, turn=one.number, now=self.messages)
                continue
            self._remember(noting, one, outcomes)
            if isinstance(one, DepartedTurn):
                self._turn_left(one.turn, told=turns <= LINES)
                turns -= 1
            else:
                lines = self.steps.setdefault(one.number, [])
                for step in one.steps:
                    lines += step_lines(step)
                del lines[:-LINES]
        noting.finish()
        # Of the commands that stay, how each went the last time: most have been run again, or forgotten.
        for what, (one, place) in outcomes.items():
            if what in self.ran:
                ran, texts = self.ran[what], _texts(result_at(one, place))
                self.ran[what] = Ran(ran.turn, ran.failed, _outcome_line(texts, failed=ran.failed), ran.failed_before)
        self._find(departed)

    def _turn_left(self, turn: LiveTurn, *, told: bool) -> None:
        """A turn is over; where so many come after it that its line would be gone in the end, none is written."""
        said = [live.message for live in turn.all_messages()]
        if turn.number == 1 or not is_task(self.task):
            self.task = own_words(said[0].text).strip()[:TASK] or said[0].text[:TASK]
        if told:
            self.turns.append(_line_of(turn, said))
            del self.turns[:-LINES]
        if len(self.sentences) < FIRST_SENTENCES:
            self.sentences += [sentence for message in said if (sentence := _first_sentence(message))]
            del self.sentences[FIRST_SENTENCES:]
        self.steps.pop(turn.number, None)

    def _remember(self, noting: Noting, departed: DepartedTurn | DepartedSteps, outcomes: _Outcomes) -> None:
        turn, said = departed.number, [live.message for live in departed.messages()]
        for message in said:
            if message.role == "user" and wrote(message):
                self.wishes += [Said(turn, wish) for wish in wishes_in(message.text)]
                del self.wishes[:-WISHES]
        for place, answer in departed.answers.items():
            for what in self._did(turn, answer):
                outcomes[what] = departed, place
        noting.messages(said, turn=turn, first=self.messages + 1)
        self.messages += len(said)

    def _find(self, departed: Sequence[Departed]) -> None:
        """What was decided or found out: looked for from the end, since only the newest is kept."""
        found: list[Said] = []
        for one in reversed(departed):
            if len(found) >= FINDINGS:
                break
            for live in reversed(list(one.messages())):
                if live.message.role == "assistant" and not wrote(live.message):
                    findings = _findings(live.message.text)
                    found += [Said(one.number, clip(words, LINE_LENGTH)) for words in reversed(findings)]
        self.findings += reversed(found)
        del self.findings[:-FINDINGS]

    def _did(self, turn: int, answer: Answer) -> Iterator[str]:
        """Keeps what an answer tells of files, and what was run or changed: how that went, its words tell."""
        failed = answer.failed
        for work in answer.works:
            if work.deed != "run" and not failed:
                before = self.files.pop(work.target, Touched(turn))
                self.files[work.target] = Touched(
                    turn, before.changed or work.deed == "edit", before.created or work.deed == "write"
                )
                _forget_oldest(self.files, FILES)
            if work.deed != "read" and not (failed and only_looks(work)):
                what = work.target if work.deed == "run" else f"{work.deed} {work.target}"
                what = clip(what, LINE_LENGTH)
                self._went(what, turn, failed)
                yield what

    def _went(self, what: str, turn: int, failed: bool) -> None:
        before = self.ran.pop(what, None)
        failed_before = before is not None and (before.failed or before.failed_before)
        self.ran[what] = Ran(turn, failed, "", failed_before)
        _forget_oldest(self.ran, COMMANDS)


def _forget_oldest(kept: dict[str, Touched] | dict[str, Ran], most: int) -> None:
    if len(kept) > most:
        del kept[next(iter(kept))]


def step_lines(step: Sequence[LiveMessage]) -> list[str]:
    """What was called, on which names, with what outcome."""
    results = {block.call_id: block for live in step for block in live.message.blocks if type(block) is ToolResult}
    lines = []
    for live in step:
        if live.message.role == "assistant" and live.message.text.strip():
            lines.append(f"- said: {clip(live.message.text, LINE_LENGTH)}")
        lines += [f"- {called(call)}: {_outcome(results.get(call.id))}" for call in _calls(live.message)]
    return lines


def _outcome(result: ToolResult | None) -> str:
    if result is None:
        return "no result"
    texts = _texts(result)
    failed = result.error or tells_of_failure(texts)
    line = _outcome_line(texts, failed=failed)
    return f"{'failed' if failed else 'ok'}{f', {quoted(line)}' if line else ''}"


def _texts(result: ToolResult) -> list[str]:
    return [part.text for part in result.content if type(part) is Text]


def _outcome_line(texts: Sequence[str], *, failed: bool) -> str:
    """The line that says most about how it went: of a failure the one that names it, else the last one."""
    last = ""
    for text in reversed(texts):
        told = text[-_REACH:].rstrip()
        lines = told.rsplit("\n", -1 if failed else 1)
        last = last or lines[-1].strip()
        named = next((line for line in reversed(lines) if _error.search(line)), "") if failed else last
        if named:
            return clip(named.strip(), OUTCOME)
    return clip(last, OUTCOME)


_error = re.compile(r"error|exception|fail|fatal|denied|not found|no such|cannot|panic", re.IGNORECASE)


def quoted(line: str) -> str:
    """A tool's words, so that nobody takes them for anybody else's."""
    return '"' + line.replace('"', "'") + '"'


def _spoken_line(number: int, said: Sequence[Message]) -> str:
    """A long exchange of words alone: what was told in it, without what goes without saying."""
    words = [message.text for message in said]
    if sum(map(len, words)) <= FEW_WORDS:
        return ""
    told = [brief for text in words if (brief := in_brief(text))]
    return f"- turn {number}: {' | '.join(told)}" if told else ""


def _line_of(turn: LiveTurn, said: Sequence[Message]) -> str:
    tools = [call.name for message in said for call in _calls(message)]
    if not tools and (line := _spoken_line(turn.number, said)):
        return line
    asked = said[0].text if turn.number else ""
    return _turn_line(turn.number, asked or turn.title, tools, _last_words(said))


def _turn_line(number: int, asked: str, tools: Sequence[str], outcome: str) -> str:
    used = f" [called {', '.join(sorted(set(tools)))}]" if tools else ""
    return f"- turn {number}: {clip(asked, LINE_LENGTH)}{used}{f' -> {outcome}' if outcome else ''}"


def _number_of(line: str) -> int:
    """Of a turn, from the line that tells of it."""
    return int(line[len("- turn ") : line.index(":")])


def _last_words(said: Sequence[Message]) -> str:
    words = next((message.text for message in reversed(said) if message.role == "assistant" and message.text), "")
    return clip(words, LINE_LENGTH)


def _findings(text: str) -> list[str]:
    told = text[:_REACH]
    if not has_any(told, _FINDING) or not _finding.search(told):
        return []
    return [sentence for sentence in _sentence_end.split(told) if _finding.search(sentence)][:3]


def _first_sentence(message: Message) -> str:
    """Seed 001's line for a message: its first sentence, when that says anything."""
    found = _sentence.match(message.text[:500])
    if found is None or len(found[0]) <= 10:
        return ""
    return f"[{'User' if message.role == 'user' else 'Agent'}] {found[0].strip()}"


def _calls(message: Message) -> list[ToolCall]:
    return [block for block in message.blocks if type(block) is ToolCall]
