-- Finding messages by their words: for people (words) and for recall (posting).

CREATE TABLE posting (
    tenant TEXT    NOT NULL,
    thread INTEGER NOT NULL,
    term   BLOB    NOT NULL,
    seq    INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (tenant, thread, term, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX posting_seq ON posting (tenant, thread, seq);

-- Words are cut by sash, the same for every database; this index holds them and no text. `place` is the tenant and the
-- thread as words of their own, so that nobody's search walks through another's messages.
CREATE VIRTUAL TABLE words USING fts5 (place, text, content = '', columnsize = 0, tokenize = 'ascii');

-- What is deleted must not stay behind in the index until some later merge.
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
