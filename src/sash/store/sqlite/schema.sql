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

-- Older ones stay, the further back the fewer: going back does not begin at the first event.
CREATE TABLE checkpoint (
    tenant    TEXT    NOT NULL,
    thread    INTEGER NOT NULL,
    after_seq INTEGER NOT NULL,
    body      BLOB    NOT NULL, rest BLOB DEFAULT x'',
    PRIMARY KEY (tenant, thread, after_seq)
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
-- Finding messages by their words: for people (words) and for recall (posting).

CREATE TABLE posting (
    tenant TEXT    NOT NULL,
    thread INTEGER NOT NULL,
    term   BLOB    NOT NULL,
    seq    INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (tenant, thread, term, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX posting_seq ON posting (tenant, thread, seq);

-- Words are cut by sash, the same for every database; this index holds them and no text. `place` is the tenant and the
-- thread as words of their own, so that nobody's search walks through another's messages.
CREATE VIRTUAL TABLE words USING fts5 (place, text, content = '', columnsize = 0, tokenize = 'ascii');

-- What is deleted must not stay behind in the index until some later merge.
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
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
-- The tables that people ask for by name. All of it is derived: a column that can be derived is one that can be wrong.

CREATE VIEW messages AS
SELECT
    log.seq AS id,
    log.name AS agent_id,
    log.role AS role,
    log.text AS content,
    log.tokens AS token_count,
    datetime(log.made_us / 1000000, 'unixepoch') || printf('.%06d', log.made_us % 1000000) AS created_at,
    log.rewind IS NULL AND (log.turn < 0 OR log.turn >= log.boundary OR EXISTS (
        SELECT 1 FROM json_each(log.head, '$.carried') AS carried WHERE carried.value = log.turn
    )) AS in_sliding_window,
    CASE WHEN log.rewind IS NOT NULL THEN (
        SELECT datetime(cause.made_us / 1000000, 'unixepoch') || printf('.%06d', cause.made_us % 1000000)
        FROM log AS cause
        WHERE cause.tenant = log.tenant AND cause.thread = log.thread AND cause.seq = log.rewind
    ) WHEN log.turn >= 0 AND log.turn < log.boundary AND NOT EXISTS (
        SELECT 1 FROM json_each(log.head, '$.carried') AS carried WHERE carried.value = log.turn
    ) THEN (
        SELECT datetime(cause.made_us / 1000000, 'unixepoch') || printf('.%06d', cause.made_us % 1000000)
        FROM frame JOIN log AS cause
            ON cause.tenant = frame.tenant AND cause.thread = frame.thread AND cause.seq = frame.after_seq
        WHERE frame.tenant = log.tenant AND frame.thread = log.thread
            AND json_extract(CAST(frame.body AS TEXT), '$.boundary') > log.turn
        ORDER BY frame.number LIMIT 1
    ) END AS evicted_at,
    log.turn AS exchange_id,
    log.said_at AS said_at,
    log.body AS body,
    log.thread AS thread_id,
    log.tenant AS tenant
FROM (
    SELECT
        log.*,
        thread.name AS name,
        thread.boundary AS boundary,
        CAST(head.body AS TEXT) AS head,
        (
            SELECT min(json_extract(gap.value, '$[1]')) FROM json_each(CAST(head.body AS TEXT), '$.rewound') AS gap
            WHERE json_extract(gap.value, '$[0]') < log.seq AND log.seq < json_extract(gap.value, '$[1]')
        ) AS rewind
    FROM log
    JOIN thread ON thread.id = log.thread AND thread.tenant = log.tenant
    LEFT JOIN frame AS head ON head.tenant = log.tenant AND head.thread = log.thread AND head.number = (
        SELECT max(newest.number) FROM frame AS newest WHERE newest.tenant = log.tenant AND newest.thread = log.thread
    )
    WHERE log.kind = 'message'
) AS log;

CREATE VIEW exchanges AS
SELECT
    exchange_id AS id,
    agent_id,
    min(id) AS start_msg_id,
    max(id) AS end_msg_id,
    sum(token_count) AS token_count,
    min(created_at) AS created_at,
    max(evicted_at) AS evicted_at,
    thread_id,
    tenant
FROM messages WHERE exchange_id >= 0
GROUP BY tenant, thread_id, agent_id, exchange_id;

CREATE VIEW threads AS
SELECT
    thread.id AS id,
    thread.name AS name,
    coalesce((
        SELECT log.text FROM log
        WHERE log.tenant = thread.tenant AND log.thread = thread.id AND log.kind = 'summary'
        ORDER BY log.seq DESC LIMIT 1
    ), '') AS summary,
    datetime(thread.made_us / 1000000, 'unixepoch') || printf('.%06d', thread.made_us % 1000000) AS created_at,
    thread.tenant AS tenant
FROM thread;

-- A compaction is a turn of its own: an internal one, with no number among the user's.
CREATE VIEW turns AS
SELECT
    min(log.seq) AS id,
    log.thread AS thread_id,
    log.turn AS number,
    0 AS is_internal,
    sum(log.tokens) AS token_count,
    datetime(min(log.made_us) / 1000000, 'unixepoch') || printf('.%06d', min(log.made_us) % 1000000) AS created_at,
    log.tenant AS tenant
FROM log WHERE log.kind = 'message' AND log.turn >= 0
GROUP BY log.tenant, log.thread, log.turn
UNION ALL
SELECT
    log.seq,
    log.thread,
    NULL,
    1,
    log.tokens,
    datetime(log.made_us / 1000000, 'unixepoch') || printf('.%06d', log.made_us % 1000000),
    log.tenant
FROM log WHERE log.kind IN ('compact', 'summary');

CREATE VIEW events AS
SELECT
    log.seq AS id,
    log.thread AS thread_id,
    log.turn AS turn,
    log.kind AS type,
    log.body AS body,
    datetime(log.made_us / 1000000, 'unixepoch') || printf('.%06d', log.made_us % 1000000) AS created_at,
    log.tenant AS tenant
FROM log;
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
-- What people call a thread.

ALTER TABLE thread ADD COLUMN title TEXT NOT NULL DEFAULT '';

-- What usage has taught of how a provider counts, by a digest of who asked it for which model.

CREATE TABLE lesson (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- A summary is due for turns that have left, and for those that the next slide will evict, once that is near.

ALTER TABLE thread ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0;

DROP INDEX thread_due;

CREATE INDEX thread_due ON thread (id) WHERE covered < max(boundary, ahead);

-- What the proxy goes by from one request of a conversation to the next: by a digest of who asks and of what was said.

CREATE TABLE note (
    tenant  TEXT NOT NULL,
    name    TEXT NOT NULL,
    body    BLOB NOT NULL,
    made_us INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX note_age ON note (tenant, made_us);

-- Forks begin with what another thread said. What they share outlives that thread: then it is a trunk, and no thread.

CREATE TABLE fork (
    tenant    TEXT    NOT NULL,
    source    INTEGER NOT NULL,
    thread    INTEGER NOT NULL,
    until_seq INTEGER NOT NULL,
    PRIMARY KEY (tenant, source, thread)
) STRICT, WITHOUT ROWID;

CREATE INDEX fork_thread ON fork (tenant, thread);

CREATE TABLE trunk (
    tenant   TEXT    NOT NULL,
    id       INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
