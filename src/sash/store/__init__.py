"""Where threads live: one contract, in memory, on SQLite, on PostgreSQL."""

from sash.store.memory import MemoryStore
from sash.store.protocol import Store
from sash.store.rows import (
    ApiKey,
    Appended,
    Entry,
    Found,
    FrameRow,
    Head,
    Health,
    Key,
    Lease,
    Matching,
    Posting,
    Share,
    ThreadRow,
    Trouble,
)
from sash.store.runs import NewRun, RunEnd, RunEvent, RunRow, RunStatus
from sash.store.url import DEFAULT, open_store

__all__ = [
    "DEFAULT",
    "ApiKey",
    "Appended",
    "Entry",
    "Found",
    "FrameRow",
    "Head",
    "Health",
    "Key",
    "Lease",
    "Matching",
    "MemoryStore",
    "NewRun",
    "Posting",
    "RunEnd",
    "RunEvent",
    "RunRow",
    "RunStatus",
    "Share",
    "Store",
    "ThreadRow",
    "Trouble",
    "open_store",
]
