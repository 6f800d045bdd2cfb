-- The trees that a run builds on, as patches (JSON); the event of each vouches for its row.
CREATE TABLE trees (
  run_id TEXT NOT NULL,
  tree TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run_id, tree)
);

-- What stands in their files, once each: by its SHA-256, compressed with zlib.
CREATE TABLE tree_contents (
  run_id TEXT NOT NULL,
  content TEXT NOT NULL,
  size INTEGER NOT NULL,
  packed BLOB NOT NULL,
  PRIMARY KEY (run_id, content)
);
