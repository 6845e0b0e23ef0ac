-- What usage has taught of how a provider counts, by a digest of who asked it for which model.

CREATE TABLE lesson (
    tenant text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    body   bytea NOT NULL,
    PRIMARY KEY (tenant, name)
);

ALTER TABLE lesson ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON lesson USING (is_current(tenant)) WITH CHECK (is_current(tenant));
