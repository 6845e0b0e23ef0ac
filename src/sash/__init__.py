"""Keeps an LLM conversation inside its budget for as long as it lasts."""

from typing import TYPE_CHECKING

from sash.errors import (
    AnswerBroken,
    BodyTooLarge,
    Conflict,
    DamagedDatabase,
    InvalidMessage,
    InvalidName,
    InvalidPolicy,
    InvalidRequest,
    InvalidSetting,
    InvalidUpstream,
    KeyMissing,
    KeyRefused,
    KeyReused,
    LeaseLost,
    MissingExtra,
    NewerDatabase,
    NotFound,
    ProviderBusy,
    ProviderDown,
    ProviderError,
    RequestRefused,
    RequestTooLong,
    SashError,
    ServerRefused,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    ThreadExists,
    TranscriptError,
    UnknownCounter,
    UnknownFamily,
    UnknownFormat,
    UnknownHandle,
    UnknownProvider,
    UnknownStore,
    UnknownTranscript,
    UnknownWire,
    UnreadableTokenizer,
    UnreadableTranscript,
    WindowOverflow,
)
from sash.version import __version__

if TYPE_CHECKING:
    from sash.core.budget import Allotment, Budget
    from sash.core.cost import Prices
    from sash.core.frame import Frame
    from sash.core.policy import Policy
    from sash.core.sources import Source
    from sash.core.tokens import TokenCount
    from sash.counting import count_tokens
    from sash.fitting import Fitted, fit
    from sash.transcripts import Entry, Transcript, open_transcript
    from sash.window import Report
else:
    from sash.names import __getattr__  # noqa: F401  (Python asks it for names that are not there yet)

__all__ = [
    "Allotment",
    "AnswerBroken",
    "BodyTooLarge",
    "Budget",
    "Conflict",
    "DamagedDatabase",
    "Entry",
    "Fitted",
    "Frame",
    "InvalidMessage",
    "InvalidName",
    "InvalidPolicy",
    "InvalidRequest",
    "InvalidSetting",
    "InvalidUpstream",
    "KeyMissing",
    "KeyRefused",
    "KeyReused",
    "LeaseLost",
    "MissingExtra",
    "NewerDatabase",
    "NotFound",
    "Policy",
    "Prices",
    "ProviderBusy",
    "ProviderDown",
    "ProviderError",
    "Report",
    "RequestRefused",
    "RequestTooLong",
    "SashError",
    "ServerRefused",
    "Source",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "ThreadExists",
    "TokenCount",
    "Transcript",
    "TranscriptError",
    "UnknownCounter",
    "UnknownFamily",
    "UnknownFormat",
    "UnknownHandle",
    "UnknownProvider",
    "UnknownStore",
    "UnknownTranscript",
    "UnknownWire",
    "UnreadableTokenizer",
    "UnreadableTranscript",
    "WindowOverflow",
    "__version__",
    "count_tokens",
    "fit",
    "open_transcript",
]
