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
