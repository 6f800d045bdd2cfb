-- The seeds' two tables, exactly (SPEC S2). IF NOT EXISTS: a database that an older tool left is adopted with its rows.
CREATE TABLE IF NOT EXISTS tier_attempts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  tier_index INTEGER NOT NULL,
  tier_name TEXT NOT NULL,
  tier_mode TEXT NOT NULL CHECK (tier_mode IN ('simple','full')),
  model_artisan TEXT NOT NULL,
  model_librarian TEXT,
  model_critic TEXT,
  iteration INTEGER NOT NULL,
  code_change_summary TEXT NOT NULL DEFAULT '',
  test_status TEXT NOT NULL CHECK (test_status IN ('passed','failed','error')),
  failed_tests TEXT NOT NULL DEFAULT '[]',
  error_messages TEXT NOT NULL DEFAULT '[]',
  cost_usd REAL NOT NULL DEFAULT 0.0,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  timestamp TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS run_metadata (
  run_id TEXT PRIMARY KEY,
  objective TEXT NOT NULL,
  working_directory TEXT NOT NULL,
  test_command TEXT NOT NULL,
  tier_config_path TEXT NOT NULL,
  started_at TEXT NOT NULL,
  completed_at TEXT,
  outcome TEXT CHECK (outcome IN ('success','failed','budget_exhausted','in_progress')),
  resolved_tier_name TEXT,
  resolved_iteration INTEGER
);
CREATE INDEX IF NOT EXISTS idx_tier_attempts_run_id ON tier_attempts(run_id);
CREATE INDEX IF NOT EXISTS idx_tier_attempts_run_tier ON tier_attempts(run_id, tier_index);
CREATE INDEX IF NOT EXISTS idx_tier_attempts_timestamp ON tier_attempts(timestamp);
