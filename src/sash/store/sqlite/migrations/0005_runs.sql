-- Answers that a server was asked to get: one at a time for a thread, with what was sent of each while it came.

CREATE TABLE run (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    thread     INTEGER NOT NULL,
    turn       INTEGER NOT NULL DEFAULT -1,
    internal   INTEGER NOT NULL,
    status     TEXT    NOT NULL DEFAULT 'running',
    stop       TEXT    NOT NULL DEFAULT '',
    error      TEXT    NOT NULL DEFAULT '',
    owner      TEXT    NOT NULL,
    until_us   INTEGER NOT NULL,
    end_asked  INTEGER NOT NULL DEFAULT 0,
    last_event INTEGER NOT NULL DEFAULT 0,
    key        TEXT,
    digest     BLOB,
    started_us INTEGER NOT NULL,
    ended_us   INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX run_alone ON run (tenant, thread) WHERE status = 'running';

CREATE UNIQUE INDEX run_once ON run (tenant, thread, key) WHERE key IS NOT NULL;

CREATE INDEX run_turn ON run (tenant, thread, turn, started_us);

CREATE TABLE run_event (
    tenant  TEXT    NOT NULL,
    run     TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    body    BLOB    NOT NULL,
    made_us INTEGER NOT NULL,
    PRIMARY KEY (tenant, run, seq)
) STRICT, WITHOUT ROWID;
