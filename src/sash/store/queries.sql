-- The statements that SQLite and PostgreSQL share. Each is known by its name; values are named too and always bound.

-- name: add_thread
INSERT INTO thread (tenant, name, said_at, last_seq, made_us) VALUES (:tenant, :name, :at, :after, now_us())
ON CONFLICT (tenant, name) DO NOTHING RETURNING id;

-- name: put_title
UPDATE thread SET title = :title WHERE tenant = :tenant AND id = :thread RETURNING id;

-- name: add_setup
INSERT INTO setup (thread, tenant, body) VALUES (:thread, :tenant, :body);

-- name: find_thread
SELECT id, tenant, name, said_at, last_seq, boundary, covered, ahead, title, made_us, last_us FROM thread
WHERE tenant = :tenant AND name = :name;

-- name: thread
SELECT id, tenant, name, said_at, last_seq, boundary, covered, ahead, title, made_us, last_us FROM thread
WHERE tenant = :tenant AND id = :thread;

-- name: thread_end
SELECT id, last_seq FROM thread WHERE tenant = :tenant AND id = :thread;

-- name: shared_end
SELECT id, last_seq FROM thread WHERE tenant = :tenant AND id = :thread
UNION ALL SELECT id, last_seq FROM trunk WHERE tenant = :tenant AND id = :thread;

-- name: threads
SELECT id, tenant, name, said_at, last_seq, boundary, covered, ahead, title, made_us, last_us FROM thread
WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: setup
SELECT body FROM setup WHERE tenant = :tenant AND thread = :thread;

-- Of a thread all of it, or all after some event.

-- name: delete_log
DELETE FROM log WHERE tenant = :tenant AND thread = :thread AND seq > :after;

-- name: delete_frames
DELETE FROM frame WHERE tenant = :tenant AND thread = :thread AND after_seq > :after;

-- name: delete_checkpoints
DELETE FROM checkpoint WHERE tenant = :tenant AND thread = :thread AND after_seq > :after;

-- name: delete_setup
DELETE FROM setup WHERE tenant = :tenant AND thread = :thread;

-- name: delete_once
DELETE FROM once WHERE tenant = :tenant AND thread = :thread;

-- name: delete_postings
DELETE FROM posting WHERE tenant = :tenant AND thread = :thread AND seq > :after;

-- name: delete_lease
DELETE FROM lease WHERE tenant = :tenant AND thread = :thread;

-- name: delete_thread
DELETE FROM thread WHERE tenant = :tenant AND id = :thread RETURNING id;

-- name: add_fork
INSERT INTO fork (tenant, source, thread, until_seq) VALUES (:tenant, :source, :thread, :until);

-- name: delete_fork
DELETE FROM fork WHERE tenant = :tenant AND thread = :thread;

-- name: shared_until
SELECT max(until_seq) FROM fork WHERE tenant = :tenant AND source = :thread;

-- name: forks
SELECT thread FROM fork WHERE tenant = :tenant AND source = :thread AND until_seq >= :seq ORDER BY thread;

-- name: trunks_of
SELECT trunk.id, trunk.last_seq FROM fork JOIN trunk ON trunk.tenant = fork.tenant AND trunk.id = fork.source
WHERE fork.tenant = :tenant AND fork.thread = :thread ORDER BY trunk.id;

-- name: add_trunk
INSERT INTO trunk (tenant, id, last_seq) VALUES (:tenant, :thread, :until);

-- name: cut_trunk
UPDATE trunk SET last_seq = :until WHERE tenant = :tenant AND id = :thread;

-- name: delete_trunk
DELETE FROM trunk WHERE tenant = :tenant AND id = :thread;

-- name: delete_keys
DELETE FROM api_key WHERE tenant = :tenant;

-- name: advance
UPDATE thread SET
    last_seq = last_seq + :count,
    last_us = CASE WHEN last_us + :count > now_us() THEN last_us + :count ELSE now_us() END,
    boundary = coalesce(:boundary, boundary),
    covered = coalesce(:covered, covered),
    ahead = coalesce(:ahead, ahead)
WHERE tenant = :tenant AND id = :thread AND last_seq = coalesce(:expected, last_seq)
RETURNING last_seq, last_us;

-- name: add_event
INSERT INTO log (tenant, thread, seq, kind, wire, role, turn, tokens, exact, counter, said_at, made_us, checksum,
    body, text)
VALUES (:tenant, :thread, :seq, :kind, :wire, :role, :turn, :tokens, :exact, :counter, :at, :made_us,
    :checksum, :body, :text);

-- name: bodies
SELECT seq, body FROM log
WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until ORDER BY seq;

-- name: add_frame
INSERT INTO frame (tenant, thread, number, after_seq, body) VALUES (:tenant, :thread, :number, :after_seq, :body);

-- name: put_checkpoint
INSERT INTO checkpoint (thread, tenant, after_seq, body, rest) VALUES (:thread, :tenant, :after_seq, :body, :rest)
ON CONFLICT (tenant, thread, after_seq) DO UPDATE SET body = excluded.body, rest = excluded.rest;

-- name: drop_passing_checkpoints
DELETE FROM checkpoint WHERE tenant = :tenant AND thread = :thread AND rest IS NULL;

-- name: drop_checkpoint
DELETE FROM checkpoint WHERE tenant = :tenant AND thread = :thread AND after_seq = :after_seq;

-- name: add_posting
INSERT INTO posting (tenant, thread, term, seq, count) VALUES (:tenant, :thread, :term, :seq, :count);

-- name: add_once
INSERT INTO once (tenant, thread, key, digest, first_seq, last_seq, made_us)
VALUES (:tenant, :thread, :key, :digest, :first_seq, :last_seq, now_us());

-- name: once
SELECT digest, first_seq, last_seq FROM once WHERE tenant = :tenant AND thread = :thread AND key = :key;

-- name: frames
SELECT number, after_seq, body FROM frame
WHERE tenant = :tenant AND thread = :thread AND number >= :since ORDER BY number LIMIT :limit;

-- name: frame_at
SELECT number, after_seq, body FROM frame
WHERE tenant = :tenant AND thread = :thread AND after_seq <= :at ORDER BY after_seq DESC, number DESC LIMIT 1;

-- name: frames_back
SELECT number, after_seq, body FROM frame
WHERE tenant = :tenant AND thread = :thread AND (after_seq, number) < (:after_seq, :number)
ORDER BY after_seq DESC, number DESC LIMIT :limit;

-- name: newest_checkpoint
SELECT after_seq, body FROM checkpoint WHERE tenant = :tenant AND thread = :thread ORDER BY after_seq DESC LIMIT 1;

-- name: checkpoint
SELECT body FROM checkpoint WHERE tenant = :tenant AND thread = :thread AND after_seq = :after_seq;

-- name: checkpoint_rest
SELECT rest FROM checkpoint WHERE tenant = :tenant AND thread = :thread AND after_seq = :after_seq;

-- name: checkpoints
SELECT after_seq FROM checkpoint
WHERE tenant = :tenant AND thread = :thread AND after_seq <= :until ORDER BY after_seq DESC;

-- They may hold the words too, also those of the threads that begin with them; the fold makes them anew.
-- name: redact_checkpoints
DELETE FROM checkpoint WHERE tenant = :tenant AND after_seq >= :seq AND (thread = :thread OR thread IN (
    SELECT fork.thread FROM fork WHERE fork.tenant = :tenant AND fork.source = :thread AND fork.until_seq >= :seq
));

-- name: redact
UPDATE log SET body = :tombstone, text = '', checksum = :checksum
WHERE tenant = :tenant AND thread = :thread AND seq = :seq;

-- name: redact_postings
DELETE FROM posting WHERE tenant = :tenant AND thread = :thread AND seq = :seq;

-- name: postings
SELECT term, seq, count FROM posting WHERE tenant = :tenant AND thread = :thread AND term = :term ORDER BY seq;

-- name: take_lease
INSERT INTO lease (thread, tenant, token, until_us, attempts) VALUES (:thread, :tenant, 1, now_us() + :lease_us, 1)
ON CONFLICT (tenant, thread) DO UPDATE SET
    token = lease.token + 1, attempts = lease.attempts + 1, until_us = excluded.until_us
WHERE lease.parked = 0 AND lease.until_us <= now_us() AND lease.retry_us <= now_us()
RETURNING token, attempts;

-- name: end_lease
UPDATE lease SET token = token + 1, until_us = 0, retry_us = 0, attempts = 0, error = ''
WHERE tenant = :tenant AND thread = :thread AND token = :token RETURNING token;

-- name: fail_lease
UPDATE lease SET token = token + 1, until_us = 0, retry_us = now_us() + :retry_us, parked = :parked, error = :error
WHERE tenant = :tenant AND thread = :thread AND token = :token RETURNING token;

-- name: retry_lease
UPDATE lease SET retry_us = 0, parked = 0, attempts = 0 WHERE tenant = :tenant AND thread = :thread;

-- name: troubles
SELECT thread, attempts, error, parked FROM lease
WHERE tenant = :tenant AND (parked = 1 OR error <> '') ORDER BY thread;

-- name: put_lesson
INSERT INTO lesson (tenant, name, body) VALUES (:tenant, :name, :body)
ON CONFLICT (tenant, name) DO UPDATE SET body = excluded.body;

-- name: lesson
SELECT body FROM lesson WHERE tenant = :tenant AND name = :name;

-- name: delete_lessons
DELETE FROM lesson WHERE tenant = :tenant;

-- name: keep_note
INSERT INTO note (tenant, name, body, made_us) VALUES (:tenant, :name, :body, now_us())
ON CONFLICT (tenant, name) DO NOTHING;

-- name: note
SELECT body FROM note WHERE tenant = :tenant AND name = :name;

-- name: forget_notes
DELETE FROM note WHERE tenant = :tenant AND made_us < now_us() - :age_us;

-- name: delete_notes
DELETE FROM note WHERE tenant = :tenant;

-- name: put_key
INSERT INTO api_key (digest, tenant, label, said_at) VALUES (:digest, :tenant, :label, :at)
ON CONFLICT (digest) DO NOTHING;

-- name: find_key
SELECT tenant, label, said_at, revoked FROM api_key WHERE digest = :digest;

-- name: keys
SELECT digest, tenant, label, said_at, revoked FROM api_key WHERE tenant = coalesce(:tenant, tenant)
ORDER BY coalesce(said_at, 0), digest;

-- name: revoke_key
UPDATE api_key SET revoked = 1 WHERE tenant = :tenant AND digest = :digest RETURNING tenant;

-- name: run_with_key
SELECT id, tenant, thread, turn, internal, status, stop, error, owner, until_us <= now_us(), end_asked, last_event,
    started_us, ended_us, digest
FROM run WHERE tenant = :tenant AND thread = :thread AND key = :key;

-- name: run_of_thread
SELECT id, tenant, thread, turn, internal, status, stop, error, owner, until_us <= now_us(), end_asked, last_event,
    started_us, ended_us
FROM run WHERE tenant = :tenant AND thread = :thread AND status = 'running';

-- name: run
SELECT id, tenant, thread, turn, internal, status, stop, error, owner, until_us <= now_us(), end_asked, last_event,
    started_us, ended_us
FROM run WHERE tenant = :tenant AND id = :run;

-- name: runs
SELECT id, tenant, thread, turn, internal, status, stop, error, owner, until_us <= now_us(), end_asked, last_event,
    started_us, ended_us
FROM run WHERE tenant = :tenant AND thread = :thread AND turn >= :first AND turn <= :last ORDER BY started_us, id;

-- name: open_runs
SELECT id, tenant, thread, turn, internal, status, stop, error, owner, until_us <= now_us(), end_asked, last_event,
    started_us, ended_us
FROM run WHERE status = 'running' ORDER BY started_us, id;

-- name: add_run
INSERT INTO run (tenant, id, thread, turn, internal, owner, until_us, key, digest, started_us)
VALUES (:tenant, :run, :thread, :turn, :internal, :owner, now_us() + :lease_us, :key, :digest, now_us());

-- name: reopen_run
UPDATE run SET status = 'running', stop = '', error = '', owner = :owner, until_us = now_us() + :lease_us,
    end_asked = 0, ended_us = NULL
WHERE tenant = :tenant AND id = :run;

-- name: take_run
UPDATE run SET owner = :taker, until_us = now_us() + :lease_us
WHERE tenant = :tenant AND id = :run AND status = 'running' AND owner = :owner
RETURNING id;

-- name: write_run
UPDATE run SET last_event = last_event + :count, until_us = now_us() + :lease_us,
    turn = coalesce(CAST(:turn AS bigint), turn)
WHERE tenant = :tenant AND id = :run AND status = 'running' AND owner = :owner
RETURNING last_event;

-- name: end_run
UPDATE run SET status = :status, stop = :stop, error = :error, ended_us = now_us()
WHERE tenant = :tenant AND id = :run;

-- name: ask_run_to_end
UPDATE run SET end_asked = 1 WHERE tenant = :tenant AND id = :run AND status = 'running';

-- name: add_run_event
INSERT INTO run_event (tenant, run, seq, kind, body, made_us) VALUES (:tenant, :run, :seq, :kind, :body, now_us());

-- name: run_events
SELECT seq, kind, body, made_us FROM run_event
WHERE tenant = :tenant AND run = :run AND seq > :since ORDER BY seq LIMIT :limit;

-- name: delete_run_events
DELETE FROM run_event WHERE tenant = :tenant
    AND run IN (SELECT id FROM run WHERE run.tenant = :tenant AND run.thread = :thread);

-- name: delete_runs
DELETE FROM run WHERE tenant = :tenant AND thread = :thread;

-- name: redact_run_events
DELETE FROM run_event WHERE tenant = :tenant
    AND run IN (SELECT id FROM run WHERE run.tenant = :tenant AND run.thread = :thread AND run.turn = :turn);
