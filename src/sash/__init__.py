"""Keeps an LLM conversation inside its budget for as long as it lasts."""

from typing import TYPE_CHECKING

from sash.errors import (
    AnswerBroken,
    BodyTooLarge,
    Conflict,
    DamagedDatabase,
    FactsFull,
    InvalidArgument,
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
    NothingToUndo,
    PinsFull,
    ProviderBusy,
    ProviderDown,
    ProviderError,
    ProviderSilent,
    RequestRefused,
    RequestTooLong,
    SashError,
    ServerRefused,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    SummaryRejected,
    ThreadBusy,
    ThreadExists,
    ThreadMoved,
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
    from sash.core.difference import Difference
    from sash.core.explanation import Explanation
    from sash.core.facts import Fact
    from sash.core.frame import Frame
    from sash.core.model_limits import ModelLimits
    from sash.core.policy import Policy
    from sash.core.pressure import Pressure
    from sash.core.sources import Source
    from sash.core.summary import Summary
    from sash.core.tokens import TokenCount
    from sash.counting import count_tokens
    from sash.fitting import Fitted, fit
    from sash.store import Found
    from sash.summarize import Summarizer
    from sash.thread import Appended, Mark, Thread, Verification, open, tools  # noqa: A004  (its public name)
    from sash.transcripts import Entry, Heading, Transcript, open_transcript, write_transcript
    from sash.window import Context, Prepared, Report
else:
    from sash.names import __getattr__  # noqa: F401  (Python asks it for names that are not there yet)

__all__ = [
    "Allotment",
    "AnswerBroken",
    "Appended",
    "BodyTooLarge",
    "Budget",
    "Conflict",
    "Context",
    "DamagedDatabase",
    "Difference",
    "Entry",
    "Explanation",
    "Fact",
    "FactsFull",
    "Fitted",
    "Found",
    "Frame",
    "Heading",
    "InvalidArgument",
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
    "Mark",
    "MissingExtra",
    "ModelLimits",
    "NewerDatabase",
    "NotFound",
    "NothingToUndo",
    "PinsFull",
    "Policy",
    "Prepared",
    "Pressure",
    "Prices",
    "ProviderBusy",
    "ProviderDown",
    "ProviderError",
    "ProviderSilent",
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
    "Summarizer",
    "Summary",
    "SummaryRejected",
    "Thread",
    "ThreadBusy",
    "ThreadExists",
    "ThreadMoved",
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
    "Verification",
    "WindowOverflow",
    "__version__",
    "count_tokens",
    "fit",
    "open",
    "open_transcript",
    "tools",
    "write_transcript",
]
