-- What people call a thread.

ALTER TABLE thread ADD COLUMN title TEXT NOT NULL DEFAULT '';
