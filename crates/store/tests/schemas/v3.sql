-- What version 3 adds.

INSERT INTO notices VALUES (
    'bg_00000002', 0, 2, 'ses_parent', 'A question', 1700000004000, 'delivered', NULL, NULL
);
UPDATE tasks SET realm = 'project', directory = '/project';
