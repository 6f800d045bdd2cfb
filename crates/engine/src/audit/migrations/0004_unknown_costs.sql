-- What a failed call, or an iteration with one, cost at most beyond the known cost: such a call may have been billed.
-- Rows of older versions have it in the cost itself.
ALTER TABLE tier_attempts ADD COLUMN unknown_cost_usd REAL NOT NULL DEFAULT 0.0;
ALTER TABLE model_calls ADD COLUMN unknown_cost_micro_usd INTEGER NOT NULL DEFAULT 0;
