/** The forge of a project, and its cards' pull requests as the board saw them last. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN forge TEXT NOT NULL DEFAULT '{}';
ALTER TABLE projects ADD COLUMN forge_credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL;
ALTER TABLE cards ADD COLUMN pull_request TEXT;
CREATE TABLE pull_requests (
  id INTEGER PRIMARY KEY,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  repository TEXT NOT NULL,
  number INTEGER,
  url TEXT,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  draft INTEGER NOT NULL,
  base TEXT NOT NULL,
  branch TEXT NOT NULL,
  head_commit TEXT,
  mergeable INTEGER,
  merge_commit TEXT,
  checks TEXT NOT NULL,
  reviews TEXT NOT NULL,
  auto_merge INTEGER NOT NULL,
  merge_method TEXT NOT NULL,
  rounds INTEGER NOT NULL,
  stopped TEXT,
  told TEXT NOT NULL,
  etag TEXT,
  read_at TEXT,
  next_read_at TEXT,
  problem TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX pull_requests_by_card ON pull_requests(card_id, repository, id);
CREATE INDEX pull_requests_by_number ON pull_requests(number, repository);
CREATE INDEX pull_requests_due ON pull_requests(next_read_at) WHERE next_read_at IS NOT NULL;
`
