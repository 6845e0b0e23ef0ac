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

-- For this one statement the owner sees what is everybody's. Cut out by its place at the end: a setup may hold
-- characters that PostgreSQL takes in no JSON.
ALTER TABLE setup NO FORCE ROW LEVEL SECURITY;
ALTER TABLE thread NO FORCE ROW LEVEL SECURITY;

INSERT INTO fork (tenant, source, thread, until_seq)
SELECT setup.tenant, (part.value ->> 'thread')::bigint, setup.thread, (part.value ->> 'until')::bigint
FROM setup CROSS JOIN LATERAL json_array_elements(
    substring(convert_from(setup.body, 'UTF8') FROM '"segments":(\[[^]]*\])\}$')::json
) AS part (value)
WHERE EXISTS (
    SELECT 1 FROM thread WHERE thread.tenant = setup.tenant AND thread.id = (part.value ->> 'thread')::bigint
);

ALTER TABLE setup FORCE ROW LEVEL SECURITY;
ALTER TABLE thread FORCE ROW LEVEL SECURITY;

ALTER TABLE fork ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE trunk ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON fork USING (is_current(tenant));
CREATE POLICY own ON trunk USING (is_current(tenant));

-- Older checkpoints stay, the further back the fewer: going back does not begin at the first event.

ALTER TABLE checkpoint DROP CONSTRAINT checkpoint_pkey, ADD PRIMARY KEY (tenant, thread, after_seq);
