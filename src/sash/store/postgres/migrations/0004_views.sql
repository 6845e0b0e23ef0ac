-- The tables that people ask for by name. All of it is derived: a column that can be derived is one that can be wrong.

CREATE VIEW messages WITH (security_invoker = true) AS
SELECT
    log.seq AS id,
    thread.name AS agent_id,
    log.role AS role,
    log.text AS content,
    log.tokens AS token_count,
    timestamptz 'epoch' + log.made_us * interval '1 microsecond' AS created_at,
    shown.live AS in_sliding_window,
    CASE WHEN NOT shown.live THEN (
        SELECT timestamptz 'epoch' + cause.made_us * interval '1 microsecond'
        FROM frame JOIN log AS cause
            ON cause.tenant = frame.tenant AND cause.thread = frame.thread AND cause.seq = frame.after_seq
        WHERE frame.tenant = log.tenant AND frame.thread = log.thread
            AND (convert_from(frame.body, 'UTF8')::json ->> 'boundary')::bigint > log.turn
        ORDER BY frame.number LIMIT 1
    ) END AS evicted_at,
    log.turn AS exchange_id,
    log.said_at AS said_at,
    log.body AS body,
    log.thread AS thread_id,
    log.tenant AS tenant
FROM log
JOIN thread ON thread.id = log.thread AND thread.tenant = log.tenant
CROSS JOIN LATERAL (
    SELECT log.turn < 0 OR log.turn >= thread.boundary OR EXISTS (
        SELECT 1 FROM json_array_elements_text((
            SELECT convert_from(frame.body, 'UTF8')::json -> 'carried' FROM frame
            WHERE frame.tenant = log.tenant AND frame.thread = log.thread ORDER BY frame.number DESC LIMIT 1
        )) AS carried (turn) WHERE carried.turn::bigint = log.turn
    ) AS live
) AS shown
WHERE log.kind = 'message';

CREATE VIEW exchanges WITH (security_invoker = true) AS
SELECT
    exchange_id AS id,
    agent_id,
    min(id) AS start_msg_id,
    max(id) AS end_msg_id,
    sum(token_count)::bigint AS token_count,
    min(created_at) AS created_at,
    max(evicted_at) AS evicted_at,
    thread_id,
    tenant
FROM messages WHERE exchange_id >= 0
GROUP BY tenant, thread_id, agent_id, exchange_id;

CREATE VIEW threads WITH (security_invoker = true) AS
SELECT
    thread.id AS id,
    thread.name AS name,
    coalesce((
        SELECT log.text FROM log
        WHERE log.tenant = thread.tenant AND log.thread = thread.id AND log.kind = 'summary'
        ORDER BY log.seq DESC LIMIT 1
    ), '') AS summary,
    timestamptz 'epoch' + thread.made_us * interval '1 microsecond' AS created_at,
    thread.tenant AS tenant
FROM thread;

-- A compaction is a turn of its own: an internal one, with no number among the user's.
CREATE VIEW turns WITH (security_invoker = true) AS
SELECT
    min(log.seq) AS id,
    log.thread AS thread_id,
    log.turn AS number,
    0 AS is_internal,
    sum(log.tokens)::bigint AS token_count,
    timestamptz 'epoch' + min(log.made_us) * interval '1 microsecond' AS created_at,
    log.tenant AS tenant
FROM log WHERE log.kind = 'message' AND log.turn >= 0
GROUP BY log.tenant, log.thread, log.turn
UNION ALL
SELECT
    log.seq,
    log.thread,
    NULL,
    1,
    log.tokens,
    timestamptz 'epoch' + log.made_us * interval '1 microsecond',
    log.tenant
FROM log WHERE log.kind IN ('compact', 'summary');

CREATE VIEW events WITH (security_invoker = true) AS
SELECT
    log.seq AS id,
    log.thread AS thread_id,
    log.turn AS turn,
    log.kind AS type,
    log.body AS body,
    timestamptz 'epoch' + log.made_us * interval '1 microsecond' AS created_at,
    log.tenant AS tenant
FROM log;
