-- What the critic said of an iteration's change, as JSON: verdict, whether its own issues overrule it, summary, issues. Null without one.
ALTER TABLE tier_attempts ADD COLUMN review TEXT;
