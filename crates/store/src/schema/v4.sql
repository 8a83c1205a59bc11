-- What the last run used up so far, as far as its host tells; NULL is unknown.
ALTER TABLE tasks ADD COLUMN tokens INTEGER;
ALTER TABLE tasks ADD COLUMN cost_micros INTEGER;
ALTER TABLE tasks ADD COLUMN currency TEXT;
ALTER TABLE tasks ADD COLUMN model TEXT;
-- What of that was used up before it was last asked to go on.
ALTER TABLE tasks ADD COLUMN tokens_before INTEGER;
ALTER TABLE tasks ADD COLUMN cost_micros_before INTEGER;
ALTER TABLE tasks ADD COLUMN currency_before TEXT;

-- What every run that ended used up. Not in `runs`, where it would lie behind long texts. Of runs
-- that ended before this version next to nothing is known.
CREATE TABLE usage (
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    run INTEGER NOT NULL,
    started INTEGER NOT NULL,
    tool_calls INTEGER,
    tokens INTEGER,
    cost_micros INTEGER,
    currency TEXT,
    model TEXT,
    PRIMARY KEY (task, run)
) STRICT, WITHOUT ROWID;
INSERT INTO usage (task, run, started, tool_calls)
    SELECT runs.task, runs.run, runs.started,
        CASE WHEN runs.run = tasks.run THEN tasks.tool_calls END
    FROM runs JOIN tasks ON tasks.id = runs.task WHERE runs.ended IS NOT NULL;

-- What the ended runs of a root session have cost, by currency. No reference to a task: it outlives
-- them, so that clearing tasks makes no room in a budget.
CREATE TABLE ledgers (
    root TEXT NOT NULL,
    currency TEXT NOT NULL,
    micros INTEGER NOT NULL,
    warned_micros INTEGER NOT NULL, -- the limit of which the person was warned; 0: none
    at INTEGER NOT NULL,
    PRIMARY KEY (root, currency)
) STRICT, WITHOUT ROWID;
