"""
The fold: a log goes in, message by message, and its frames come out.

The same log gives the same frames, always: that is why a restart, a replay, a dry run and
the stateless door are the same function. Adding a message costs the same however long
the log is; a slide costs what is in the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from sash.core.calibration import Calibration, corrected
from sash.core.cost import best_keep_share
from sash.core.digest import Digest
from sash.core.facts import Fact, Facts
from sash.core.frame import START, Frame, Reason
from sash.core.growth import Growth
from sash.core.kept import InWindow
from sash.core.leaving import leave
from sash.core.left import Left
from sash.core.limits import Limits
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message
from sash.core.past import Past
from sash.core.policy import Policy
from sash.core.recall import Memory, Recalled
from sash.core.recalling import Input, Recalling
from sash.core.recorded import recorded
from sash.core.recount import recount
from sash.core.shown import ShortForms
from sash.core.size import Size
from sash.core.slide import Slide, plan_slide, situation_of
from sash.core.standing import Standing, standing_of
from sash.core.summary import Summary, newest_within, offered
from sash.core.tokens import Counter, TokenCount
from sash.core.trigger import high_mark, reason_to_slide
from sash.core.turn import SYSTEM, Placed, Placing, wrote
from sash.core.work import AnsweredTurns

EVERYTHING = 1 << 60
"""A low mark that nothing has to leave for."""

NO_SIZE = Size(0)
"""What the log says about itself takes nothing."""

BeforeSlide = Callable[[Slide], bool | None]
"""Is shown a slide that can wait. False holds it; whatever else it answers, also nothing, lets it be made."""

_CAN_WAIT: frozenset[Reason] = frozenset({"between turns", "cold cache"})


class Fold(InWindow):
    """A log folded up to here: its frame, and what is in the window."""

    def __init__(self, policy: Policy, limits: Limits, counter: Counter) -> None:
        super().__init__()
        self.policy, self.limits, self.counter = policy, limits, counter
        self.frame = START
        self.past = Past()
        """Grows with the log, and is not needed to go on."""
        self.placing = Placing()
        self.system: list[LiveMessage] = []
        self.left = Left()
        """What is remembered of what left."""
        self.summaries: tuple[Summary, ...] = ()
        """The one in force, and those that wait for the next frame; the newest last."""
        self._standing: Standing | None = None
        self.kept_apart = Facts()
        self.said = 0
        """Messages so far: other events may stand between them."""
        self.memory: Memory | None = None
        """Where to look for what left, so that it can be recalled; None: nothing is."""
        self.recalling = Recalling()
        """What of it is recalled for what the user said last."""
        self.pinned: frozenset[int] = frozenset()
        self.tokens = 0
        """What history takes as it is shown."""
        self.exact = True
        self.whole_tokens = 0
        """What the turns take, as they came."""
        self.body = 0
        self.factor = 1.0
        """What the provider's reports say a counted token is worth."""
        self.beyond = 0.0
        """What its last report said of this frame's history beyond that."""
        self.suspended = False
        """After an undo the high mark is not looked at until the window forces a slide."""
        self.before_slide: BeforeSlide | None = None
        """May veto a slide that can wait."""
        self.placed = Placed(SYSTEM)
        """Where the newest message belongs."""
        self.asked = 0
        """What history took at the newest request point: what a provider's report speaks of."""
        self.short = ShortForms()
        """What is in the window, in short."""
        self.answers: AnsweredTurns = {}
        """What is known of the results in the window."""
        self.growth = Growth()
        """How fast the thread grows."""
        self.said_at: float | None = None
        """When the newest message was said, where that is known."""
        self.due: tuple[Reason, int | None] | None = None
        """A slide that was asked for while calls were open."""

    def copy(self) -> Fold:
        """A fold that goes on by itself from here."""
        twin = Fold.__new__(Fold)
        with self._reading:
            twin.__dict__.update(self.__dict__)
        twin.placing, twin.left = self.placing.copy(), self.left.copy()
        twin.past, twin.system, twin.kept_apart = self.past.copy(), self.system[:], self.kept_apart.copy()
        if twin.resting is None:
            twin.turns = {number: turn.copy() for number, turn in twin.turns.items()}
        twin.short = self.short.copy()
        twin.answers = self.answers.copy()
        twin.growth, twin.recalling = self.growth.copy(), self.recalling.copy()
        return twin

    def __len__(self) -> int:
        return self.placing.length

    def window(self) -> Iterator[LiveMessage]:
        """All messages in the window, the system prompt first."""
        yield from self.system
        for turn in self.turns.values():
            yield from turn.messages()

    @property
    def facts(self) -> list[Fact]:
        """Statements kept apart from the history."""
        return self.kept_apart.known()

    @property
    def digest(self) -> Digest:
        """The digest of what left."""
        return self.left.digest

    # What history takes.

    def calibrate(self, known: Calibration) -> None:
        """
        Counts as the provider's reports say, from here on.

        Never so far off that a slide would find nothing to free: it goes by the ratio alone. And never less than half
        of what history was counted at when it was asked with: what was said takes something.
        """
        most = (self.limits.high - self.limits.low) / 2
        least = -min(most, self.asked * known.ratio / 2)
        self.factor, self.beyond = known.ratio, max(least, min(most, known.beyond))

    def calibrated(self, tokens: int, exact: bool) -> TokenCount:
        """So many counted tokens as the marks count them: times what the provider's reports say."""
        count = TokenCount(tokens, exact)
        return count if self.factor == 1.0 else count.scaled(self.factor)

    @property
    def taken(self) -> float:
        """What history takes, as the marks are held against it."""
        return self.tokens * self.factor + self.beyond

    @property
    def total(self) -> TokenCount:
        """The same as it is shown: what the provider told, and what was said since."""
        if self.factor == 1.0 and not self.beyond:
            return TokenCount(self.tokens, self.exact)
        return TokenCount(corrected(self.tokens, self.factor, self.beyond), self.exact and self.factor == 1.0)

    @property
    def usual_turn(self) -> float:
        """What a turn has taken lately, as the marks count; 0 where none has closed yet."""
        return self.growth.usual_turn * self.factor

    def over_high(self) -> bool:
        """Whether history is above its high mark."""
        return self.taken > self.limits.high

    # What is said.

    def add(
        self,
        message: Message,
        size: Size,
        at: float | None = None,
        *,
        position: int | None = None,
        held: bool = False,
    ) -> Frame | None:
        """
        One more message; the frame it leads to, if it leads to one.

        Its position is the next one, unless other events stand between the messages of the log.
        With `held` it leads to none: somebody had a reason why the window should not slide here.
        """
        placing = self.placing
        if position is None:
            position = placing.length
        else:
            placing.length = position
        self.placed = placed = placing.add(message)
        self.said += 1
        if message.role == "meta":
            size = NO_SIZE
        if self.exact and not size.exact:
            self.exact = False
        live, number, whole_tokens = LiveMessage(position, message, size), placed.turn, size.tokens
        if whole_tokens > self.limits.record_over:
            live = self.entering(live)
            size = live.size
        if number == SYSTEM:
            self.system.append(live)
            return None
        self.whole_tokens += whole_tokens
        turn = self.turns.get(number)
        if turn is None:
            turn = self._started(placed, message)
        turn.add(live, whole_tokens)
        tokens = size.tokens
        self.tokens += tokens
        self.growth.added += tokens
        self.body += size.body
        if placed.starts:
            self._heard(message, position, number)
        before, self.said_at = self.said_at, at
        if held:
            self.due = None
        if not placed.request_point:
            # Nothing is sent here; only a policy that looks when a turn closes may slide.
            return self._closes(message) if self.policy.check == "turn" and not held else None
        self.growth.requests += 1
        frame = None
        pause = at - before if at is not None and before is not None else 0.0
        if not held:
            frame = self._slides_here(reason_to_slide(self, placed, pause=pause))
        self.asked = self.tokens
        return frame

    def _slides_here(self, reason: Reason | None) -> Frame | None:
        """The slide of this request point: the one that waited for it, or the one that the window needs."""
        frame, (command, low) = None, self.due or (None, None)
        self.due = None
        if reason is not None and (command is None or (low == EVERYTHING and reason not in _CAN_WAIT)):
            # A command for which nothing has to leave does not hold up what the window needs: that takes it along.
            frame = self.slide(reason)
        if frame is None and command is not None:
            frame = self.slide(command, low=low)
        return frame

    def _started(self, placed: Placed, message: Message) -> LiveTurn:
        """A turn that begins with this message."""
        if self.turns:
            self.growth.closed.append(next(reversed(self.turns.values())).entered_tokens)
        turn = self.turns[placed.turn] = LiveTurn(placed.turn, message if placed.starts else "", [], [])
        return turn

    def entering(self, live: LiveMessage) -> LiveMessage:
        """A message as it enters the window: a single giant result is shortened before anybody has seen it."""
        limit = self.limits.record_over
        return recorded(live, limit, self.counter) if 0 < limit < live.size.tokens else live

    def _heard(self, message: Message, position: int, turn: int) -> None:
        """The user spoke: what was recalled for their last words leaves, and what they want from here on is kept."""
        recallable = self.policy.recall_tokens and not message.closed() and wrote(message)
        self.recalling = Recalling(Input(message, position, self.said - 1) if recallable else None)
        self.kept_apart.hear(message, seq=position + 1, turn=turn)

    def _closes(self, message: Message) -> Frame | None:
        if message.role == "assistant" and not self.placing.calls_open and self.taken > high_mark(self):
            return self.slide("high mark")
        return None

    def remember(self, fact: Fact) -> None:
        """One more fact: it stands with the input until the next frame takes it in."""
        self.kept_apart.add(fact)

    # Slides.

    def slide(self, reason: Reason, *, low: int | None = None) -> Frame | None:
        """Slides now; None when nothing would change, or when a slide that could wait would free too little."""
        if self.placing.calls_open:
            # A step whose results are not there yet can neither leave nor change: the slide comes right after it.
            self.due = (reason, low)
            return None
        planned = self.plan(reason, low=low)
        if planned is None or (reason in _CAN_WAIT and not self._worth_it(planned)):
            return None
        if reason == "high mark" and self._in_vain(planned):
            return None
        if low != EVERYTHING:
            # The window forced it, or somebody wants it so: the marks hold again.
            self.suspended = False
        return self.make(planned)

    def _worth_it(self, planned: Slide) -> bool:
        """Whether a slide that could wait is to be made all the same."""
        if planned.frame.freed < self.limits.worth:
            return False
        return self.before_slide is None or self.before_slide(planned) is not False

    def _in_vain(self, planned: Slide) -> bool:
        """
        Whether all that a slide does is to leave out thinking, and history is above its high mark all the same.

        Where nothing else may leave, there is such a slide at every request, and each breaks the cache. Where the
        window would overflow it is made all the same: else one request gives way alone, and the next one moves back.
        """
        before, after, limits = self.frame, planned.frame, self.limits
        same = before.shortened == after.shortened and before.digested == after.digested
        return same and not planned.evicted and not after.fits and self.taken <= limits.hard - limits.fixed

    def plan(self, reason: Reason, *, low: int | None = None) -> Slide | None:
        """What a slide would do, without doing it."""
        if not self.turns:
            return None
        if low is None and self.policy.adaptive:
            share = best_keep_share(self.policy.prices, self.growth.per_request, self.limits.high)
            low = int(share * self.limits.high)
        limits = self.limits
        if reason in ("window", "overflow") and low is not None:
            # A request that would be refused: what may stay above the low mark elsewhere may not here.
            limits = msgspec.structs.replace(limits, high=min(limits.high, low))
        elif low == EVERYTHING and (reason == "undo" or self.suspended):
            # What came back stays above the high mark until the window itself forces a slide.
            limits = msgspec.structs.replace(limits, high=max(limits.high, limits.hard - limits.fixed))
        situation = situation_of(self, limits, low=low)
        return plan_slide(self.frame, list(self.turns.values()), situation, reason=reason)

    def make(self, slide: Slide) -> Frame:
        """Makes a planned slide."""
        before = self.frame
        self.stand(slide.frame)
        leave(self, slide, before=before)
        for number, turn in self.turns.items():
            turn.tokens, turn.body = slide.tokens[number], slide.bodies[number]
        self.tokens, self.body = sum(slide.tokens.values()), sum(slide.bodies.values())
        self._forget()
        return self.frame

    def _forget(self) -> None:
        """What is known of messages that have left is not needed any more."""
        here = {live.position for turn in self.turns.values() for live in turn.messages()}
        self.answers = {number: known for number, known in self.answers.items() if number in self.turns}
        self.short = self.short.of(here)

    def stand(self, frame: Frame) -> None:
        """The frame is in force, with the newest summary of turns that have all left by then."""
        found = self.standing_summary(frame.boundary)
        if (heard := self.recalling.heard) is not None and heard.position < frame.at - 1:
            self.settle()
        self._standing = None
        self.kept_apart.bound()
        self.frame = msgspec.structs.replace(frame, summary=found.seq if found is not None else 0)
        # The last report spoke of another window.
        self.beyond = 0.0
        self.past.frames.append(self.frame)

    def number_from(self, number: int) -> None:
        """The next frame gets a number above this one: numbers are never given again."""
        if number > self.frame.number:
            self.frame = msgspec.structs.replace(self.frame, number=number)

    def configure(self, policy: Policy, limits: Limits, counter: Counter) -> None:
        """
        Goes on under other limits, or with another counter: then all that is in the window is counted again.

        What has left stays out; what no longer fits leaves at the slide that is to follow.
        """
        self.settle()
        another = (counter.id, counter.version) != (self.counter.id, self.counter.version)
        self.policy, self.limits, self.counter = policy, limits, counter
        self._standing = None
        if another:
            recount(self)

    # What stands for what left.

    @property
    def standing(self) -> Standing:
        """What stands for what left: the same until the next frame, so it is put together once."""
        if self._standing is None:
            self._standing = standing_of(self)
        return self._standing

    @standing.setter
    def standing(self, known: Standing) -> None:
        self._standing = known

    def digest_text(self) -> str:
        """What stands for the turns that left."""
        return self.standing.digest

    def step_text(self, turn: int) -> str:
        """What stands for the steps of a live turn that left."""
        return self.standing.steps.get(turn, "")

    def offer(self, summary: Summary) -> None:
        """A summary was written: it waits for the next frame, so that nothing changes between two."""
        self.summaries = offered(self.summaries, summary, in_force=self.frame.summary)

    def summarized(self, summary: Summary | None) -> None:
        """The frame in force stands with this summary: for who keeps summaries beside a history that comes whole."""
        self.summaries = () if summary is None else (summary,)
        self.frame = msgspec.structs.replace(self.frame, summary=0 if summary is None else summary.seq)
        self.past.frames[-1] = self.frame
        self._standing = None

    @property
    def summary(self) -> Summary | None:
        """The summary in force."""
        return next((summary for summary in self.summaries if summary.seq == self.frame.summary != 0), None)

    def standing_summary(self, boundary: int) -> Summary | None:
        """A flat prompt has its summary beside its recent turns, whether or not those have left (seed 004)."""
        return newest_within(self.summaries, None if self.policy.flat else boundary)

    @property
    def recalls(self) -> bool:
        """Whether something may stand beside the newest input that was said before."""
        return self.recalling.may_find(self.memory)

    def recalled(self) -> Recalled | None:
        """What bears on the newest input of all that had left when it came: the same as long as its turn lasts."""
        return self.recalling.found(self)

    def settle(self) -> None:
        """What is recalled for an input never depends on what leaves, or changes, after it."""
        self.recalling.settle(self)
