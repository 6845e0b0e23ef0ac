-- Turns that were rewound are in no window; which ones says the newest frame.

DROP VIEW exchanges;

DROP VIEW messages;

CREATE VIEW messages WITH (security_invoker = true) AS
SELECT
    log.seq AS id,
    thread.name AS agent_id,
    log.role AS role,
    log.text AS content,
    log.tokens AS token_count,
    timestamptz 'epoch' + log.made_us * interval '1 microsecond' AS created_at,
    shown.live AS in_sliding_window,
    CASE WHEN gap.event IS NOT NULL THEN (
        SELECT timestamptz 'epoch' + cause.made_us * interval '1 microsecond' FROM log AS cause
        WHERE cause.tenant = log.tenant AND cause.thread = log.thread AND cause.seq = gap.event
    ) WHEN NOT shown.live THEN (
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
LEFT JOIN LATERAL (
    SELECT convert_from(frame.body, 'UTF8')::json AS body FROM frame
    WHERE frame.tenant = log.tenant AND frame.thread = log.thread ORDER BY frame.number DESC LIMIT 1
) AS head ON true
CROSS JOIN LATERAL (
    SELECT min((rewound.pair ->> 1)::bigint) AS event
    FROM json_array_elements(head.body -> 'rewound') AS rewound (pair)
    WHERE (rewound.pair ->> 0)::bigint < log.seq AND log.seq < (rewound.pair ->> 1)::bigint
) AS gap
CROSS JOIN LATERAL (
    SELECT gap.event IS NULL AND (log.turn < 0 OR log.turn >= thread.boundary OR EXISTS (
        SELECT 1 FROM json_array_elements_text(head.body -> 'carried') AS carried (turn)
        WHERE carried.turn::bigint = log.turn
    )) AS live
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
