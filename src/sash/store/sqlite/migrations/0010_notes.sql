-- What the proxy goes by from one request of a conversation to the next: by a digest of who asks and of what was said.

CREATE TABLE note (
    tenant  TEXT NOT NULL,
    name    TEXT NOT NULL,
    body    BLOB NOT NULL,
    made_us INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX note_age ON note (tenant, made_us);
