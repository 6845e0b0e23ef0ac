-- What usage has taught of how a provider counts, by a digest of who asked it for which model.

CREATE TABLE lesson (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
