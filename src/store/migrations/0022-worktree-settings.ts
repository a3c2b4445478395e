/** How a project's worktrees are prepared, which versions of its board.json its members have agreed to, and cards' ports. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN worktree TEXT NOT NULL DEFAULT '{}';
CREATE TABLE board_file_agreements (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  agreed_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (project_id, version)
) WITHOUT ROWID;
CREATE TABLE card_ports (
  card_id INTEGER PRIMARY KEY REFERENCES cards(id) ON DELETE CASCADE,
  first_port INTEGER NOT NULL
);
CREATE INDEX card_ports_by_port ON card_ports(first_port);
`
