-- What of a state is not needed to go on stands apart, and is read only when it is asked for.

ALTER TABLE checkpoint ADD COLUMN rest bytea NOT NULL DEFAULT '';
