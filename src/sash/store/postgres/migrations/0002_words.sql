-- Finding messages by their words: for people (words) and for recall (posting).

CREATE TABLE posting (
    tenant text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    term   bytea NOT NULL,
    seq    bigint NOT NULL,
    count  bigint NOT NULL,
    PRIMARY KEY (tenant, thread, term, seq)
);

CREATE INDEX posting_seq ON posting (tenant, thread, seq);

-- Words are cut by sash, the same for every database; a tsvector would cut them its own way, drop long ones and refuse
-- long texts. The array holds each word once, and the tenant and the thread as words of their own.
CREATE TABLE words (
    tenant text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    seq    bigint NOT NULL,
    words  text[] COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, thread, seq)
);

CREATE INDEX words_words ON words USING gin (words);

ALTER TABLE posting ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON posting USING (is_current(tenant));

-- Not for the owner here: row-level security would keep the planner from the index, so the owner's function below
-- looks words up and applies the policy itself.
ALTER TABLE words ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON words USING (is_current(tenant));

CREATE FUNCTION holding(all_of text[], any_of text[]) RETURNS TABLE (thread bigint, seq bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT words.thread, words.seq FROM words
    WHERE words.words @> all_of AND (any_of IS NULL OR words.words && any_of) AND is_current(words.tenant)
$$;
