-- What a run's recorded trees are made of elsewhere: the first by what it has beyond its commit, the others by what they have beyond the
-- first. `tree` is the name that the content is checked by; what no state names any more is removed.
CREATE TABLE trees (
  run_id TEXT NOT NULL,
  tree TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run_id, tree)
);
