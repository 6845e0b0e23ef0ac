"""What a window is made for: a model, a policy, and what stands beside the conversation."""

from __future__ import annotations

import re

import msgspec

from sash.core.limits import Limits, limits_of
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.core.tokens import Counter, TokenCount, total
from sash.counters import Choice, calibrated, counter_under
from sash.errors import InvalidMessage
from sash.wire import Tool, wire_named
from sash.wire.json_text import as_json


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """All that shapes a window beside what is said in it."""

    model: str = ""
    policy: Policy = Policy()
    system: tuple[Message, ...] = ()
    """The system prompt, where it does not stand among the messages."""
    tools: tuple[Tool, ...] = ()
    sources: tuple[Source, ...] = ()
    answer: int = 0
    """The largest answer that is asked for; 0: what the model's reserve says."""
    told_window: int = 0
    """What the provider said that the model takes when it refused a request; 0: it has not said."""
    continued: bool = False
    """The provider keeps what was said before, and what is said here is not all there is."""
    calibration: float = 1.0
    """What the provider counts for each token that we count, where its usage has shown it."""

    @property
    def signs(self) -> bool:
        """
        Whether the provider signs its thinking, and so takes none that nobody signed.

        Others speak Anthropic's wire for models of their own, sign nothing, and want their thinking back.
        """
        return not self.model or "claude" in self.model.lower()

    @property
    def heeds(self) -> bool:
        """Whether the provider takes messages of the system's among the others: Claude does from 4.8 on."""
        return not self.signs or _HEEDS.search(self.model.lower()) is not None

    def choice(self) -> Choice:
        """What counts for the model."""
        return calibrated(counter_under(self.policy, self.model), self.calibration)

    def tool_tokens(self, counter: Counter) -> TokenCount:
        """What the tools take, each written as on its own wire."""
        return counter.tools([wire_named(tool.wire).write_tool(tool) for tool in self.tools])

    def fixed(self, counter: Counter, listed: tuple[TokenCount, ...] = ()) -> TokenCount:
        """
        What a request takes before anything is said.

        Some wires have system prompts among the messages: those are `listed`, already counted.
        """
        said = map(counter.message, self.system)
        return total((*said, *listed, self.tool_tokens(counter), TokenCount(counter.priming)))

    def limits(self, choice: Choice, fixed: TokenCount) -> Limits:
        """The policy's sizes for the model."""
        known = choice.model.limits
        window = None if choice.model.default_window else known.window
        return limits_of(
            self.policy,
            window=window,
            max_output=known.max_output,
            max_input=known.max_input,
            fixed=fixed.value,
            answer=self.answer,
            told=self.told_window,
        )


_HEEDS = re.compile(r"claude-[a-z]+-(?:4[-.](?:[89]|[1-9]\d)|[5-9]|[1-9]\d)(?!\d)")


def system_prompt(system: object, wire: str) -> tuple[Message, ...]:
    """A system prompt as the provider takes it: words, or blocks; nothing where it is empty."""
    if not system:
        return ()
    written = msgspec.json.encode(system) if isinstance(system, str) else as_json(system)
    spoken = wire_named(wire)
    try:
        if spoken.SYSTEM:
            return (spoken.read_system(written),)
        return (spoken.read_message(b'{"role":"system","content":' + written + b"}"),)
    except InvalidMessage as error:
        # It is nobody's `content` to whoever gave it.
        within = error.field.removeprefix("content").lstrip(".")
        raise InvalidMessage(error.problem, field=f"system{within if within[:1] == '[' else ''}") from None
