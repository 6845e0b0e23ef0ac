"""What the stores on a database have in common: the verbs, as statements in transactions."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from sash.store.rows import Health
from sash.store.sql_keys import SqlKeys
from sash.store.sql_log import SqlLog
from sash.store.sql_runs import SqlRuns
from sash.store.sql_summaries import SqlSummaries
from sash.store.sql_threads import SqlThreads


class SqlStore(SqlThreads, SqlLog, SqlSummaries, SqlKeys, SqlRuns):
    """A store on a database."""

    @abstractmethod
    def health(self) -> Health:
        """What is well and what is not."""

    @abstractmethod
    def backup(self, path: Path) -> None:
        """A copy of the whole store as of one moment."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""
