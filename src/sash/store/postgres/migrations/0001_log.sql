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

CREATE TABLE checkpoint (
    tenant    text COLLATE "C" NOT NULL,
    thread    bigint NOT NULL,
    after_seq bigint NOT NULL,
    body      bytea NOT NULL,
    PRIMARY KEY (tenant, thread)
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
