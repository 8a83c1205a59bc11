-- A task whose session is a copy of its parent's up to this message; NULL: it began empty.
ALTER TABLE tasks ADD COLUMN fork_before TEXT;
