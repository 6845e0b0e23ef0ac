"""What pictures and documents cost: the providers' own worked examples, and never the length of the base64."""

from __future__ import annotations

import struct
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis.strategies import integers, sampled_from

from sash.core.image import Size
from sash.core.message import Document, Image
from sash.core.tokens import TokenCount
from sash.counters import counter_for, describe
from sash.counters.documents import BY_REFERENCE, PAGE_TOKENS, count_document, pages
from sash.counters.images import UNKNOWN_SIZE, Flat, count_image


def png(width: int, height: int, *, padding: int = 0) -> str:
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return b64encode(header + b"\x08\x06\x00\x00\x00" + b"\x00" * padding).decode()


def picture(width: int, height: int, *, detail: str = "") -> Image:
    return Image(media_type="image/png", data=png(width, height), detail=detail)


def cost(model: str, width: int, height: int, detail: str = "") -> int:
    return counter_for(model).counter.image(picture(width, height, detail=detail)).value


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        # OpenAI, "Images and vision", calculating costs.
        ("gpt-4o", 1024, 1024, "high", 765),
        ("gpt-4o", 2048, 4096, "high", 1105),
        ("gpt-4o", 4096, 8192, "low", 85),
        ("gpt-4o", 512, 512, "high", 255),
        ("gpt-4o", 768, 512, "auto", 425),
        ("gpt-4o-mini", 1024, 1024, "high", 2833 + 4 * 5667),
        ("o1", 1024, 1024, "high", 75 + 4 * 150),
        ("gpt-5", 1024, 1024, "high", 70 + 4 * 140),
        ("gpt-4.1-mini", 1024, 1024, "", 1659),  # 1,024 patches times 1.62
        ("gpt-4.1-mini", 1800, 2400, "", 2353),  # 33 x 44 = 1,452 patches times 1.62
        ("o4-mini", 1800, 2400, "low", 2498),
        # As billed, in OpenAI's forum: 1600 x 1600 is 2,500 patches, or 39 x 39 for the small ones of GPT-5.
        ("gpt-5.4", 1600, 1600, "high", 3000),
        ("gpt-5-mini", 1600, 1600, "high", 1826),
        ("gpt-5.4", 4000, 4000, "original", 12_000),
        ("gpt-5.4", 4000, 4000, "low", 308),  # 16 x 16 patches
        # Anthropic, "Vision": each 28 x 28 patch; and its older table of the largest pictures that are not resized.
        ("claude-sonnet-4-6", 200, 200, "", 64),
        ("claude-sonnet-4-6", 1000, 1000, "", 1296),
        ("claude-sonnet-4-6", 1092, 1092, "", 1521),
        ("claude-sonnet-4-6", 784, 1568, "", 1568),
        ("claude-sonnet-4-6", 819, 1456, "", 1560),
        ("claude-sonnet-4-6", 1920, 1080, "", 1560),
        ("claude-opus-4-8", 1000, 1000, "", 1296),
        ("claude-opus-4-8", 1920, 1080, "", 2691),
        # Google, "Understand and count tokens", "Media resolution".
        ("gemini-2.5-pro", 384, 384, "", 258),
        ("gemini-2.5-pro", 960, 540, "", 1548),
        ("gemini-3.1-pro-preview", 4000, 3000, "", 1120),
        ("gemini-3.1-pro-preview", 4000, 3000, "low", 280),
    ],
)
def test_a_picture_costs_what_its_provider_says(model: str, width: int, height: int, detail: str, tokens: int) -> None:
    assert cost(model, width, height, detail) == tokens


MODELS = (
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-5",
    "gpt-4.1-nano",
    "gpt-5.4",
    "claude-opus-4-5",
    "claude-opus-5",
    "gemini-2.5-pro",
    "grok-4",
)
CEILINGS = {"gpt-4.1-nano": 3779, "gpt-5.4": 3000, "claude-opus-4-5": 1568, "claude-opus-5": 4784}


@given(sampled_from(MODELS), integers(1, 20_000), integers(1, 20_000))
def test_every_picture_costs_something_and_none_more_than_the_ceiling(model: str, width: int, height: int) -> None:
    tokens = describe(model).reading.images.tokens(Size(width, height), "high")
    assert 0 < tokens <= CEILINGS.get(model, 10**9)


@given(integers(1, 9_000), integers(1, 9_000), sampled_from(["gpt-4o", "claude-opus-5", "claude-opus-4-5"]))
def test_a_picture_costs_the_same_on_its_side(width: int, height: int, model: str) -> None:
    rule = describe(model).reading.images
    assert rule.tokens(Size(width, height), "") == rule.tokens(Size(height, width), "")


@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5", "gemini-2.5-pro", "nobody-knows"])
def test_the_length_of_the_base64_is_never_counted(model: str) -> None:
    counter = counter_for(model).counter
    small = Image(data=png(800, 600))
    large = Image(data=png(800, 600, padding=1_000_000))
    assert counter.image(large) == counter.image(small)
    assert counter.image(large).value < 5_000


def test_a_picture_is_counted_exactly_only_if_it_tells_its_size_and_the_rule_is_published() -> None:
    openai, claude = counter_for("gpt-4o").counter, counter_for("claude-opus-4-5").counter
    assert openai.image(picture(800, 600)).exact
    assert claude.image(picture(800, 600)).exact
    assert not openai.image(Image(url="https://example.com/cat.png")).exact
    assert not claude.image(Image(url="file-123")).exact
    assert not counter_for("nobody-knows").counter.image(picture(800, 600)).exact


def test_a_picture_of_unknown_size_counts_as_a_screenshot() -> None:
    counter = counter_for("claude-opus-5").counter
    assert counter.image(Image(url="file-123")).value == cost("claude-opus-5", UNKNOWN_SIZE.width, UNKNOWN_SIZE.height)
    assert count_image(Image(url="file-123"), Flat()) == TokenCount(1600, exact=False)


def test_a_picture_in_a_data_address_tells_its_size() -> None:
    shown = Image(url=f"data:image/png;base64,{png(200, 200)}")
    assert counter_for("claude-opus-4-5").counter.image(shown) == TokenCount(64)


def letters(words: str) -> TokenCount:
    """Counts a token for each letter."""
    return TokenCount(len(words))


def pdf(content: bytes) -> Document:
    return Document(media_type="application/pdf", data=b64encode(content).decode())


def test_a_document_of_words_costs_its_words() -> None:
    assert count_document(Document(media_type="text/plain", data="hello", title="abc"), letters) == TokenCount(8)
    assert count_document(
        Document(media_type="text/markdown", data=b64encode(b"# hi").decode()), letters
    ) == TokenCount(4)
    assert count_document(Document(media_type="application/json", data="data:;base64,e30="), letters) == TokenCount(2)
    # Sent as it stands although it should be base64.
    assert count_document(Document(media_type="text/csv", data="a"), letters) == TokenCount(1)


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"%PDF-1.4" + b"1 0 obj << /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources 5 0 R >> endobj\n" * 3, 3),
        (b"%PDF-1.4 << /Type /Pages /Kids [3 0 R] /Count 12 >>" + b" " * 2_000, 12),
        (b"%PDF-1.7 all in compressed streams" + b"x" * 120_000, 3),
        (b"%PDF-1.7", 1),
        (b"%PDF-1.4 /Count 999999", 1),  # more pages than it has bytes
    ],
)
def test_a_pdf_costs_a_price_for_each_page(content: bytes, count: int) -> None:
    assert pages(content) == count
    assert count_document(pdf(content), letters) == TokenCount(count * PAGE_TOKENS, exact=False)


def test_a_document_known_only_by_its_address_has_a_stated_price() -> None:
    assert (
        count_document(Document(media_type="application/pdf", url="https://example.com/a.pdf"), letters) == BY_REFERENCE
    )
    assert not BY_REFERENCE.exact
