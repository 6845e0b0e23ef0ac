-- Turns that were rewound are in no window; which ones says the newest frame.

DROP VIEW exchanges;

DROP VIEW messages;

CREATE VIEW messages AS
SELECT
    log.seq AS id,
    log.name AS agent_id,
    log.role AS role,
    log.text AS content,
    log.tokens AS token_count,
    datetime(log.made_us / 1000000, 'unixepoch') || printf('.%06d', log.made_us % 1000000) AS created_at,
    log.rewind IS NULL AND (log.turn < 0 OR log.turn >= log.boundary OR EXISTS (
        SELECT 1 FROM json_each(log.head, '$.carried') AS carried WHERE carried.value = log.turn
    )) AS in_sliding_window,
    CASE WHEN log.rewind IS NOT NULL THEN (
        SELECT datetime(cause.made_us / 1000000, 'unixepoch') || printf('.%06d', cause.made_us % 1000000)
        FROM log AS cause
        WHERE cause.tenant = log.tenant AND cause.thread = log.thread AND cause.seq = log.rewind
    ) WHEN log.turn >= 0 AND log.turn < log.boundary AND NOT EXISTS (
        SELECT 1 FROM json_each(log.head, '$.carried') AS carried WHERE carried.value = log.turn
    ) THEN (
        SELECT datetime(cause.made_us / 1000000, 'unixepoch') || printf('.%06d', cause.made_us % 1000000)
        FROM frame JOIN log AS cause
            ON cause.tenant = frame.tenant AND cause.thread = frame.thread AND cause.seq = frame.after_seq
        WHERE frame.tenant = log.tenant AND frame.thread = log.thread
            AND json_extract(CAST(frame.body AS TEXT), '$.boundary') > log.turn
        ORDER BY frame.number LIMIT 1
    ) END AS evicted_at,
    log.turn AS exchange_id,
    log.said_at AS said_at,
    log.body AS body,
    log.thread AS thread_id,
    log.tenant AS tenant
FROM (
    SELECT
        log.*,
        thread.name AS name,
        thread.boundary AS boundary,
        CAST(head.body AS TEXT) AS head,
        (
            SELECT min(json_extract(gap.value, '$[1]')) FROM json_each(CAST(head.body AS TEXT), '$.rewound') AS gap
            WHERE json_extract(gap.value, '$[0]') < log.seq AND log.seq < json_extract(gap.value, '$[1]')
        ) AS rewind
    FROM log
    JOIN thread ON thread.id = log.thread AND thread.tenant = log.tenant
    LEFT JOIN frame AS head ON head.tenant = log.tenant AND head.thread = log.thread AND head.number = (
        SELECT max(newest.number) FROM frame AS newest WHERE newest.tenant = log.tenant AND newest.thread = log.thread
    )
    WHERE log.kind = 'message'
) AS log;

CREATE VIEW exchanges AS
SELECT
    exchange_id AS id,
    agent_id,
    min(id) AS start_msg_id,
    max(id) AS end_msg_id,
    sum(token_count) AS token_count,
    min(created_at) AS created_at,
    max(evicted_at) AS evicted_at,
    thread_id,
    tenant
FROM messages WHERE exchange_id >= 0
GROUP BY tenant, thread_id, agent_id, exchange_id;
