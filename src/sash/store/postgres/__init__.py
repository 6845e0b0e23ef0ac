"""Threads in PostgreSQL, through psycopg 3 and its pool: the way past one machine."""

from sash.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
