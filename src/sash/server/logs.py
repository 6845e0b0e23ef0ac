"""The server's log: one JSON object a line, with what happened and never with what was said."""

from __future__ import annotations

import logging
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec

REQUEST: ContextVar[str] = ContextVar("request")
"""Id of the request that is being answered."""

LOGGER = logging.getLogger("sash.server")


class JsonLines(logging.Formatter):
    """A record as one line of JSON: control characters in it are escaped, so no terminal obeys them."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, what happened, and the fields that came with it."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if request := REQUEST.get(None):
            line["request"] = request
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = type(record.exc_info[1]).__name__
            # Where it happened, not what was in the variables or in the message: those may hold what was said.
            line["trace"] = [
                f"{frame.name} {frame.filename.rpartition('/')[2]}:{frame.lineno}"
                for frame in traceback.extract_tb(record.exc_info[2])
            ]
        return msgspec.json.encode(line).decode("utf-8", "replace")


def say(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Write a line."""
    LOGGER.log(level, event, extra={"fields": fields})


def log_to_stderr(level: str = "info") -> None:
    """Let the server's and the library's lines go to stderr as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("sash", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    # Ours has a line per request already, with the route and not the address.
    logging.getLogger("uvicorn.access").disabled = True
    # "Started server process" and the like; what fails is still told.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
