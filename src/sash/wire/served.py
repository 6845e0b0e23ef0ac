"""What a provider runs by itself: a use and its result, both in the assistant's own messages (Anthropic)."""

from __future__ import annotations

import msgspec

from sash.core.message import Block, Opaque

_USES = frozenset({"server_tool_use", "mcp_tool_use"})
_RESULT = "_tool_result"


class _Named(msgspec.Struct, gc=False):
    id: str = ""
    tool_use_id: str = ""


_named = msgspec.json.Decoder(_Named)


def use_of(block: Block) -> str:
    """Id of the use that a block tells of; empty where it tells of none."""
    return _id(block).id if type(block) is Opaque and block.kind in _USES else ""


def result_of(block: Block) -> str:
    """Id of the use that a block is the result of; empty where it is none."""
    return _id(block).tool_use_id if type(block) is Opaque and block.kind.endswith(_RESULT) else ""


def _id(block: Opaque) -> _Named:
    try:
        return _named.decode(block.body)
    except msgspec.ValidationError:
        # An id that is none: its provider will say so.
        return _Named()
