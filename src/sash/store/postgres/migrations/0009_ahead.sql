-- A summary is due for turns that have left, and for those that the next slide will evict, once that is near.

ALTER TABLE thread ADD COLUMN ahead bigint NOT NULL DEFAULT 0;

DROP INDEX thread_due;

CREATE INDEX thread_due ON thread (id) WHERE covered < greatest(boundary, ahead);
