-- What a store of version 1 may hold.

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
