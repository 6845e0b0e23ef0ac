-- Threads and their logs: the source from which everything else can be made again.
-- The tenant stands first in every key, so that tables can be partitioned by it.

CREATE FUNCTION now_us() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- Whose transaction this is. Marked, since the empty name is a tenant too, and no name at all is nobody.
CREATE FUNCTION is_current(tenant text) RETURNS boolean LANGUAGE sql STABLE
RETURN coalesce(current_setting('sash.tenant', true) = '=' || tenant, false);

CREATE FUNCTION is_for_all() RETURNS boolean LANGUAGE sql STABLE
RETURN coalesce(current_setting('sash.tenant', true) = '*', false);

CREATE TABLE thread (
    tenant   text COLLATE "C" NOT NULL,
    id       bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    name     text COLLATE "C" NOT NULL,
    said_at  double precision,
    made_us  bigint NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0,
    -- Grows by at least one with each event, whatever the clock does, so that ordering by time is ordering by seq.
    last_us  bigint NOT NULL DEFAULT 0,
    boundary bigint NOT NULL DEFAULT 0,
    covered  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
);

CREATE INDEX thread_due ON thread (id) WHERE covered < boundary;

-- Apart from its thread, whose row is written with each append.
CREATE TABLE setup (
    tenant text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    body   bytea NOT NULL,
    PRIMARY KEY (tenant, thread)
);

CREATE TABLE log (
    tenant  text COLLATE "C" NOT NULL,
    thread  bigint NOT NULL,
    seq     bigint NOT NULL,
    turn    bigint NOT NULL,
    tokens  bigint NOT NULL,
    made_us bigint NOT NULL,
    said_at double precision,
    exact   smallint NOT NULL,
    checksum integer NOT NULL,
    kind    text NOT NULL,
    wire    text NOT NULL,
    role    text NOT NULL,
    counter text NOT NULL,
    body    bytea NOT NULL,
    text    text NOT NULL,
    PRIMARY KEY (tenant, thread, seq)
);

CREATE INDEX log_turn ON log (tenant, thread, turn, seq);

CREATE INDEX log_rest ON log (tenant, thread, kind, seq) WHERE kind <> 'message';

CREATE TABLE frame (
    tenant    text COLLATE "C" NOT NULL,
    thread    bigint NOT NULL,
    number    bigint NOT NULL,
    after_seq bigint NOT NULL,
    body      bytea NOT NULL,
    PRIMARY KEY (tenant, thread, number)
);

CREATE INDEX frame_after ON frame (tenant, thread, after_seq);

-- Older ones stay, the further back the fewer: going back does not begin at the first event.
CREATE TABLE checkpoint (
    tenant    text COLLATE "C" NOT NULL,
    thread    bigint NOT NULL,
    after_seq bigint NOT NULL,
    body      bytea NOT NULL,
    rest      bytea DEFAULT '',
    PRIMARY KEY (tenant, thread, after_seq)
);

CREATE TABLE once (
    tenant    text COLLATE "C" NOT NULL,
    thread    bigint NOT NULL,
    key       text COLLATE "C" NOT NULL,
    digest    bytea NOT NULL,
    first_seq bigint NOT NULL,
    last_seq  bigint NOT NULL,
    made_us   bigint NOT NULL,
    PRIMARY KEY (tenant, thread, key)
);

-- What a connection committed last. When it breaks while committing, this tells whether it did; the number of the
-- transaction would not, since a server that crashed may give it to another.
CREATE TABLE receipt (
    connection uuid PRIMARY KEY,
    number     bigint NOT NULL,
    made_us    bigint NOT NULL
);

-- The second lock: even a statement that forgot its tenant sees nothing of others. It holds for the owner too.
ALTER TABLE thread ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE setup ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE frame ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE checkpoint ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE once ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

-- A worker for everybody may see which threads there are, and no more.
CREATE POLICY own ON thread USING (is_current(tenant) OR is_for_all());
CREATE POLICY own ON setup USING (is_current(tenant));
CREATE POLICY own ON log USING (is_current(tenant));
CREATE POLICY own ON frame USING (is_current(tenant));
CREATE POLICY own ON checkpoint USING (is_current(tenant));
CREATE POLICY own ON once USING (is_current(tenant));
-- Finding messages by their words: for people (words) and for recall (posting).

CREATE TABLE posting (
    tenant text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    term   bytea NOT NULL,
    seq    bigint NOT NULL,
    count  bigint NOT NULL,
    PRIMARY KEY (tenant, thread, term, seq)
);

CREATE INDEX posting_seq ON posting (tenant, thread, seq);

-- Words are cut by sash, the same for every database; a tsvector would cut them its own way, drop long ones and refuse
-- long texts. The array holds each word once, and the tenant and the thread as words of their own.
CREATE TABLE words (
    tenant text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    seq    bigint NOT NULL,
    words  text[] COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, thread, seq)
);

CREATE INDEX words_words ON words USING gin (words);

ALTER TABLE posting ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON posting USING (is_current(tenant));

-- Not for the owner here: row-level security would keep the planner from the index, so the owner's function below
-- looks words up and applies the policy itself.
ALTER TABLE words ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON words USING (is_current(tenant));

CREATE FUNCTION holding(all_of text[], any_of text[]) RETURNS TABLE (thread bigint, seq bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT words.thread, words.seq FROM words
    WHERE words.words @> all_of AND (any_of IS NULL OR words.words && any_of) AND is_current(words.tenant)
$$;
-- Summaries that are due are derived from `thread`; here stands who is at it and how it went.

CREATE TABLE lease (
    tenant   text COLLATE "C" NOT NULL,
    thread   bigint NOT NULL,
    token    bigint NOT NULL,
    until_us bigint NOT NULL,
    retry_us bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL,
    parked   smallint NOT NULL DEFAULT 0,
    error    text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, thread)
);

CREATE TABLE api_key (
    digest  bytea PRIMARY KEY,
    tenant  text COLLATE "C" NOT NULL,
    label   text NOT NULL,
    said_at double precision,
    revoked smallint NOT NULL DEFAULT 0
);

CREATE INDEX api_key_tenant ON api_key (tenant);

ALTER TABLE lease ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE api_key ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

-- Whose key it is has to be found out before anybody is anybody.
CREATE POLICY own ON lease USING (is_current(tenant) OR is_for_all());
CREATE POLICY own ON api_key USING (is_current(tenant) OR is_for_all()) WITH CHECK (is_current(tenant));
-- The tables that people ask for by name. All of it is derived: a column that can be derived is one that can be wrong.

CREATE VIEW messages WITH (security_invoker = true) AS
SELECT
    log.seq AS id,
    thread.name AS agent_id,
    log.role AS role,
    log.text AS content,
    log.tokens AS token_count,
    timestamptz 'epoch' + log.made_us * interval '1 microsecond' AS created_at,
    shown.live AS in_sliding_window,
    CASE WHEN gap.event IS NOT NULL THEN (
        SELECT timestamptz 'epoch' + cause.made_us * interval '1 microsecond' FROM log AS cause
        WHERE cause.tenant = log.tenant AND cause.thread = log.thread AND cause.seq = gap.event
    ) WHEN NOT shown.live THEN (
        SELECT timestamptz 'epoch' + cause.made_us * interval '1 microsecond'
        FROM frame JOIN log AS cause
            ON cause.tenant = frame.tenant AND cause.thread = frame.thread AND cause.seq = frame.after_seq
        WHERE frame.tenant = log.tenant AND frame.thread = log.thread
            AND (convert_from(frame.body, 'UTF8')::json ->> 'boundary')::bigint > log.turn
        ORDER BY frame.number LIMIT 1
    ) END AS evicted_at,
    log.turn AS exchange_id,
    log.said_at AS said_at,
    log.body AS body,
    log.thread AS thread_id,
    log.tenant AS tenant
FROM log
JOIN thread ON thread.id = log.thread AND thread.tenant = log.tenant
LEFT JOIN LATERAL (
    SELECT convert_from(frame.body, 'UTF8')::json AS body FROM frame
    WHERE frame.tenant = log.tenant AND frame.thread = log.thread ORDER BY frame.number DESC LIMIT 1
) AS head ON true
CROSS JOIN LATERAL (
    SELECT min((rewound.pair ->> 1)::bigint) AS event
    FROM json_array_elements(head.body -> 'rewound') AS rewound (pair)
    WHERE (rewound.pair ->> 0)::bigint < log.seq AND log.seq < (rewound.pair ->> 1)::bigint
) AS gap
CROSS JOIN LATERAL (
    SELECT gap.event IS NULL AND (log.turn < 0 OR log.turn >= thread.boundary OR EXISTS (
        SELECT 1 FROM json_array_elements_text(head.body -> 'carried') AS carried (turn)
        WHERE carried.turn::bigint = log.turn
    )) AS live
) AS shown
WHERE log.kind = 'message';

CREATE VIEW exchanges WITH (security_invoker = true) AS
SELECT
    exchange_id AS id,
    agent_id,
    min(id) AS start_msg_id,
    max(id) AS end_msg_id,
    sum(token_count)::bigint AS token_count,
    min(created_at) AS created_at,
    max(evicted_at) AS evicted_at,
    thread_id,
    tenant
FROM messages WHERE exchange_id >= 0
GROUP BY tenant, thread_id, agent_id, exchange_id;

CREATE VIEW threads WITH (security_invoker = true) AS
SELECT
    thread.id AS id,
    thread.name AS name,
    coalesce((
        SELECT log.text FROM log
        WHERE log.tenant = thread.tenant AND log.thread = thread.id AND log.kind = 'summary'
        ORDER BY log.seq DESC LIMIT 1
    ), '') AS summary,
    timestamptz 'epoch' + thread.made_us * interval '1 microsecond' AS created_at,
    thread.tenant AS tenant
FROM thread;

-- A compaction is a turn of its own: an internal one, with no number among the user's.
CREATE VIEW turns WITH (security_invoker = true) AS
SELECT
    min(log.seq) AS id,
    log.thread AS thread_id,
    log.turn AS number,
    0 AS is_internal,
    sum(log.tokens)::bigint AS token_count,
    timestamptz 'epoch' + min(log.made_us) * interval '1 microsecond' AS created_at,
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
    timestamptz 'epoch' + log.made_us * interval '1 microsecond',
    log.tenant
FROM log WHERE log.kind IN ('compact', 'summary');

CREATE VIEW events WITH (security_invoker = true) AS
SELECT
    log.seq AS id,
    log.thread AS thread_id,
    log.turn AS turn,
    log.kind AS type,
    log.body AS body,
    timestamptz 'epoch' + log.made_us * interval '1 microsecond' AS created_at,
    log.tenant AS tenant
FROM log;
-- Answers that a server was asked to get: one at a time for a thread, with what was sent of each while it came.

CREATE TABLE run (
    tenant     text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    thread     bigint NOT NULL,
    turn       bigint NOT NULL DEFAULT -1,
    internal   smallint NOT NULL,
    status     text NOT NULL DEFAULT 'running',
    stop       text NOT NULL DEFAULT '',
    error      text NOT NULL DEFAULT '',
    owner      text NOT NULL,
    until_us   bigint NOT NULL,
    end_asked  smallint NOT NULL DEFAULT 0,
    last_event bigint NOT NULL DEFAULT 0,
    key        text,
    digest     bytea,
    started_us bigint NOT NULL,
    ended_us   bigint,
    PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX run_alone ON run (tenant, thread) WHERE status = 'running';

CREATE UNIQUE INDEX run_once ON run (tenant, thread, key) WHERE key IS NOT NULL;

CREATE INDEX run_turn ON run (tenant, thread, turn, started_us);

CREATE TABLE run_event (
    tenant  text COLLATE "C" NOT NULL,
    run     text COLLATE "C" NOT NULL,
    seq     bigint NOT NULL,
    kind    text NOT NULL,
    body    bytea NOT NULL,
    made_us bigint NOT NULL,
    PRIMARY KEY (tenant, run, seq)
);

ALTER TABLE run ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE run_event ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

-- Whoever starts looks for what others left behind, whosever it is.
CREATE POLICY own ON run USING (is_current(tenant) OR is_for_all()) WITH CHECK (is_current(tenant));
CREATE POLICY own ON run_event USING (is_current(tenant));
-- What people call a thread.

ALTER TABLE thread ADD COLUMN title text NOT NULL DEFAULT '';

-- What usage has taught of how a provider counts, by a digest of who asked it for which model.

CREATE TABLE lesson (
    tenant text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    body   bytea NOT NULL,
    PRIMARY KEY (tenant, name)
);

ALTER TABLE lesson ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON lesson USING (is_current(tenant)) WITH CHECK (is_current(tenant));

-- A summary is due for turns that have left, and for those that the next slide will evict, once that is near.

ALTER TABLE thread ADD COLUMN ahead bigint NOT NULL DEFAULT 0;

DROP INDEX thread_due;

CREATE INDEX thread_due ON thread (id) WHERE covered < greatest(boundary, ahead);

-- What the proxy goes by from one request of a conversation to the next: by a digest of who asks and of what was said.

CREATE TABLE note (
    tenant  text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    body    bytea NOT NULL,
    made_us bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE INDEX note_age ON note (tenant, made_us);

ALTER TABLE note ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON note USING (is_current(tenant)) WITH CHECK (is_current(tenant));

-- Forks begin with what another thread said. What they share outlives that thread: then it is a trunk, and no thread.

CREATE TABLE fork (
    tenant    text COLLATE "C" NOT NULL,
    source    bigint NOT NULL,
    thread    bigint NOT NULL,
    until_seq bigint NOT NULL,
    PRIMARY KEY (tenant, source, thread)
);

CREATE INDEX fork_thread ON fork (tenant, thread);

CREATE TABLE trunk (
    tenant   text COLLATE "C" NOT NULL,
    id       bigint NOT NULL,
    last_seq bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);

ALTER TABLE fork ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE trunk ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON fork USING (is_current(tenant));
CREATE POLICY own ON trunk USING (is_current(tenant));
