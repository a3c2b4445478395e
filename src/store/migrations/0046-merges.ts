/** Merges of cards, the branches that they were merged into, and what a project does after a merge. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN merged_at TEXT;
ALTER TABLE cards ADD COLUMN merged_commit TEXT;
ALTER TABLE cards ADD COLUMN merged_into TEXT;
ALTER TABLE cards ADD COLUMN merges TEXT NOT NULL DEFAULT '[]';
CREATE INDEX cards_merged ON cards (project_id) WHERE merged_at IS NOT NULL;
CREATE TABLE merge_targets (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  repository TEXT NOT NULL,
  branch TEXT NOT NULL,
  tip TEXT NOT NULL,
  PRIMARY KEY (project_id, repository, branch)
) WITHOUT ROWID;
ALTER TABLE projects ADD COLUMN after_merge TEXT NOT NULL DEFAULT '{}';
`
