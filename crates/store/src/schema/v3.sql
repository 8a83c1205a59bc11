-- The outbox: notices are pending until a delivery that carries them is seen.
ALTER TABLE letters RENAME TO deliveries;
DROP INDEX notices_owed;
ALTER TABLE notices RENAME COLUMN letter TO delivery;
UPDATE notices SET state = 'pending' WHERE state = 'owed';
UPDATE notices SET state = 'delivered' WHERE state = 'told';
CREATE INDEX notices_pending ON notices (delivery) WHERE state = 'pending';
ALTER TABLE parents RENAME COLUMN voice TO active_host;

-- The asker's place, which need not be where the session is kept, and its directory.
ALTER TABLE tasks ADD COLUMN realm TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN directory TEXT NOT NULL DEFAULT '';
UPDATE tasks SET realm = place, directory = coalesce(
    (SELECT directory FROM origins WHERE origins.task = tasks.id), ''
);
