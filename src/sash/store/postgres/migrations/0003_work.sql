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
