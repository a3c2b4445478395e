/** Background work: monitors, scripts, webhooks, and the cursors of event consumers. */
export default /* sql */ `
-- outcome is how the latest run ended, null before the first one and after a pause: what status says again after running.
-- next_run_at is null while a run is going on and while the card is not active.
CREATE TABLE monitors (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  command TEXT NOT NULL, interval_secs INTEGER NOT NULL, description TEXT, cwd TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'pending', outcome TEXT, exit_code INTEGER, error TEXT, output TEXT NOT NULL DEFAULT '',
  last_started_at TEXT, last_finished_at TEXT, next_run_at TEXT, consecutive_failures INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX monitors_by_card ON monitors(card_id, id);
CREATE INDEX monitors_by_project ON monitors(project_id, id);

CREATE TABLE scripts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, name TEXT NOT NULL, command TEXT NOT NULL, position INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX scripts_by_project ON scripts(project_id, position);
-- The latest run of a script.
CREATE TABLE script_runs (
  script_id INTEGER PRIMARY KEY REFERENCES scripts(id) ON DELETE CASCADE, status TEXT NOT NULL, pid INTEGER, exit_code INTEGER, error TEXT, started_at TEXT NOT NULL, finished_at TEXT,
  output TEXT NOT NULL DEFAULT '', output_start INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX script_runs_open ON script_runs(script_id) WHERE finished_at IS NULL;

-- Who gets messages: of a project's events, or of what one account is notified of. secret is sealed. events is a JSON list of types.
CREATE TABLE webhooks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER REFERENCES projects(id) ON DELETE CASCADE, user_id INTEGER, url TEXT NOT NULL, events TEXT NOT NULL DEFAULT '[]', enabled INTEGER NOT NULL DEFAULT 1,
  description TEXT, disabled_reason TEXT, secret TEXT NOT NULL DEFAULT '', created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  CHECK ((project_id IS NULL) <> (user_id IS NULL))
);
CREATE INDEX webhooks_by_project ON webhooks(project_id, id);
CREATE UNIQUE INDEX webhooks_by_user ON webhooks(user_id) WHERE user_id IS NOT NULL;
-- A message to a receiver. url is where the latest attempt went. Those that a person has asked for (asked) go first.
CREATE TABLE webhook_deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, webhook_id INTEGER NOT NULL REFERENCES webhooks(id) ON DELETE CASCADE, message_id TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL, asked INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'pending', attempts INTEGER NOT NULL DEFAULT 0, next_attempt_at TEXT, url TEXT, response_status INTEGER, response_body TEXT, error TEXT, duration_ms INTEGER, created_at TEXT NOT NULL,
  last_attempt_at TEXT, finished_at TEXT
);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries(webhook_id, id);
CREATE INDEX webhook_deliveries_by_status ON webhook_deliveries(webhook_id, status, id);
CREATE INDEX webhook_deliveries_first ON webhook_deliveries(webhook_id, asked DESC, id) WHERE status = 'pending' AND attempts = 0;
CREATE INDEX webhook_deliveries_again ON webhook_deliveries(webhook_id, next_attempt_at) WHERE status = 'pending' AND attempts > 0;
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries(finished_at) WHERE finished_at IS NOT NULL;

-- Sessions that wait for a person and of which people have been told so.
CREATE TABLE waiting_told (session_id INTEGER PRIMARY KEY REFERENCES agent_sessions(id) ON DELETE CASCADE);

-- How far a reader of the events has come that must not miss one, whatever happens to the server.
CREATE TABLE event_cursors (reader TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
`
