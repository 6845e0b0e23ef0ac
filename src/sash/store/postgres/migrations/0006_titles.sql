-- What people call a thread.

ALTER TABLE thread ADD COLUMN title text NOT NULL DEFAULT '';
