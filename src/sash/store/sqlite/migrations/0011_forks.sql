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

INSERT INTO fork (tenant, source, thread, until_seq)
SELECT setup.tenant, json_extract(part.value, '$.thread'), setup.thread, json_extract(part.value, '$.until')
FROM setup, json_each(
    CASE WHEN json_valid(CAST(setup.body AS TEXT)) THEN CAST(setup.body AS TEXT) ELSE '{}' END, '$.segments'
) AS part
WHERE json_extract(part.value, '$.thread') IN (SELECT id FROM thread WHERE thread.tenant = setup.tenant);

-- Older checkpoints stay, the further back the fewer: going back does not begin at the first event.

ALTER TABLE checkpoint RENAME TO newest_checkpoint;

CREATE TABLE checkpoint (
    tenant    TEXT    NOT NULL,
    thread    INTEGER NOT NULL,
    after_seq INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    PRIMARY KEY (tenant, thread, after_seq)
) STRICT;

INSERT INTO checkpoint (tenant, thread, after_seq, body) SELECT tenant, thread, after_seq, body FROM newest_checkpoint;

DROP TABLE newest_checkpoint;
