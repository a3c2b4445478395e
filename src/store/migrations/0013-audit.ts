/**
 * The audit log. Names are copies, because accounts get deleted. `detail` is JSON text; `count` is the number of
 * failures of a minute in one entry. No foreign keys: an entry outlives its subject.
 */
export default /* sql */ `
CREATE TABLE audit_entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'failed')), action TEXT NOT NULL,
  actor_kind TEXT NOT NULL, actor_id INTEGER, actor_name TEXT, target_kind TEXT, target_id TEXT, via_kind TEXT NOT NULL, via_id TEXT,
  address TEXT, detail TEXT NOT NULL, count INTEGER NOT NULL
);
CREATE INDEX audit_entries_by_time ON audit_entries(at, id);
CREATE INDEX audit_entries_failed ON audit_entries(id) WHERE outcome = 'failed';
`
