-- What version 4 adds.

UPDATE tasks SET tokens = 41, cost_micros = 20, currency = 'USD', model = 'p/m', tokens_before = 11,
    cost_micros_before = 5, currency_before = 'USD' WHERE id = 'bg_00000002';
UPDATE usage SET tokens = 300, cost_micros = 120, currency = 'USD', model = 'p/m' WHERE run = 1;
INSERT INTO ledgers VALUES ('ses_parent', 'USD', 120, 100, 1700000090000);
