-- What the migrations one after the other make of an empty file, statement by statement: a test compares.
CREATE TABLE tier_attempts (
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
, billed_artisan TEXT, billed_librarian TEXT, billed_critic TEXT, unknown_cost_usd REAL NOT NULL DEFAULT 0.0, review TEXT);
CREATE TABLE run_metadata (
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
CREATE INDEX idx_tier_attempts_run_id ON tier_attempts(run_id);
CREATE INDEX idx_tier_attempts_run_tier ON tier_attempts(run_id, tier_index);
CREATE INDEX idx_tier_attempts_timestamp ON tier_attempts(timestamp);
CREATE TABLE run_state (
  run_id TEXT PRIMARY KEY,
  outcome TEXT NOT NULL DEFAULT 'running',
  stop_reason TEXT,
  exit_code INTEGER,
  version TEXT NOT NULL,
  state TEXT,
  chain_head TEXT NOT NULL,
  chain_length INTEGER NOT NULL
);
CREATE TABLE invocations (
  run_id TEXT NOT NULL,
  invocation INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  started_at TEXT,
  ended_at TEXT,
  PRIMARY KEY (run_id, invocation)
);
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  attached TEXT NOT NULL DEFAULT '',
  hash TEXT NOT NULL, recorded_at TEXT,
  UNIQUE (run_id, seq)
);
CREATE TABLE model_calls (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  call_id TEXT NOT NULL UNIQUE,
  run_id TEXT NOT NULL,
  tier_index INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  role TEXT NOT NULL,
  session_id TEXT NOT NULL,
  parent_session_id TEXT,
  root_session_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  status TEXT NOT NULL,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cache_read_tokens INTEGER,
  cache_write_tokens INTEGER,
  reasoning_tokens INTEGER,
  reserved_micro_usd INTEGER NOT NULL,
  cost_micro_usd INTEGER NOT NULL,
  latency_ms INTEGER NOT NULL,
  error TEXT,
  reply TEXT,
  timestamp TEXT NOT NULL,
  seq INTEGER NOT NULL
, billed_model TEXT, unknown_cost_micro_usd INTEGER NOT NULL DEFAULT 0, agent_path TEXT NOT NULL DEFAULT '');
CREATE INDEX idx_model_calls_iteration ON model_calls(run_id, tier_index, iteration);
CREATE TABLE reservations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  call_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  target TEXT NOT NULL,
  call_scope TEXT NOT NULL,
  reserved_micro_usd INTEGER NOT NULL,
  settled_micro_usd INTEGER,
  UNIQUE (call_id, scope)
);
CREATE INDEX idx_reservations_scope ON reservations(scope);
CREATE INDEX idx_reservations_run ON reservations(run_id);
CREATE TABLE breakpoints (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('task_complete','blocked','pr_created')),
  key TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  reached_at TEXT NOT NULL,
  cleared_at TEXT
);
CREATE TABLE snapshots (
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run_id, kind, session_id)
);
CREATE TABLE trees (
  run_id TEXT NOT NULL,
  tree TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run_id, tree)
);
CREATE TABLE tree_contents (
  run_id TEXT NOT NULL,
  content TEXT NOT NULL,
  size INTEGER NOT NULL,
  packed BLOB NOT NULL,
  PRIMARY KEY (run_id, content)
);
CREATE TABLE backlogs (
  backlog_id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  folder TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  stop_reason TEXT,
  max_cost_micro_usd INTEGER NOT NULL
, status TEXT NOT NULL DEFAULT 'idle', iteration INTEGER NOT NULL DEFAULT 0, max_iterations INTEGER NOT NULL DEFAULT 0);
CREATE TABLE backlog_tasks (
  backlog_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL,
  tries INTEGER NOT NULL,
  run_id TEXT,
  commit_sha TEXT,
  known_micro_usd INTEGER NOT NULL,
  unknown_micro_usd INTEGER NOT NULL,
  reason TEXT NOT NULL, failures INTEGER NOT NULL DEFAULT 0, aside TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (backlog_id, task_id)
);
CREATE TABLE backlog_orders (
  order_id INTEGER PRIMARY KEY AUTOINCREMENT,
  verb TEXT NOT NULL,
  amount INTEGER NOT NULL,
  given_at TEXT NOT NULL,
  answered_at TEXT,
  obeyed INTEGER,
  answer TEXT
);
CREATE TABLE segments (
  run_id TEXT PRIMARY KEY,
  log TEXT NOT NULL,
  chain_head TEXT NOT NULL,
  chain_length INTEGER NOT NULL,
  joined_at TEXT NOT NULL
);
