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
