-- What only PostgreSQL says this way.

-- name: begin
SELECT set_config('sash.tenant', :claim, true), set_config('lock_timeout', :lock_timeout, true);

-- name: put_receipt
INSERT INTO receipt (connection, number, made_us) VALUES (:connection, :number, now_us())
ON CONFLICT (connection) DO UPDATE SET number = excluded.number, made_us = excluded.made_us;

-- Waits for the transaction in doubt, should it still be under way somewhere.
-- name: last_receipt
INSERT INTO receipt (connection, number, made_us) VALUES (:connection, 0, now_us())
ON CONFLICT (connection) DO UPDATE SET made_us = excluded.made_us RETURNING number;

-- name: forget_receipts
DELETE FROM receipt WHERE made_us < now_us() - 86400000000;

-- name: hold
SELECT id FROM thread WHERE tenant = :tenant AND id = :thread FOR UPDATE;

-- name: hold_trunk
SELECT last_seq FROM trunk WHERE tenant = :tenant AND id = :thread FOR UPDATE;

-- A page of a log ends after so many events, or with the one that passes so many bytes.

-- name: events
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM (
    SELECT *, sum(octet_length(body)::bigint + octet_length(text)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
        - octet_length(body) - octet_length(text) AS bytes_before
    FROM (
        SELECT * FROM log
        WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until ORDER BY seq LIMIT :limit
    ) AS page
) AS sized WHERE bytes_before < :bytes ORDER BY seq;

-- name: events_of_turn
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM (
    SELECT *, sum(octet_length(body)::bigint + octet_length(text)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
        - octet_length(body) - octet_length(text) AS bytes_before
    FROM (
        SELECT * FROM log
        WHERE tenant = :tenant AND thread = :thread AND turn = :turn AND seq > :since ORDER BY seq LIMIT :limit
    ) AS page
) AS sized WHERE bytes_before < :bytes ORDER BY seq;

-- name: rest
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM (
    SELECT *, sum(octet_length(body)::bigint + octet_length(text)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
        - octet_length(body) - octet_length(text) AS bytes_before
    FROM (
        SELECT * FROM log
        WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until
            AND kind <> 'message' AND kind = ANY (:kinds) ORDER BY seq LIMIT :limit
    ) AS page
) AS sized WHERE bytes_before < :bytes ORDER BY seq;

-- name: kinds
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM (
    SELECT *, sum(octet_length(body)::bigint + octet_length(text)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
        - octet_length(body) - octet_length(text) AS bytes_before
    FROM (
        SELECT * FROM log
        WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until
            AND kind = ANY (:kinds) ORDER BY seq LIMIT :limit
    ) AS page
) AS sized WHERE bytes_before < :bytes ORDER BY seq;

-- name: add_words
INSERT INTO words (tenant, thread, seq, words) VALUES (:tenant, :thread, :seq, :words);

-- name: drop_words
DELETE FROM words WHERE tenant = :tenant AND thread = :thread AND seq > :after AND seq <= :until;

-- What a trunk holds is found as the oldest fork's that begins with it.
-- name: search
SELECT coalesce(thread.id, heir.id), coalesce(thread.name, heir.name), log.seq, log.turn, log.role, log.text,
    log.made_us, log.thread
FROM holding(:all_of, :any_of) AS held
JOIN log ON log.tenant = :tenant AND log.thread = held.thread AND log.seq = held.seq
LEFT JOIN thread ON thread.id = log.thread AND thread.tenant = log.tenant
LEFT JOIN thread AS heir ON thread.id IS NULL AND heir.tenant = log.tenant AND heir.id = (
    SELECT min(fork.thread) FROM fork
    WHERE fork.tenant = log.tenant AND fork.source = log.thread AND fork.until_seq >= log.seq
)
WHERE (log.made_us, log.thread, log.seq) < (:made_us, :before_thread, :before_seq)
    AND coalesce(thread.id, heir.id) IS NOT NULL
ORDER BY log.made_us DESC, log.thread DESC, log.seq DESC LIMIT :limit;

-- name: due
SELECT thread.tenant, thread.id, thread.covered, greatest(thread.boundary, thread.ahead)
FROM thread LEFT JOIN lease ON lease.tenant = thread.tenant AND lease.thread = thread.id
WHERE thread.covered < greatest(thread.boundary, thread.ahead)
    AND greatest(thread.boundary, thread.ahead) - thread.covered >= :turns
    AND thread.tenant = coalesce(:tenant, thread.tenant)
    AND coalesce(lease.parked, 0) = 0
    AND coalesce(lease.until_us, 0) <= now_us() AND coalesce(lease.retry_us, 0) <= now_us()
ORDER BY thread.id LIMIT 1 FOR UPDATE OF thread SKIP LOCKED;
