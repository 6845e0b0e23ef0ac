-- What of a state is not needed to go on stands apart, and is read only when it is asked for. NULL: an earlier checkpoint
-- has it; such a one is there only until the next is written.

ALTER TABLE checkpoint ADD COLUMN rest BLOB DEFAULT x'';
