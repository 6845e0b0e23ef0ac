"""Pure: each provider's JSON to messages and back, lossless; its rules, checks and repairs."""

from sash.wire.carry_over import Carried, carry_each, carry_over
from sash.wire.check import Problem, check
from sash.wire.conversation import Conversation, Repair, Tool
from sash.wire.prepare import Passed, Preparing, Sent, prepare
from sash.wire.read import Body, model_of, read, read_list, read_tools, take_apart
from sash.wire.registry import WIRES, Wire, wire_named
from sash.wire.repair import Repaired, repair
from sash.wire.rules import Rules
from sash.wire.strangers import refuse_strangers
from sash.wire.write import carry_tools, replaced, stands_apart, write, write_fields

__all__ = [
    "WIRES",
    "Body",
    "Carried",
    "Conversation",
    "Passed",
    "Preparing",
    "Problem",
    "Repair",
    "Repaired",
    "Rules",
    "Sent",
    "Tool",
    "Wire",
    "carry_each",
    "carry_over",
    "carry_tools",
    "check",
    "model_of",
    "prepare",
    "read",
    "read_list",
    "read_tools",
    "refuse_strangers",
    "repair",
    "replaced",
    "stands_apart",
    "take_apart",
    "wire_named",
    "write",
    "write_fields",
]
