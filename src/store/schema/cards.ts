/** Cards, the indexes of their lists, and the values that triggers maintain in their rows so that lists do not compute them. */
export default /* sql */ `
CREATE TABLE cards (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  version INTEGER NOT NULL DEFAULT 1,
  kind TEXT NOT NULL DEFAULT 'kanban',
  group_id TEXT,

  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  board_id INTEGER NOT NULL REFERENCES boards(id) ON DELETE CASCADE,
  column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE,
  leaf_id INTEGER,
  next_column_id INTEGER REFERENCES columns(id) ON DELETE SET NULL,
  pullable INTEGER NOT NULL DEFAULT 1,

  title TEXT NOT NULL,
  prompt TEXT NOT NULL,
  labels TEXT NOT NULL DEFAULT '[]',
  priority TEXT NOT NULL DEFAULT 'normal',
  estimate NUMERIC,
  assignees TEXT NOT NULL DEFAULT '[]',
  watch_choices TEXT NOT NULL DEFAULT '{}',
  creator_id INTEGER,
  creator_name TEXT,
  source TEXT,

  status TEXT NOT NULL DEFAULT 'idle',
  status_reason TEXT,
  unread INTEGER NOT NULL DEFAULT 0,
  last_agent_action TEXT,

  agent TEXT,
  profile TEXT,
  model TEXT,
  mode TEXT,
  effort TEXT,
  credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL,
  command TEXT,
  pipeline TEXT NOT NULL DEFAULT '[]',
  auto_mode INTEGER NOT NULL DEFAULT 0,
  deferred INTEGER NOT NULL DEFAULT 0,

  -- The starter has no foreign keys: a deleted starter has no rights.
  start_at TEXT,
  start_held INTEGER NOT NULL DEFAULT 0,
  gate_rounds INTEGER NOT NULL DEFAULT 0,
  missing_gate TEXT,
  starter_user_id INTEGER,
  starter_key_id INTEGER,
  due_at TEXT,
  due_remind_at TEXT,

  use_worktree INTEGER NOT NULL DEFAULT 1,
  worktree_path TEXT,
  worktree_managed INTEGER NOT NULL DEFAULT 0,
  git_branch TEXT,
  base TEXT,
  base_card_id INTEGER REFERENCES cards(id) ON DELETE SET NULL,
  base_commit TEXT,

  review_state TEXT,
  review_round INTEGER NOT NULL DEFAULT 0,
  pull_request TEXT,
  issue TEXT,
  merged_at TEXT,
  merged_commit TEXT,
  merged_into TEXT,
  merges TEXT NOT NULL DEFAULT '[]',

  parent_id INTEGER REFERENCES cards(id) ON DELETE SET NULL,
  discovered_from_id INTEGER REFERENCES cards(id) ON DELETE SET NULL,
  children_total INTEGER NOT NULL DEFAULT 0,
  children_done INTEGER NOT NULL DEFAULT 0,
  open_blockers INTEGER NOT NULL DEFAULT 0,
  attachment_count INTEGER NOT NULL DEFAULT 0,
  comment_count INTEGER NOT NULL DEFAULT 0,
  monitor_questions INTEGER NOT NULL DEFAULT 0,

  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  started_at TEXT,
  ended_at TEXT,
  done_at TEXT,
  archived_at TEXT,
  deleted_at TEXT
);

-- Lists of a board. Indexes omit the value that most cards have, so that creating a card costs little.
CREATE INDEX cards_listed ON cards(project_id, id)
  WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_column ON cards(column_id, id)
  WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_status ON cards(project_id, status, id)
  WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_priority ON cards(project_id, priority, id)
  WHERE priority <> 'normal' AND deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_due ON cards(project_id, due_at, id)
  WHERE due_at IS NOT NULL AND deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_change ON cards(project_id, updated_at, id)
  WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';

-- Other lists
CREATE UNIQUE INDEX cards_assistant ON cards(project_id) WHERE kind = 'assistant' AND deleted_at IS NULL;
CREATE INDEX cards_terminal ON cards(project_id, id) WHERE kind = 'terminal' AND deleted_at IS NULL AND archived_at IS NULL;
CREATE INDEX cards_archived ON cards(project_id, id) WHERE archived_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX cards_deleted ON cards(deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX cards_deleted_by_project ON cards(project_id, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX cards_unread ON cards(project_id, id) WHERE unread = 1 AND deleted_at IS NULL;
CREATE INDEX cards_merged ON cards(project_id) WHERE merged_at IS NOT NULL;
CREATE INDEX cards_source ON cards(project_id, json_extract(source, '$.kind'), json_extract(source, '$.id')) WHERE source IS NOT NULL;

-- Due work
CREATE INDEX cards_to_start ON cards(start_at) WHERE start_held = 1;
CREATE INDEX cards_to_land ON cards(project_id) WHERE status_reason = 'landing';
CREATE INDEX cards_to_remind ON cards(due_remind_at) WHERE due_remind_at IS NOT NULL;
CREATE INDEX cards_in_inboxes ON cards(project_id)
  WHERE kind = 'kanban' AND deleted_at IS NULL AND archived_at IS NULL AND done_at IS NULL
    AND (status IN ('waiting', 'failed', 'interrupted', 'completed') OR monitor_questions > 0 OR due_at IS NOT NULL);
CREATE INDEX cards_out_of_order ON cards(column_id) WHERE leaf_id IS NULL;
CREATE INDEX cards_by_monitor_questions ON cards(project_id) WHERE monitor_questions > 0;

-- References
CREATE INDEX cards_by_board ON cards(board_id);
CREATE INDEX cards_by_next_column ON cards(next_column_id) WHERE next_column_id IS NOT NULL;
CREATE INDEX cards_by_credential ON cards(credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX cards_by_base ON cards(base_card_id) WHERE base_card_id IS NOT NULL;
CREATE INDEX cards_by_parent ON cards(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX cards_by_discovery ON cards(discovered_from_id) WHERE discovered_from_id IS NOT NULL;

-- Counts of listed cards, so that statistics do not count.
CREATE TABLE card_counts (
  project_id INTEGER NOT NULL,
  column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE,
  status TEXT NOT NULL,
  total INTEGER NOT NULL,
  unread INTEGER NOT NULL,
  PRIMARY KEY (project_id, column_id, status)
) WITHOUT ROWID;
CREATE INDEX card_counts_by_column ON card_counts(column_id);
CREATE TRIGGER cards_counted_in AFTER INSERT ON cards
WHEN new.deleted_at IS NULL AND new.archived_at IS NULL AND new.kind = 'kanban' BEGIN
  INSERT INTO card_counts VALUES (new.project_id, new.column_id, new.status, 1, new.unread)
    ON CONFLICT DO UPDATE SET total = total + 1, unread = unread + excluded.unread;
END;
CREATE TRIGGER cards_counted_out AFTER DELETE ON cards
WHEN old.deleted_at IS NULL AND old.archived_at IS NULL AND old.kind = 'kanban' BEGIN
  UPDATE card_counts SET total = total - 1, unread = unread - old.unread
    WHERE project_id = old.project_id AND column_id = old.column_id AND status = old.status;
END;
CREATE TRIGGER cards_counted_changed AFTER UPDATE OF column_id, status, unread, archived_at, deleted_at ON cards
WHEN old.kind = 'kanban' AND (old.column_id <> new.column_id OR old.status <> new.status OR old.unread <> new.unread
  OR (old.deleted_at IS NULL AND old.archived_at IS NULL) <> (new.deleted_at IS NULL AND new.archived_at IS NULL)) BEGIN
  UPDATE card_counts SET total = total - 1, unread = unread - old.unread
    WHERE old.deleted_at IS NULL AND old.archived_at IS NULL
      AND project_id = old.project_id AND column_id = old.column_id AND status = old.status;
  INSERT INTO card_counts SELECT new.project_id, new.column_id, new.status, 1, new.unread
    WHERE new.deleted_at IS NULL AND new.archived_at IS NULL
    ON CONFLICT DO UPDATE SET total = total + 1, unread = unread + excluded.unread;
END;

-- Finds the cards of an account. A card's row contains its assignees with their current names, for lists.
CREATE TABLE card_assignees (
  user_id INTEGER NOT NULL,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  PRIMARY KEY (user_id, card_id)
) WITHOUT ROWID;
CREATE INDEX card_assignees_by_card ON card_assignees(card_id);
CREATE TRIGGER assignees_in AFTER INSERT ON cards WHEN new.assignees <> '[]' BEGIN
  INSERT INTO card_assignees SELECT DISTINCT CAST(json_extract(value, '$.userId') AS INTEGER), new.id
    FROM json_each(new.assignees) WHERE json_extract(value, '$.userId') IS NOT NULL;
END;
CREATE TRIGGER assignees_changed AFTER UPDATE OF assignees ON cards WHEN old.assignees <> new.assignees BEGIN
  DELETE FROM card_assignees WHERE card_id = new.id;
  INSERT INTO card_assignees SELECT DISTINCT CAST(json_extract(value, '$.userId') AS INTEGER), new.id
    FROM json_each(new.assignees) WHERE json_extract(value, '$.userId') IS NOT NULL;
END;
CREATE TRIGGER assignees_renamed AFTER UPDATE OF display_name ON users WHEN old.display_name <> new.display_name BEGIN
  UPDATE cards SET assignees = (SELECT json_group_array(json(iif(json_extract(value, '$.userId') = CAST(new.id AS TEXT),
      json_set(value, '$.displayName', new.display_name), value)))
    FROM (SELECT value FROM json_each(cards.assignees) ORDER BY key))
    WHERE id IN (SELECT card_id FROM card_assignees WHERE user_id = new.id);
END;
-- An assignee whose account is deleted stays as a name.
CREATE TRIGGER assignees_deleted BEFORE DELETE ON users BEGIN
  UPDATE cards SET assignees = (SELECT json_group_array(json(iif(json_extract(value, '$.userId') = CAST(old.id AS TEXT),
      json_object('name', old.display_name), value)))
    FROM (SELECT value FROM json_each(cards.assignees) ORDER BY key))
    WHERE id IN (SELECT card_id FROM card_assignees WHERE user_id = old.id);
END;

-- The first reminder of a due date comes a day before it.
CREATE TRIGGER due_reminder_in AFTER INSERT ON cards WHEN new.due_at IS NOT NULL BEGIN
  UPDATE cards SET due_remind_at = strftime('%Y-%m-%dT%H:%M:%fZ', new.due_at, '-1 day') WHERE id = new.id;
END;
CREATE TRIGGER due_reminder_changed AFTER UPDATE OF due_at ON cards WHEN new.due_at IS NOT old.due_at BEGIN
  UPDATE cards SET due_remind_at = strftime('%Y-%m-%dT%H:%M:%fZ', new.due_at, '-1 day') WHERE id = new.id;
END;
`
