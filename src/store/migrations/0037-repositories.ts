/** Projects with several repositories: what a card has in each beside its home, and what its reviews are about there. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN repositories TEXT NOT NULL DEFAULT '[]';
CREATE TABLE card_repositories (
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  branch TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  worktree_path TEXT,
  PRIMARY KEY (card_id, name)
) WITHOUT ROWID;
CREATE TABLE review_repositories (
  review_id INTEGER NOT NULL REFERENCES reviews(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  base_commit TEXT,
  head_commit TEXT,
  snapshot TEXT,
  PRIMARY KEY (review_id, name)
) WITHOUT ROWID;
ALTER TABLE review_comments ADD COLUMN repository TEXT NOT NULL DEFAULT '';
`
