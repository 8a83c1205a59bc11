-- A decision about a task is a code with values, in JSON. Earlier versions kept sentences; those that
-- say how something was done, and not what became of the task, are details.
ALTER TABLE timeline RENAME COLUMN line TO event;
UPDATE timeline SET event = json_object('code', 'sentence', 'text', event, 'detail', json(iif(
    event IN (
        'opening its session', 'handing over the prompt', 'the host has the prompt',
        'its session is to be stopped', 'what was opened for it is to be deleted',
        'nothing of it runs any more'
    ) OR event GLOB 'notice of its *on its way' OR event GLOB 'notice of its *queued'
    OR event GLOB 'notice of its *not needed any more'
    OR event GLOB 'notice of its *not sent yet (an undo is pending there, its program does not run, or it is not needed any more)',
    'true', 'false'
)));
