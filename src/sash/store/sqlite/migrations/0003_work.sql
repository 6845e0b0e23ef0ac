-- Summaries that are due are derived from `thread`; here stands who is at it and how it went.

CREATE TABLE lease (
    tenant   TEXT    NOT NULL,
    thread   INTEGER NOT NULL,
    token    INTEGER NOT NULL,
    until_us INTEGER NOT NULL,
    retry_us INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL,
    parked   INTEGER NOT NULL DEFAULT 0,
    error    TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, thread)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
    digest  BLOB    PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    label   TEXT    NOT NULL,
    said_at REAL,
    revoked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX api_key_tenant ON api_key (tenant);
