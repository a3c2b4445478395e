/** Several daemons on one database: heartbeats, leases, and the machine of each project's folder. */
export default /* sql */ `
-- Null where the database is a file of the only machine.
ALTER TABLE projects ADD COLUMN host TEXT;
ALTER TABLE process_runs ADD COLUMN host TEXT;
CREATE INDEX projects_by_host ON projects(host, id);

-- Times are milliseconds of the database's clock. url is where the other daemons reach it.
CREATE TABLE daemons (id TEXT PRIMARY KEY, host TEXT NOT NULL, url TEXT NOT NULL, version TEXT NOT NULL, started_at TEXT NOT NULL, seen_at_ms INTEGER NOT NULL) WITHOUT ROWID;
-- token grows each time a lease changes hands: who writes with an older one comes too late.
CREATE TABLE leases (name TEXT PRIMARY KEY, daemon_id TEXT NOT NULL, token INTEGER NOT NULL, ends_at_ms INTEGER NOT NULL) WITHOUT ROWID;

-- What a daemon alone keeps in memory. Of a ticket the key is a hash of its secret, and the value is sealed.
CREATE TABLE tickets (key TEXT PRIMARY KEY, value TEXT NOT NULL, ends_at_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, taken INTEGER NOT NULL, ends_at_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE revocations (id INTEGER PRIMARY KEY AUTOINCREMENT, ended TEXT NOT NULL, at_ms INTEGER NOT NULL);
`
