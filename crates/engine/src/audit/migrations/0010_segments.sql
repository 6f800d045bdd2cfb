-- What was joined from other jobs' logs: the chain of each such run is a segment of this log, verified before it was taken.
CREATE TABLE segments (
  run_id TEXT PRIMARY KEY,
  log TEXT NOT NULL,
  chain_head TEXT NOT NULL,
  chain_length INTEGER NOT NULL,
  joined_at TEXT NOT NULL
);
