-- A backlog that is worked off: each of its tasks is a run of its own, whose chain vouches for it; these rows only order them.
CREATE TABLE backlogs (
  backlog_id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  folder TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  stop_reason TEXT,
  max_cost_micro_usd INTEGER NOT NULL
);

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
  reason TEXT NOT NULL,
  PRIMARY KEY (backlog_id, task_id)
);
