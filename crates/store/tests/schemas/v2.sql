-- A store of version 2. Never edited: it stands for the files that people have.
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

INSERT INTO tasks VALUES (
    'bg_0000000a', 1, 'project', 'ses_parent', 'ses_parent', 1, 'explore', 'Find the login',
    1700000000000, 'ses_child_1', 'completed', NULL, 1700000050000,
    1, 'ses_parent', 'call_2', 'host-1', 3, 0, 1700000060000, 1700000090000, 4, ''
);
INSERT INTO tasks VALUES (
    'bg_00000002', 2, 'project', 'ses_parent', 'ses_parent', 1, 'build', 'Write the change log',
    1700000001000, 'ses_child_2', 'working', 'msg_prompt', NULL,
    0, 'ses_parent', 'call_3', 'host-1', 2, 1, 1700000001000, NULL, 1,
    'per_1' || char(10) || 'per_2'
);
INSERT INTO origins VALUES ('bg_0000000a', 'msg_a', 'build', '/project');
INSERT INTO origins VALUES ('bg_00000002', 'msg_b', 'build', '/project');
INSERT INTO runs VALUES (
    'bg_0000000a', 0, 'ses_parent', 'call_1', 1700000000000, 1700000040000, 'completed',
    'Where is the login?', 'It is in src/login.rs.'
);
INSERT INTO runs VALUES (
    'bg_0000000a', 1, 'ses_parent', 'call_2', 1700000060000, 1700000090000, 'completed',
    'Is it tested?', 'Two tests, both pass.'
);
INSERT INTO runs VALUES (
    'bg_00000002', 0, 'ses_parent', 'call_3', 1700000001000, NULL, NULL,
    'Write the change log.', NULL
);
INSERT INTO notices VALUES (
    'bg_0000000a', 0, -1, 'ses_parent', '[BACKGROUND TASK COMPLETED] bg_0000000a',
    1700000040000, 'told', NULL, NULL
);
INSERT INTO notices VALUES (
    'bg_0000000a', 1, -1, 'ses_parent', '[BACKGROUND RESUME COMPLETED] bg_0000000a',
    1700000090000, 'owed', 'msg_letter', 1
);
INSERT INTO notices VALUES (
    'bg_00000002', 0, 0, 'ses_parent', 'A question', 1700000002000, 'withdrawn', NULL, NULL
);
INSERT INTO notices VALUES (
    'bg_00000002', 0, 1, 'ses_parent', 'A question', 1700000003000, 'owed', 'msg_letter', 0
);
INSERT INTO letters VALUES ('msg_letter', 'ses_parent', '1 finished, 1 running');
INSERT INTO stops VALUES ('bg_00000003', 'project', 'host-1', 'ses_gone', 1);
INSERT INTO stops VALUES ('bg_00000004', 'project', 'host-1', NULL, 0);
INSERT INTO stops VALUES ('bg_00000005', 'project', 'host-1', 'ses_new', 0);
INSERT INTO parents VALUES ('ses_parent', 'project', 'host-1');
INSERT INTO parents VALUES ('ses_quiet', 'project', NULL);
INSERT INTO timeline VALUES ('bg_0000000a', 7, 1700000000000, 0, 'launched');
INSERT INTO timeline VALUES ('bg_0000000a', 8, 1700000090000, 1, 'completed');

PRAGMA application_id = 1818584951;
PRAGMA user_version = 2;

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

UPDATE tasks SET paused_ms = 1860000 WHERE stage = 'working';
INSERT INTO tombstones VALUES
    ('bg_gone0001', 1700000080000, 'explore', 'Look around', 1700000010000, 'completed', 'Found it.');
