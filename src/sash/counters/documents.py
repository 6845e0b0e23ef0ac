"""
What a file given to a model costs.

Words are counted as words. A provider renders each page of a PDF and reads its text beside it;
no tokenizer tells what that takes, so a page has a stated price and the count is an estimate.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable

from sash.core.message import Document
from sash.core.tokens import TokenCount

PAGE_TOKENS = 3000
"""A dense page: Anthropic documents 1,500 to 3,000, of which the rendered page is about half."""
PAGE_BYTES = 50_000
"""The size of a page, where a file does not tell how many it has."""
BY_REFERENCE = TokenCount(2 * PAGE_TOKENS, exact=False)
"""A file known only by its address or id."""

_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![a-zA-Z])")
_PAGES_IN_TREE = re.compile(rb"/Count\s{1,8}(\d{1,6})(?!\d)")
_LEAST_PAGE_BYTES = 60
"""No page of a PDF can be written in less: a file that claims more pages than that is lying."""


def count_document(document: Document, count: Callable[[str], TokenCount]) -> TokenCount:
    """What a file costs: its words if it has any, else a price for each page."""
    title = count(document.title)
    if not document.data:
        return title + BY_REFERENCE
    if document.media_type == "text/plain":
        return title + count(document.data)
    content = _decoded(document.data)
    if document.media_type.startswith("text/") or document.media_type in _WORDS:
        return title + count(content.decode("utf-8", "replace"))
    return title + TokenCount(pages(content) * PAGE_TOKENS, exact=False)


_WORDS = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})


def pages(content: bytes) -> int:
    """How many pages a PDF says it has; of a file that does not say, as many as its size suggests."""
    stated = max(len(_PAGE.findall(content)), *(int(number) for number in _PAGES_IN_TREE.findall(content)), 0)
    stated = min(stated, len(content) // _LEAST_PAGE_BYTES)
    return stated or max(1, -(-len(content) // PAGE_BYTES))


def _decoded(data: str) -> bytes:
    if data.startswith("data:"):
        data = data[data.find(",") + 1 :]
    try:
        return a2b_base64(data)
    except ValueError:
        # Not base64 after all, so it is the words themselves.
        return data.encode("utf-8", "replace")
