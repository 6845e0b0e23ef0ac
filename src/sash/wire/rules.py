"""What each provider demands of the messages it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from sash.core.message import Message, ToolCall


class Stray(NamedTuple):
    """A field that a message came with and must not be sent with."""

    what: str
    """The kind of repair that leaves it out."""
    why: str


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider demands of the messages it is sent."""

    results_in_user_messages: bool = False
    """Results of one step stand in a message of the user's (Anthropic), not in one of their own each."""
    joins_runs: bool = False
    """Consecutive messages of one role count as one."""
    results_anywhere: bool = False
    """A result may stand anywhere after its call."""
    custom_results: bool = False
    """The result of a custom tool's call says that it is one (Responses)."""
    thinking_leads: bool = False
    """Reasoning is an item of its own and needs the item that it led to (Responses)."""
    unseen: frozenset[str] = frozenset()
    """Kinds of opaque items that stand for what the provider keeps: after one, a result may answer a call in it."""
    system_leads: bool = False
    """The system speaks before all others; what it says later the user's messages tell, where it is not heeded."""
    system_apart: bool = False
    """The system prompt has a field of its own: it is none of the messages, of which there has to be one."""
    starts_with_user: bool = False
    refuses_blank_text: bool = False
    refuses_empty_user: bool = False
    signed_thinking: bool = False
    """Thinking goes with its provider's proof, or not at all."""
    stray: Callable[[Message], Stray | None] | None = None
    """Finds a field that a message must not be sent with; a message that was changed is written without such."""
    as_object: Callable[[ToolCall], str] | None = None
    """What a call came with, as the object that alone is taken; a call may have come with something else."""
    most_breakpoints: int = 0
    """So many marks of what is to be cached are taken, in messages, system prompt and tools; 0: there are none."""
    tools: bool = True
    """The model can be offered tools at all."""
    errors_are_text: bool = False
    """A result that is an error holds text and nothing else."""
    serves: bool = False
    """The provider runs tools by itself, and what it ran has its result in the same step (Anthropic)."""
    trims_end: bool = False
    """What the assistant says last ends neither in white space nor in thinking."""
    id_forbidden: str = ""
    """A pattern of characters that ids must not have."""
    id_longest: int = 0
    """Characters that an id may have; 0: nobody says."""
    takes_anything: bool = False
    """One text is made of it all: there is nothing that could be refused."""
    item_id: Callable[[Message], str] | None = None
    """Reads the id of a message, where messages have ids of their own; empty where it has none."""
    without_id: Callable[[Message], Message] | None = None
    """A message without its id, which came before or tells of reasoning that is not sent; nothing of what needs one."""
