-- What version 2 adds.

UPDATE tasks SET paused_ms = 1860000 WHERE stage = 'working';
INSERT INTO tombstones VALUES
    ('bg_gone0001', 1700000080000, 'explore', 'Look around', 1700000010000, 'completed', 'Found it.');
