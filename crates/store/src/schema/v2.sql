-- How much of a run's time nothing ran at all, because the machine slept.
ALTER TABLE tasks ADD COLUMN paused_ms INTEGER NOT NULL DEFAULT 0;

-- What is left, for a while, of tasks whose session was deleted: enough for a person to read what
-- they found. No start reads it.
CREATE TABLE tombstones (
    task TEXT PRIMARY KEY NOT NULL,
    forgotten INTEGER NOT NULL,
    agent TEXT NOT NULL,
    description TEXT NOT NULL,
    created INTEGER NOT NULL,
    stage TEXT NOT NULL,            -- how far its last run was
    detail TEXT                     -- the result of the last run that had one
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_age ON tombstones (forgotten);

-- Tasks that were forgotten and whose session files are to be removed. Only what is named here is.
CREATE TABLE removals (
    task TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
