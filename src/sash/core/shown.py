"""A message as a frame shows it: shortened, without thinking whose proof is void, or told as text."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from sash.core.frame import Shortened, handle_of
from sash.core.live import LiveMessage
from sash.core.message import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    by_sash,
)
from sash.core.shorten import shorten

Short = Callable[[LiveMessage, int, int], Block]
"""A block of a message in short: the message, the block's place, characters kept (0: the usual form)."""


def in_short(live: LiveMessage, place: int, keep: int) -> Block:
    """One block of a message in short."""
    return shorten(live.block(place), handle_of(live.position, place), keep)


class ShortForms:
    """Blocks of one window in short: each is made once, however many plans, digests and requests ask for it."""

    def __init__(self, made: Iterable[tuple[tuple[int, int, int], Block]] = ()) -> None:
        self._made = dict(made)

    def __call__(self, live: LiveMessage, place: int, keep: int) -> Block:
        """One block of a message in short."""
        key = (live.position, place, keep)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = in_short(live, place, keep)
        return made

    def of(self, positions: Container[int]) -> ShortForms:
        """Those of the messages at these positions."""
        return ShortForms((key, block) for key, block in self._made.items() if key[0] in positions)

    def copy(self) -> ShortForms:
        """All of them, in a window that goes on by itself."""
        return ShortForms(self._made.items())


def shown(
    live: LiveMessage,
    shortened: Sequence[Shortened] = (),
    *,
    unsigned: bool = False,
    plain: bool = False,
    short: Short = in_short,
) -> Message | None:
    """
    What is sent of a message, None when that is nothing.

    The very same object where nothing is to be changed. `unsigned` leaves out its thinking, or
    belongs to a step whose thinking is left out; `plain` tells its calls and results as text.
    """
    message = live.message
    if message.role == "meta":
        return None
    unsigned = unsigned and message.role == "assistant"
    if not (shortened or unsigned or plain):
        return message
    blocks: list[Block] = list(message.blocks)
    for cut in shortened:
        blocks[cut.block] = short(live, cut.block, cut.keep)
    if unsigned:
        blocks = [block for block in blocks if not (type(block) is Thinking and (block.signature or live.size.signed))]
    if message.blocks and not blocks:
        return None
    if plain:
        return _as_text(message, blocks)
    # What stood beside thinking that is left out is not what its provider knows any more, even if it says the same.
    same = tuple(blocks) == message.blocks and not (unsigned and message.source)
    return message if same else message.edit(tuple(blocks))


def _as_text(message: Message, blocks: Sequence[Block]) -> Message:
    """A message of a tool loop that lost its signed thinking: providers take its calls as words only."""
    words: list[str] = []
    pictures: list[Block] = []
    for block in blocks:
        match block:
            case Text(text):
                words.append(text)
            case ToolCall(_, name, arguments):
                words.append(by_sash(f"called {name} with {arguments}"))
            case ToolResult(_, content, error):
                texts = "\n".join(part.text for part in content if type(part) is Text)
                words.append(f"{by_sash('it failed' if error else 'it gave')}\n{texts}")
                pictures += [part for part in content if isinstance(part, Image | Document)]
            case Image() | Document():
                pictures.append(block)
            case Opaque(kind):
                words.append(by_sash(f"{kind} left out"))
    role: Role = "assistant" if message.role == "assistant" else "user"
    return Message(role=role, blocks=(Text("\n".join(words) or by_sash("nothing")), *pictures))
