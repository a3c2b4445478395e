/** Reviews of cards, and what the board shares with a forge: pull requests and issues. */
export default /* sql */ `
CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  round INTEGER NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('comment', 'request_changes', 'approve')),
  body TEXT NOT NULL,
  author_id INTEGER,
  author_name TEXT NOT NULL,
  author_role TEXT,
  base_commit TEXT,
  head_commit TEXT,
  snapshot TEXT,
  trees TEXT,
  session_id INTEGER REFERENCES agent_sessions(id) ON DELETE SET NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX reviews_by_card ON reviews(card_id);
CREATE INDEX reviews_by_session ON reviews(session_id) WHERE session_id IS NOT NULL;

CREATE TABLE review_comments (
  id INTEGER PRIMARY KEY,
  review_id INTEGER NOT NULL REFERENCES reviews(id) ON DELETE CASCADE,
  repository TEXT NOT NULL DEFAULT '',
  path TEXT NOT NULL,
  side TEXT NOT NULL CHECK (side IN ('old', 'new')),
  start_line INTEGER NOT NULL,
  line INTEGER NOT NULL,
  text TEXT NOT NULL,
  body TEXT NOT NULL,
  answer TEXT,
  answered_at TEXT,
  resolved_at TEXT
);
CREATE INDEX review_comments_by_review ON review_comments(review_id);

-- The reviewed commits in the repositories other than the home.
CREATE TABLE review_repositories (
  review_id INTEGER NOT NULL REFERENCES reviews(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  base_commit TEXT,
  head_commit TEXT,
  snapshot TEXT,
  PRIMARY KEY (review_id, name)
) WITHOUT ROWID;

CREATE TABLE review_drafts (
  user_id INTEGER NOT NULL,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  body TEXT NOT NULL,
  comments TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (user_id, card_id)
) WITHOUT ROWID;
CREATE INDEX review_drafts_by_card ON review_drafts(card_id);

-- The maker has no foreign keys: a deleted maker has no rights.
CREATE TABLE pull_requests (
  id INTEGER PRIMARY KEY,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  repository TEXT NOT NULL,
  number INTEGER,
  url TEXT,
  title TEXT NOT NULL,
  draft INTEGER NOT NULL,
  base TEXT NOT NULL,
  branch TEXT NOT NULL,
  maker_user_id INTEGER,
  maker_key_id INTEGER,

  -- The latest state on the forge
  state TEXT NOT NULL,
  head_commit TEXT,
  mergeable INTEGER,
  merge_commit TEXT,
  checks TEXT NOT NULL,
  had_checks INTEGER NOT NULL DEFAULT 0,
  reviews TEXT NOT NULL,
  auto_merge INTEGER NOT NULL,
  merge_method TEXT NOT NULL,
  etag TEXT,
  read_at TEXT,
  next_read_at TEXT,
  held_until TEXT,
  failures INTEGER NOT NULL DEFAULT 0,
  problem TEXT,

  -- The board's work on it
  phase TEXT NOT NULL DEFAULT 'watching',
  rounds INTEGER NOT NULL,
  stopped TEXT,
  reported TEXT NOT NULL,
  pushed_commit TEXT,
  answers TEXT NOT NULL DEFAULT '[]',

  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX pull_requests_by_card ON pull_requests(card_id, repository, id);
CREATE INDEX pull_requests_by_number ON pull_requests(number, repository);
CREATE INDEX pull_requests_due ON pull_requests(next_read_at) WHERE next_read_at IS NOT NULL;
CREATE INDEX pull_requests_working ON pull_requests(card_id) WHERE phase = 'working';
CREATE INDEX pull_requests_ending ON pull_requests(card_id) WHERE phase IN ('movingCard', 'removingWorktree');

-- The deliveries of a forge's webhooks, so that each counts once.
CREATE TABLE forge_deliveries (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) WITHOUT ROWID;
CREATE INDEX forge_deliveries_by_time ON forge_deliveries(at);

-- The progress of a project's synchronization with its forge.
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

-- A row stays when its card is purged, so that the issue does not become another card.
CREATE TABLE card_issues (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  card_id INTEGER REFERENCES cards(id) ON DELETE SET NULL,
  forge TEXT NOT NULL,
  number INTEGER NOT NULL,
  url TEXT NOT NULL,
  title TEXT NOT NULL,
  prompt_digest TEXT NOT NULL,
  phase TEXT NOT NULL DEFAULT 'open',
  changed_at TEXT NOT NULL,
  seen_at TEXT NOT NULL,
  done INTEGER NOT NULL,
  merged INTEGER,
  token TEXT,
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

-- The comments of an issue that are on both sides.
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

-- An issue is due at once when its card or a comment changes on the board.
CREATE TRIGGER card_issues_after_card AFTER UPDATE OF done_at, deleted_at, pull_request ON cards
WHEN (old.done_at IS NULL) <> (new.done_at IS NULL) OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL)
  OR json_extract(old.pull_request, '$.state') IS NOT json_extract(new.pull_request, '$.state') BEGIN
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
