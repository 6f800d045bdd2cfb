-- When an event was recorded, in UTC with milliseconds; it stands in the event's JSON too, and so under its hash. Null in rows of older
-- versions.
ALTER TABLE events ADD COLUMN recorded_at TEXT;
