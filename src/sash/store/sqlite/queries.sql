-- What only SQLite says this way.

-- name: hold
SELECT id FROM thread WHERE tenant = :tenant AND id = :thread;

-- name: hold_trunk
SELECT last_seq FROM trunk WHERE tenant = :tenant AND id = :thread;

-- name: events
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until ORDER BY seq LIMIT :limit;

-- name: events_of_turn
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = :tenant AND thread = :thread AND turn = :turn AND seq > :since ORDER BY seq LIMIT :limit;

-- Left to itself SQLite would look at every message, only to have the rest in its order.
-- name: rest
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log INDEXED BY log_rest
WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until
    AND kind <> 'message' AND kind IN (SELECT value FROM json_each(:kinds)) ORDER BY seq LIMIT :limit;

-- name: kinds
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until
    AND kind IN (SELECT value FROM json_each(:kinds)) ORDER BY seq LIMIT :limit;

-- name: indexed
SELECT id, text FROM log
WHERE tenant = :tenant AND thread = :thread AND seq > :after AND seq <= :until AND text <> '';

-- name: add_words
INSERT INTO words (rowid, place, text) VALUES (last_insert_rowid(), :place, :words);

-- name: drop_words
INSERT INTO words (words, rowid, place, text) VALUES ('delete', :id, :place, :words);

-- What a trunk holds is found as the oldest fork's that begins with it.
-- name: search
SELECT coalesce(thread.id, heir.id), coalesce(thread.name, heir.name), log.seq, log.turn, log.role, log.text
FROM words JOIN log ON log.id = words.rowid
LEFT JOIN thread ON thread.id = log.thread AND thread.tenant = log.tenant
LEFT JOIN thread AS heir ON thread.id IS NULL AND heir.tenant = log.tenant AND heir.id = (
    SELECT min(fork.thread) FROM fork
    WHERE fork.tenant = log.tenant AND fork.source = log.thread AND fork.until_seq >= log.seq
)
WHERE words MATCH :query AND log.tenant = :tenant AND log.thread = coalesce(:thread, log.thread)
    AND coalesce(thread.id, heir.id) IS NOT NULL
ORDER BY words.rowid DESC LIMIT :limit;

-- name: due
SELECT thread.tenant, thread.id, thread.covered, max(thread.boundary, thread.ahead)
FROM thread LEFT JOIN lease ON lease.tenant = thread.tenant AND lease.thread = thread.id
WHERE thread.covered < max(thread.boundary, thread.ahead)
    AND max(thread.boundary, thread.ahead) - thread.covered >= :turns
    AND thread.tenant = coalesce(:tenant, thread.tenant)
    AND coalesce(lease.parked, 0) = 0
    AND coalesce(lease.until_us, 0) <= now_us() AND coalesce(lease.retry_us, 0) <= now_us()
ORDER BY thread.id LIMIT 1;

-- name: every_event
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log;
