/**
 * Where cards go after their pull requests, and how far the board is with a request. maker_user_id and maker_key_id: whose rights its agent
 * works with; a deleted maker has none. pushed_commit is what the board itself pushed last; answers are the replies that are not posted yet.
 * Deliveries of a forge's webhooks are kept so that each counts once.
 */
export default /* sql */ `
ALTER TABLE columns ADD COLUMN merged_column_id INTEGER REFERENCES columns(id) ON DELETE SET NULL;
ALTER TABLE columns ADD COLUMN closed_column_id INTEGER REFERENCES columns(id) ON DELETE SET NULL;
ALTER TABLE projects ADD COLUMN forge_webhook_secret TEXT;
ALTER TABLE pull_requests ADD COLUMN maker_user_id INTEGER;
ALTER TABLE pull_requests ADD COLUMN maker_key_id INTEGER;
ALTER TABLE pull_requests ADD COLUMN step TEXT NOT NULL DEFAULT 'idle';
ALTER TABLE pull_requests ADD COLUMN pushed_commit TEXT;
ALTER TABLE pull_requests ADD COLUMN answers TEXT NOT NULL DEFAULT '[]';
ALTER TABLE pull_requests ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pull_requests ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE forge_deliveries (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) WITHOUT ROWID;
CREATE INDEX pull_requests_asked ON pull_requests(card_id) WHERE step = 'asked';
CREATE INDEX pull_requests_ended ON pull_requests(card_id) WHERE settled < 2 AND state IN ('merged', 'closed');
CREATE INDEX forge_deliveries_by_time ON forge_deliveries(at);
CREATE INDEX columns_by_merged ON columns(merged_column_id) WHERE merged_column_id IS NOT NULL;
CREATE INDEX columns_by_closed ON columns(closed_column_id) WHERE closed_column_id IS NOT NULL;
`
