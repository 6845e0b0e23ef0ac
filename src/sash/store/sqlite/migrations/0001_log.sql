-- Threads and their logs: the source from which everything else can be made again.

CREATE TABLE thread (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant   TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    said_at  REAL,
    made_us  INTEGER NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0,
    -- Grows by at least one with each event, whatever the clock does, so that ordering by time is ordering by seq.
    last_us  INTEGER NOT NULL DEFAULT 0,
    boundary INTEGER NOT NULL DEFAULT 0,
    covered  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, name)
) STRICT;

CREATE INDEX thread_due ON thread (tenant, id) WHERE covered < boundary;

-- Apart from its thread, whose row is written with each append.
CREATE TABLE setup (
    tenant TEXT    NOT NULL,
    thread INTEGER NOT NULL,
    body   BLOB    NOT NULL,
    PRIMARY KEY (tenant, thread)
) STRICT;

CREATE TABLE log (
    -- Named, since VACUUM may renumber rows that have no such column, and the search index knows them by it.
    id      INTEGER PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    thread  INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    wire    TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    turn    INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    exact   INTEGER NOT NULL,
    counter TEXT    NOT NULL,
    said_at REAL,
    made_us INTEGER NOT NULL,
    -- Of all that the event says: SQLite does not notice a flipped byte inside of a value.
    checksum INTEGER NOT NULL,
    body    BLOB    NOT NULL,
    text    TEXT    NOT NULL,
    UNIQUE (tenant, thread, seq)
) STRICT;

CREATE INDEX log_turn ON log (tenant, thread, turn, seq);

CREATE INDEX log_rest ON log (tenant, thread, kind, seq) WHERE kind <> 'message';

CREATE TABLE frame (
    tenant    TEXT    NOT NULL,
    thread    INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    after_seq INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    PRIMARY KEY (tenant, thread, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX frame_after ON frame (tenant, thread, after_seq);

CREATE TABLE checkpoint (
    tenant    TEXT    NOT NULL,
    thread    INTEGER NOT NULL,
    after_seq INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    PRIMARY KEY (tenant, thread)
) STRICT;

CREATE TABLE once (
    tenant    TEXT    NOT NULL,
    thread    INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    digest    BLOB    NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    made_us   INTEGER NOT NULL,
    PRIMARY KEY (tenant, thread, key)
) STRICT, WITHOUT ROWID;
