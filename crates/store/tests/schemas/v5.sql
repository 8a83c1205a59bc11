-- What version 5 adds.

UPDATE tasks SET fork_before = 'msg_launch' WHERE id = 'bg_00000002';
