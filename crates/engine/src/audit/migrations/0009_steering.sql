-- How far the work on a backlog is, how its tasks stand aside, and what is asked of it while it goes on.
ALTER TABLE backlogs ADD COLUMN status TEXT NOT NULL DEFAULT 'idle';
ALTER TABLE backlogs ADD COLUMN iteration INTEGER NOT NULL DEFAULT 0;
ALTER TABLE backlogs ADD COLUMN max_iterations INTEGER NOT NULL DEFAULT 0;
ALTER TABLE backlog_tasks ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE backlog_tasks ADD COLUMN aside TEXT NOT NULL DEFAULT '';

CREATE TABLE backlog_orders (
  order_id INTEGER PRIMARY KEY AUTOINCREMENT,
  verb TEXT NOT NULL,
  amount INTEGER NOT NULL,
  given_at TEXT NOT NULL,
  answered_at TEXT,
  obeyed INTEGER,
  answer TEXT
);
