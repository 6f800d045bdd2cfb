-- Ours beside the seeds' tables. Money is in whole micro-dollars.

-- The exact state of a run: one row each. `state` is the lifecycle's, as JSON; `version` the upshift that wrote it.
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

-- A run may span several processes.
CREATE TABLE invocations (
  run_id TEXT NOT NULL,
  invocation INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  started_at TEXT,
  ended_at TEXT,
  PRIMARY KEY (run_id, invocation)
);

-- The run itself, as JSON, linked by hashes. `attached` is the hash of what belongs to an event but stands elsewhere.
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  attached TEXT NOT NULL DEFAULT '',
  hash TEXT NOT NULL,
  UNIQUE (run_id, seq)
);

-- Receipts: one row per model call, whatever became of it; `seq` is the place of its event.
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
);
CREATE INDEX idx_model_calls_iteration ON model_calls(run_id, tier_index, iteration);

-- What calls set aside, once per scope that they count for; `settled_micro_usd` is null while a call is under way.
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

-- Where a run waits for something outside; `key` makes acting on it idempotent.
CREATE TABLE breakpoints (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('task_complete','blocked','pr_created')),
  key TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  reached_at TEXT NOT NULL,
  cleared_at TEXT
);

-- Conversations and the like: the last of each kind and session.
CREATE TABLE snapshots (
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run_id, kind, session_id)
);
