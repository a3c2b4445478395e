/** The server: settings, events, the audit log, and what the daemons of one database share. */
export default /* sql */ `
CREATE TABLE server_settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  at TEXT NOT NULL
);
CREATE INDEX events_by_project ON events(project_id, seq);

-- The position of each reader of events that must not miss one, even if the server crashes.
CREATE TABLE event_cursors (
  reader TEXT PRIMARY KEY,
  seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE idempotent_answers (
  caller TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (caller, key)
) WITHOUT ROWID;
CREATE INDEX idempotent_answers_by_time ON idempotent_answers(created_at);

-- An entry has no foreign keys and contains names, because it outlives its subject. count is the number of failures in a minute that
-- share the entry.
CREATE TABLE audit_entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'failed')),
  action TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id INTEGER,
  actor_name TEXT,
  target_kind TEXT,
  target_id TEXT,
  via_kind TEXT NOT NULL,
  via_id TEXT,
  address TEXT,
  detail TEXT NOT NULL,
  count INTEGER NOT NULL
);
CREATE INDEX audit_entries_by_time ON audit_entries(at, id);
CREATE INDEX audit_entries_failed ON audit_entries(id) WHERE outcome = 'failed';

-- Times in milliseconds are by the database's clock. url is where other daemons reach this one.
CREATE TABLE daemons (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  url TEXT NOT NULL,
  version TEXT NOT NULL,
  started_at TEXT NOT NULL,
  seen_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- The token grows each time a lease changes hands, so that writes with an older token are rejected.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  daemon_id TEXT NOT NULL,
  token INTEGER NOT NULL,
  ends_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  taken INTEGER NOT NULL,
  ends_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
`
