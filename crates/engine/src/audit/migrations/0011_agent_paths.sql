-- Who asked, from the tier down: roles alone do not tell one advisor, text or sub-agent from another.
ALTER TABLE model_calls ADD COLUMN agent_path TEXT NOT NULL DEFAULT '';
UPDATE model_calls SET agent_path = 'tier-' || (tier_index + 1) || '/iteration-' || iteration || '/' || coalesce(
  (SELECT nullif(json_extract(e.body, '$.scope.agent'), '') FROM events e
   WHERE e.run_id = model_calls.run_id AND e.seq = model_calls.seq AND json_valid(e.body)), role);
