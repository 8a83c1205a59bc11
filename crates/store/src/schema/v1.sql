-- What a start reads is in narrow tables; prompts and results, which are long, are in `runs` and
-- are not touched by a start. Moments are milliseconds since 1970.

CREATE TABLE tasks (
    id TEXT PRIMARY KEY NOT NULL,
    seq INTEGER NOT NULL,
    place TEXT NOT NULL,
    root TEXT NOT NULL,
    parent TEXT NOT NULL,
    depth INTEGER NOT NULL,
    agent TEXT NOT NULL,
    description TEXT NOT NULL,
    created INTEGER NOT NULL,
    session TEXT,
    stage TEXT NOT NULL,
    message TEXT,            -- the prompt's id, at the stages that have one
    retrieved INTEGER,
    run INTEGER NOT NULL,    -- from here on: the last run
    asker TEXT NOT NULL,
    key TEXT NOT NULL,
    host TEXT NOT NULL,
    queue_order INTEGER NOT NULL,
    continued INTEGER NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    tool_calls INTEGER NOT NULL,
    asked TEXT NOT NULL      -- ids of questions that were told of, one a line
) STRICT;

-- Where a launch came from; for people.
CREATE TABLE origins (
    task TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    agent TEXT NOT NULL,
    directory TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Every run that a task has had.
CREATE TABLE runs (
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    run INTEGER NOT NULL,
    asker TEXT NOT NULL,
    key TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    outcome TEXT,            -- the stage that it ended at
    prompt TEXT,
    detail TEXT,             -- the result, or the reason why there is none
    PRIMARY KEY (task, run)
) STRICT;

-- Notices that are dealt with stay until their task is forgotten: none can be owed twice.
CREATE TABLE notices (
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    run INTEGER NOT NULL,
    question INTEGER NOT NULL,      -- -1: the end of the run
    recipient TEXT NOT NULL,
    headline TEXT NOT NULL,
    made INTEGER NOT NULL,
    state TEXT NOT NULL,            -- owed, or how the debt ended
    letter TEXT,
    spot INTEGER,                   -- its place in the letter
    PRIMARY KEY (task, run, question)
) STRICT, WITHOUT ROWID;

-- What is owed is few among many; both a start and the end of a letter go by it.
CREATE INDEX notices_owed ON notices (letter) WHERE state = 'owed';

CREATE TABLE letters (
    id TEXT PRIMARY KEY NOT NULL,
    recipient TEXT NOT NULL,
    counts TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- No reference to the task: a stop outlives it.
CREATE TABLE stops (
    task TEXT PRIMARY KEY NOT NULL,
    place TEXT NOT NULL,
    host TEXT NOT NULL,
    session TEXT,                   -- NULL: whatever bears the task's mark
    prompted INTEGER NOT NULL       -- 0: the session may not have got its prompt
) STRICT, WITHOUT ROWID;

CREATE TABLE parents (
    session TEXT PRIMARY KEY NOT NULL,
    place TEXT NOT NULL,
    voice TEXT
) STRICT, WITHOUT ROWID;

-- A task's history in words.
CREATE TABLE timeline (
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    run INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

-- Written to find out whether there is room.
CREATE TABLE probe (
    one INTEGER PRIMARY KEY NOT NULL CHECK (one = 1),
    room BLOB
) STRICT;
INSERT INTO probe (one, room) VALUES (1, NULL);
