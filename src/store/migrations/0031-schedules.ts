/**
 * Schedules make cards by themselves. maker_user_id and maker_key_id have no foreign keys: a deleted maker has no rights.
 * anchor_at is a time of an interval, last_due_at the time that the latest run was for, waiting_since since when a run
 * waits for the last card or for room.
 */
export default /* sql */ `
CREATE TABLE schedules (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, name TEXT NOT NULL,
  cron TEXT, every_secs INTEGER, time_zone TEXT NOT NULL, anchor_at TEXT NOT NULL, template TEXT NOT NULL, overlap TEXT NOT NULL, catch_up TEXT NOT NULL,
  enabled INTEGER NOT NULL, disabled_reason TEXT, maker_user_id INTEGER, maker_key_id INTEGER,
  next_run_at TEXT, waiting_since TEXT, last_due_at TEXT, last_run_at TEXT, last_card_id INTEGER REFERENCES cards(id) ON DELETE SET NULL, skipped INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  CHECK ((cron IS NULL) <> (every_secs IS NULL))
);
CREATE INDEX schedules_by_project ON schedules(project_id, id);
CREATE INDEX schedules_due ON schedules(next_run_at) WHERE enabled = 1;
CREATE INDEX schedules_waiting ON schedules(id) WHERE waiting_since IS NOT NULL;
CREATE INDEX schedules_by_last_card ON schedules(last_card_id) WHERE last_card_id IS NOT NULL;
CREATE INDEX schedules_by_maker_key ON schedules(maker_key_id) WHERE maker_key_id IS NOT NULL;
`
