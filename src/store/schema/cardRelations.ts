/** The blockers, parts, comments, files, repositories and history of cards. Triggers maintain counts of them in the rows of cards. */
export default /* sql */ `
CREATE TABLE card_blockers (
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  blocker_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  PRIMARY KEY (card_id, blocker_id)
) WITHOUT ROWID;
CREATE INDEX card_blockers_by_blocker ON card_blockers(blocker_id);
CREATE TRIGGER blockers_counted_in AFTER INSERT ON card_blockers BEGIN
  UPDATE cards SET open_blockers = open_blockers + 1
    WHERE id = new.card_id AND EXISTS (SELECT 1 FROM cards b WHERE b.id = new.blocker_id AND b.done_at IS NULL);
END;
-- Counts again, because the row of a purged blocker no longer shows whether it was done.
CREATE TRIGGER blockers_counted_out AFTER DELETE ON card_blockers BEGIN
  UPDATE cards SET open_blockers = (SELECT count(*) FROM card_blockers d JOIN cards b ON b.id = d.blocker_id
      WHERE d.card_id = old.card_id AND b.done_at IS NULL)
    WHERE id = old.card_id;
END;
CREATE TRIGGER blockers_done AFTER UPDATE OF done_at ON cards WHEN (old.done_at IS NULL) <> (new.done_at IS NULL) BEGIN
  UPDATE cards SET open_blockers = open_blockers + iif(new.done_at IS NULL, 1, -1)
    WHERE id IN (SELECT card_id FROM card_blockers WHERE blocker_id = new.id);
END;

-- A deleted part does not count.
CREATE TRIGGER children_counted_in AFTER INSERT ON cards WHEN new.parent_id IS NOT NULL BEGIN
  UPDATE cards SET children_total = children_total + 1, children_done = children_done + (new.done_at IS NOT NULL)
    WHERE id = new.parent_id;
END;
CREATE TRIGGER children_counted AFTER UPDATE OF parent_id, done_at, deleted_at ON cards
WHEN old.parent_id IS NOT NULL OR new.parent_id IS NOT NULL BEGIN
  UPDATE cards SET children_total = children_total - 1, children_done = children_done - (old.done_at IS NOT NULL)
    WHERE id = old.parent_id AND old.deleted_at IS NULL;
  UPDATE cards SET children_total = children_total + 1, children_done = children_done + (new.done_at IS NOT NULL)
    WHERE id = new.parent_id AND new.deleted_at IS NULL;
END;
CREATE TRIGGER children_counted_out AFTER DELETE ON cards WHEN old.parent_id IS NOT NULL AND old.deleted_at IS NULL BEGIN
  UPDATE cards SET children_total = children_total - 1, children_done = children_done - (old.done_at IS NOT NULL)
    WHERE id = old.parent_id;
END;

-- The queue in which cards are merged into a branch of their project's home. base_commit, merge_commit and head are known while it is tested.
CREATE TABLE landings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  branch TEXT NOT NULL,
  squash INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'testing', 'landed', 'rejected', 'cancelled')),
  reason TEXT,
  with_agent INTEGER NOT NULL DEFAULT 0,
  requested_by TEXT NOT NULL,
  base_commit TEXT,
  merge_commit TEXT,
  head TEXT,
  created_at TEXT NOT NULL,
  started_at TEXT,
  finished_at TEXT
);
CREATE INDEX landings_by_project ON landings(project_id, id);
CREATE INDEX landings_by_card ON landings(card_id);
CREATE UNIQUE INDEX landings_open ON landings(card_id) WHERE status IN ('waiting', 'testing') OR with_agent = 1;

-- The result of a gate for a card's files, or with landing_id for their merge. definition identifies the gate's command, trees the files, which are known when it starts.
CREATE TABLE proofs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  gate_id INTEGER NOT NULL REFERENCES gates(id) ON DELETE CASCADE,
  landing_id INTEGER REFERENCES landings(id) ON DELETE CASCADE,
  session_id INTEGER REFERENCES agent_sessions(id) ON DELETE SET NULL,
  definition TEXT NOT NULL,
  trees TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL,
  exit_code INTEGER,
  summary TEXT NOT NULL DEFAULT '',
  output TEXT NOT NULL DEFAULT '',
  output_start INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  requested_by TEXT,
  stop_reason TEXT,
  created_at TEXT NOT NULL,
  started_at TEXT,
  finished_at TEXT
);
CREATE INDEX proofs_by_card ON proofs(card_id, gate_id, id);
CREATE INDEX proofs_by_gate ON proofs(gate_id);
CREATE INDEX proofs_by_project ON proofs(project_id);
CREATE INDEX proofs_by_landing ON proofs(landing_id) WHERE landing_id IS NOT NULL;
CREATE INDEX proofs_by_session ON proofs(session_id) WHERE session_id IS NOT NULL;
CREATE INDEX proofs_open ON proofs(id) WHERE status IN ('queued', 'running');

CREATE TABLE attachments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  filename TEXT NOT NULL,
  content_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  stored_as TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL
);
CREATE INDEX attachments_by_card ON attachments(card_id, id);
CREATE TRIGGER attachments_counted_in AFTER INSERT ON attachments BEGIN
  UPDATE cards SET attachment_count = attachment_count + 1 WHERE id = new.card_id;
END;
CREATE TRIGGER attachments_counted_out AFTER DELETE ON attachments BEGIN
  UPDATE cards SET attachment_count = attachment_count - 1 WHERE id = old.card_id;
END;

CREATE TABLE comments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  author_kind TEXT NOT NULL CHECK (author_kind IN ('user', 'agent', 'imported')),
  author_id INTEGER,
  author_name TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at TEXT NOT NULL,
  edited_at TEXT
);
CREATE INDEX comments_by_card ON comments(card_id);
CREATE TRIGGER comments_counted_in AFTER INSERT ON comments BEGIN
  UPDATE cards SET comment_count = comment_count + 1 WHERE id = new.card_id;
END;
CREATE TRIGGER comments_counted_out AFTER DELETE ON comments BEGIN
  UPDATE cards SET comment_count = comment_count - 1 WHERE id = old.card_id;
END;

-- The newest comment, mention or assignment of a card for an account. Other items of inboxes are derived from the rows of cards.
CREATE TABLE inbox_notes (
  user_id INTEGER NOT NULL,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('mention', 'comment', 'assigned')),
  comment_id INTEGER REFERENCES comments(id) ON DELETE CASCADE,
  author_name TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (user_id, card_id, kind)
) WITHOUT ROWID;
CREATE INDEX inbox_notes_by_time ON inbox_notes(user_id, at);
CREATE INDEX inbox_notes_by_card ON inbox_notes(card_id);
CREATE INDEX inbox_notes_by_comment ON inbox_notes(comment_id) WHERE comment_id IS NOT NULL;

-- An account has seen the items of a kind on a card that were created until item_at. Newer items are unread.
CREATE TABLE inbox_marks (
  user_id INTEGER NOT NULL,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  item_at TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  snoozed_until TEXT,
  PRIMARY KEY (user_id, card_id, kind)
) WITHOUT ROWID;
CREATE INDEX inbox_marks_by_card ON inbox_marks(card_id);

-- A card keeps at least its 10,000 newest entries. One in a thousand new entries deletes the older ones.
CREATE TABLE card_activity (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  at TEXT NOT NULL,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('user', 'key', 'agent', 'schedule', 'system')),
  actor_id INTEGER,
  actor_name TEXT NOT NULL,
  action TEXT NOT NULL,
  changes TEXT NOT NULL
);
CREATE INDEX card_activity_by_card ON card_activity(card_id);
CREATE TRIGGER card_activity_bounded AFTER INSERT ON card_activity WHEN random() % 1000 = 0 BEGIN
  DELETE FROM card_activity WHERE card_id = new.card_id
    AND id <= (SELECT id FROM card_activity WHERE card_id = new.card_id ORDER BY id DESC LIMIT 1 OFFSET 10000);
END;

CREATE TABLE card_ports (
  card_id INTEGER PRIMARY KEY REFERENCES cards(id) ON DELETE CASCADE,
  first_port INTEGER NOT NULL
);
CREATE INDEX card_ports_by_port ON card_ports(first_port);

-- The branches and worktrees of a card in its project's repositories other than the home.
CREATE TABLE card_repositories (
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  branch TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  worktree_path TEXT,
  PRIMARY KEY (card_id, name)
) WITHOUT ROWID;

CREATE TABLE merge_targets (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  repository TEXT NOT NULL,
  branch TEXT NOT NULL,
  tip TEXT NOT NULL,
  PRIMARY KEY (project_id, repository, branch)
) WITHOUT ROWID;
`
