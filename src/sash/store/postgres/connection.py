"""Transactions on PostgreSQL: whose they are, and what became of them when the connection broke."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

import msgspec
import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool

from sash.errors import StoreUnavailable
from sash.store.postgres.faults import AGAIN
from sash.store.postgres.running import Connection, Transaction, known
from sash.store.running import Running

T = TypeVar("T")
Pool = ConnectionPool[Connection]

PATIENCE_SECONDS = 15.0
"""How long a server may be away (a restart, a failover) before that is an error."""

LOCK_TIMEOUT = "30s"

UNKNOWN = "the connection was lost while committing; whether this was stored is not known"


class Receipt(msgspec.Struct, frozen=True):
    """Names one transaction of one connection."""

    connection: UUID
    number: int


class Lost(Exception):
    """The connection broke. Never seen outside of this module."""

    def __init__(self, error: psycopg.Error, receipt: Receipt | None, result: object) -> None:
        super().__init__(receipt)
        self.error, self.result = error, result
        self.receipt = receipt
        """Of the transaction that may have been committed; None when it cannot have been."""


def read(pool: Pool, tenant: str | None, work: Callable[[Running], T]) -> T:
    """Run reading work on one snapshot; again if the connection breaks."""

    def once() -> T:
        with pool.connection(timeout=PATIENCE_SECONDS) as connection:
            return _transaction(connection, tenant, work, writing=False)

    return _patiently(once, pool)


def write(pool: Pool, tenant: str | None, work: Callable[[Running], T]) -> T:
    """Run writing work; again if the connection breaks and it was not committed."""

    def once() -> T:
        with pool.connection(timeout=PATIENCE_SECONDS) as connection:
            return _transaction(connection, tenant, work, writing=True)

    return _patiently(once, pool)


def _patiently(once: Callable[[], T], pool: Pool) -> T:
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = 0.01
    while True:
        try:
            return once()
        except Lost as lost:
            if lost.receipt is not None and _committed(pool, lost.receipt, deadline):
                result: T = lost.result  # type: ignore[assignment]  # it is what the work gave
                return result
            if time.monotonic() > deadline:
                raise lost.error from None
        except AGAIN:
            if time.monotonic() > deadline:
                raise
        time.sleep(pause)
        pause = min(0.5, pause * 2)


def _transaction(connection: Connection, tenant: str | None, work: Callable[[Running], T], *, writing: bool) -> T:
    receipt: Receipt | None = None
    result: T | None = None
    try:
        with connection.pipeline():
            connection.execute("BEGIN" if writing else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            claim = "*" if tenant is None else f"={tenant}"
            connection.execute(known()["begin"], {"claim": claim, "lock_timeout": LOCK_TIMEOUT})
            result = work(Transaction(connection))
            if writing:
                connection.writes += 1
                numbered = Receipt(connection.id, connection.writes)
                connection.execute(known()["put_receipt"], {"connection": connection.id, "number": numbered.number})
                receipt = numbered
            connection.execute("COMMIT")
    except psycopg.OperationalError as error:
        if connection.closed or connection.broken:
            raise Lost(error, receipt, result) from error
        raise
    finally:
        if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
            connection.rollback()
    return result


def _committed(pool: Pool, receipt: Receipt, deadline: float) -> bool:
    """What became of a transaction whose connection broke while it was committed."""
    while time.monotonic() < deadline:
        try:
            with pool.connection(timeout=1.0) as connection:
                last = connection.execute(known()["last_receipt"], {"connection": receipt.connection}).fetchone()
        except psycopg.Error:
            time.sleep(0.05)
            continue
        return last is not None and last[0] == receipt.number
    raise StoreUnavailable("postgresql", UNKNOWN)
