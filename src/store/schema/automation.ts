/** Monitors, scripts, schedules and webhooks. */
export default /* sql */ `
-- outcome is the result of the latest run, and null before the first run and after a pause: the status after the next run starts
-- from it. next_run_at is null during a run and while the card is not active.
CREATE TABLE monitors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  command TEXT NOT NULL,
  description TEXT,
  cwd TEXT NOT NULL,
  interval_secs INTEGER NOT NULL,
  by_agent INTEGER NOT NULL DEFAULT 1,
  permission TEXT NOT NULL DEFAULT 'allowed',
  status TEXT NOT NULL DEFAULT 'pending',
  outcome TEXT,
  exit_code INTEGER,
  error TEXT,
  output TEXT NOT NULL DEFAULT '',
  consecutive_failures INTEGER NOT NULL DEFAULT 0,
  last_started_at TEXT,
  last_finished_at TEXT,
  next_run_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX monitors_by_card ON monitors(card_id, id);
CREATE INDEX monitors_by_project ON monitors(project_id, id);

-- The monitors of a card that await a person's permission are counted in the card's row.
CREATE TRIGGER monitors_asked AFTER INSERT ON monitors WHEN new.permission = 'asked' BEGIN
  UPDATE cards SET monitor_questions = monitor_questions + 1 WHERE id = new.card_id;
END;
CREATE TRIGGER monitors_answered AFTER UPDATE OF permission ON monitors
WHEN old.permission = 'asked' AND new.permission <> 'asked' BEGIN
  UPDATE cards SET monitor_questions = monitor_questions - 1 WHERE id = new.card_id;
END;
CREATE TRIGGER monitors_removed AFTER DELETE ON monitors WHEN old.permission = 'asked' BEGIN
  UPDATE cards SET monitor_questions = monitor_questions - 1 WHERE id = old.card_id;
END;

CREATE TABLE scripts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  command TEXT NOT NULL,
  position INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX scripts_by_project ON scripts(project_id, position);

-- The latest run of each script.
CREATE TABLE script_runs (
  script_id INTEGER PRIMARY KEY REFERENCES scripts(id) ON DELETE CASCADE,
  status TEXT NOT NULL,
  pid INTEGER,
  exit_code INTEGER,
  error TEXT,
  output TEXT NOT NULL DEFAULT '',
  output_start INTEGER NOT NULL DEFAULT 0,
  started_at TEXT NOT NULL,
  finished_at TEXT
);
CREATE INDEX script_runs_open ON script_runs(script_id) WHERE finished_at IS NULL;

-- The maker has no foreign keys: a deleted maker has no rights. anchor_at is a time of an interval, last_due_at the time that the
-- latest run was for. Since waiting_since, a run waits for the last card or for capacity.
CREATE TABLE schedules (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  template TEXT NOT NULL,
  cron TEXT,
  every_secs INTEGER,
  time_zone TEXT NOT NULL,
  anchor_at TEXT NOT NULL,
  overlap TEXT NOT NULL,
  catch_up TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  disabled_reason TEXT,
  maker_user_id INTEGER,
  maker_key_id INTEGER,
  next_run_at TEXT,
  waiting_since TEXT,
  last_due_at TEXT,
  last_run_at TEXT,
  last_card_id INTEGER REFERENCES cards(id) ON DELETE SET NULL,
  skipped INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((cron IS NULL) <> (every_secs IS NULL))
);
CREATE INDEX schedules_by_project ON schedules(project_id, id);
CREATE INDEX schedules_by_last_card ON schedules(last_card_id) WHERE last_card_id IS NOT NULL;
CREATE INDEX schedules_by_maker_key ON schedules(maker_key_id) WHERE maker_key_id IS NOT NULL;
CREATE INDEX schedules_due ON schedules(next_run_at) WHERE enabled = 1;
CREATE INDEX schedules_waiting ON schedules(id) WHERE waiting_since IS NOT NULL;

-- A webhook receives the events of a project, or the notifications of an account. secret is sealed. The maker of a project's webhook
-- has no foreign keys: a deleted maker has no rights.
CREATE TABLE webhooks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER REFERENCES projects(id) ON DELETE CASCADE,
  user_id INTEGER,
  url TEXT NOT NULL,
  events TEXT NOT NULL DEFAULT '[]',
  secret TEXT NOT NULL DEFAULT '',
  description TEXT,
  enabled INTEGER NOT NULL DEFAULT 1,
  disabled_reason TEXT,
  maker_user_id INTEGER,
  maker_key_id INTEGER,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((project_id IS NULL) <> (user_id IS NULL))
);
CREATE INDEX webhooks_by_project ON webhooks(project_id, id);
CREATE UNIQUE INDEX webhooks_by_user ON webhooks(user_id) WHERE user_id IS NOT NULL;
CREATE INDEX webhooks_by_maker_key ON webhooks(maker_key_id) WHERE maker_key_id IS NOT NULL;

-- url is the target of the latest attempt. Deliveries that a person requested come first.
CREATE TABLE webhook_deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_id INTEGER NOT NULL REFERENCES webhooks(id) ON DELETE CASCADE,
  message_id TEXT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  requested INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'pending',
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_at TEXT,
  url TEXT,
  response_status INTEGER,
  response_body TEXT,
  error TEXT,
  duration_ms INTEGER,
  created_at TEXT NOT NULL,
  last_attempt_at TEXT,
  finished_at TEXT
);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries(webhook_id, id);
CREATE INDEX webhook_deliveries_by_status ON webhook_deliveries(webhook_id, status, id);
CREATE INDEX webhook_deliveries_first ON webhook_deliveries(webhook_id, requested DESC, id) WHERE status = 'pending' AND attempts = 0;
CREATE INDEX webhook_deliveries_again ON webhook_deliveries(webhook_id, next_attempt_at) WHERE status = 'pending' AND attempts > 0;
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries(finished_at) WHERE finished_at IS NOT NULL;
`
