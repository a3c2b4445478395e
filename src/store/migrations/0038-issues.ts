/** The issues of a forge that are cards, which of their comments are on both sides, and how far each project has looked. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN issue TEXT;
CREATE TABLE issue_syncs (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL UNIQUE REFERENCES projects(id) ON DELETE CASCADE,
  source TEXT NOT NULL,
  since TEXT,
  comments INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  quiet INTEGER NOT NULL,
  next_at TEXT,
  synced_at TEXT,
  problem TEXT
);
CREATE TABLE card_issues (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  card_id INTEGER REFERENCES cards(id) ON DELETE SET NULL,
  forge TEXT NOT NULL,
  number INTEGER NOT NULL,
  url TEXT NOT NULL,
  title TEXT NOT NULL,
  prompt_digest TEXT NOT NULL,
  state TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  seen_at TEXT NOT NULL,
  done INTEGER NOT NULL,
  merged INTEGER,
  wants TEXT,
  token TEXT,
  closed_by_board INTEGER NOT NULL,
  comments_from TEXT,
  passes_comments INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  due_at TEXT,
  failures INTEGER NOT NULL,
  problem TEXT,
  UNIQUE (project_id, forge, number)
);
CREATE UNIQUE INDEX card_issues_by_card ON card_issues(card_id) WHERE card_id IS NOT NULL;
CREATE INDEX card_issues_due ON card_issues(due_at) WHERE due_at IS NOT NULL;
CREATE TABLE issue_comments (
  id INTEGER PRIMARY KEY,
  issue_id INTEGER NOT NULL REFERENCES card_issues(id) ON DELETE CASCADE,
  comment_id INTEGER,
  forge_id TEXT,
  written_at TEXT NOT NULL,
  digest TEXT NOT NULL,
  token TEXT,
  gone INTEGER NOT NULL
);
CREATE UNIQUE INDEX issue_comments_by_forge_id ON issue_comments(issue_id, forge_id) WHERE forge_id IS NOT NULL;
CREATE UNIQUE INDEX issue_comments_by_comment ON issue_comments(issue_id, comment_id) WHERE comment_id IS NOT NULL;
CREATE TRIGGER card_issues_after_card AFTER UPDATE OF done_at, deleted_at, pull_request ON cards
WHEN (old.done_at IS NULL) <> (new.done_at IS NULL) OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL)
  OR json_extract(old.pull_request, '$.state') IS NOT json_extract(new.pull_request, '$.state')
BEGIN
  UPDATE card_issues SET changes = changes + 1, due_at = '1970-01-01T00:00:00.000Z' WHERE card_id = new.id;
END;
CREATE TRIGGER card_issues_after_comment AFTER INSERT ON comments BEGIN
  UPDATE card_issues SET changes = changes + 1, due_at = '1970-01-01T00:00:00.000Z' WHERE card_id = new.card_id;
END;
CREATE TRIGGER card_issues_after_comment_change AFTER UPDATE OF body ON comments BEGIN
  UPDATE card_issues SET changes = changes + 1, due_at = '1970-01-01T00:00:00.000Z' WHERE card_id = new.card_id;
END;
CREATE TRIGGER card_issues_after_comment_end AFTER DELETE ON comments BEGIN
  UPDATE card_issues SET changes = changes + 1, due_at = '1970-01-01T00:00:00.000Z' WHERE card_id = old.card_id;
END;
`
