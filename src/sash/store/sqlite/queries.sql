-- What only SQLite says this way.

-- name: hold
SELECT id FROM thread WHERE tenant = :tenant AND id = :thread;

-- name: events
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until ORDER BY seq LIMIT :limit;

-- name: events_of_turn
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = :tenant AND thread = :thread AND turn = :turn AND seq > :since ORDER BY seq LIMIT :limit;

-- name: rest
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until
    AND kind <> 'message' AND kind IN (SELECT value FROM json_each(:kinds)) ORDER BY seq LIMIT :limit;

-- name: kinds
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = :tenant AND thread = :thread AND seq > :since AND seq <= :until
    AND kind IN (SELECT value FROM json_each(:kinds)) ORDER BY seq LIMIT :limit;

-- name: indexed
SELECT id, text FROM log WHERE tenant = :tenant AND thread = :thread AND seq = :seq AND text <> '';

-- name: indexed_of_thread
SELECT id, text FROM log WHERE tenant = :tenant AND thread = :thread AND text <> '';

-- name: add_words
INSERT INTO words (rowid, place, text) VALUES (last_insert_rowid(), :place, :words);

-- name: drop_words
INSERT INTO words (words, rowid, place, text) VALUES ('delete', :id, :place, :words);

-- name: search
SELECT log.thread, thread.name, log.seq, log.turn, log.role, log.text
FROM words JOIN log ON log.id = words.rowid JOIN thread ON thread.id = log.thread AND thread.tenant = log.tenant
WHERE words MATCH :query AND log.tenant = :tenant AND log.thread = coalesce(:thread, log.thread)
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
