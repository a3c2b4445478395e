/** Booleans are 0 and 1, times ISO 8601 text, lists and objects JSON text. User 0 is the local operator before the first user exists. */
export default /* sql */ `
CREATE TABLE users (
  id INTEGER PRIMARY KEY AUTOINCREMENT, email TEXT NOT NULL UNIQUE COLLATE NOCASE, display_name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('super_admin', 'admin', 'user')), auth_provider TEXT NOT NULL DEFAULT 'local', password_hash TEXT, avatar_url TEXT, created_at TEXT NOT NULL
);
CREATE TABLE sign_in_tokens (
  id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, user_id INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE, created_at TEXT NOT NULL, expires_at TEXT NOT NULL
);
CREATE INDEX sign_in_tokens_by_user ON sign_in_tokens(user_id);
CREATE INDEX sign_in_tokens_by_expiry ON sign_in_tokens(expires_at);

CREATE TABLE organizations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE organization_members (
  organization_id INTEGER NOT NULL REFERENCES organizations(id) ON DELETE CASCADE, user_id INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member')), created_at TEXT NOT NULL, PRIMARY KEY (organization_id, user_id)
) WITHOUT ROWID;
CREATE INDEX organization_members_by_user ON organization_members(user_id, organization_id);

CREATE TABLE projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, path TEXT NOT NULL, owner_id INTEGER NOT NULL,
  organization_id INTEGER REFERENCES organizations(id), created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX projects_by_owner ON projects(owner_id);
CREATE INDEX projects_by_organization ON projects(organization_id);
CREATE TABLE project_members (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, user_id INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')), created_at TEXT NOT NULL, PRIMARY KEY (project_id, user_id)
) WITHOUT ROWID;
CREATE INDEX project_members_by_user ON project_members(user_id, project_id);
CREATE TABLE project_visits (
  user_id INTEGER NOT NULL, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, position INTEGER, last_opened_at TEXT, PRIMARY KEY (user_id, project_id)
) WITHOUT ROWID;
CREATE INDEX project_visits_by_project ON project_visits(project_id);

CREATE TABLE api_keys (
  id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE, user_id INTEGER NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('server', 'organization', 'project')),
  organization_id INTEGER REFERENCES organizations(id) ON DELETE CASCADE, project_id INTEGER REFERENCES projects(id) ON DELETE CASCADE,
  permissions TEXT NOT NULL, last_four TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL, last_used_at TEXT
);
CREATE INDEX api_keys_by_user ON api_keys(user_id, id);
CREATE INDEX api_keys_by_project ON api_keys(project_id);
CREATE INDEX api_keys_by_organization ON api_keys(organization_id);

CREATE TABLE board_templates (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER, name TEXT NOT NULL, columns TEXT NOT NULL, builtin INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL);
CREATE TABLE boards (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, name TEXT NOT NULL, position INTEGER NOT NULL, created_at TEXT NOT NULL
);
CREATE INDEX boards_by_project ON boards(project_id, position);
CREATE TABLE columns (
  id INTEGER PRIMARY KEY AUTOINCREMENT, board_id INTEGER NOT NULL REFERENCES boards(id) ON DELETE CASCADE, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL, column_type TEXT NOT NULL CHECK (column_type IN ('backlog', 'active', 'done', 'archive')), prompt TEXT NOT NULL DEFAULT '', position INTEGER NOT NULL
);
CREATE INDEX columns_by_board ON columns(board_id, position);
CREATE INDEX columns_by_project ON columns(project_id, board_id, position);

-- The order of a column's cards, in chunks of a few hundred: ids holds ',' and eight hexadecimal digits a card, start the place of its first card.
CREATE TABLE column_chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE, ids TEXT NOT NULL
);
CREATE TABLE chunk_starts (
  chunk_id INTEGER PRIMARY KEY REFERENCES column_chunks(id) ON DELETE CASCADE, column_id INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE INDEX chunk_starts_by_column ON chunk_starts(column_id);
CREATE INDEX column_chunks_by_column ON column_chunks(column_id);

CREATE TABLE cards (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, board_id INTEGER NOT NULL REFERENCES boards(id) ON DELETE CASCADE,
  column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE, chunk_id INTEGER,
  kind TEXT NOT NULL DEFAULT 'kanban', group_id TEXT, title TEXT NOT NULL, prompt TEXT NOT NULL, labels TEXT NOT NULL DEFAULT '[]', pipeline TEXT NOT NULL DEFAULT '[]',
  status TEXT NOT NULL DEFAULT 'idle', status_reason TEXT, unread INTEGER NOT NULL DEFAULT 0, deferred INTEGER NOT NULL DEFAULT 0, auto_mode INTEGER NOT NULL DEFAULT 0,
  use_worktree INTEGER NOT NULL DEFAULT 1, git_branch TEXT, worktree_path TEXT, worktree_managed INTEGER NOT NULL DEFAULT 0, base_commit TEXT,
  last_agent_action TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, started_at TEXT, ended_at TEXT, archived_at TEXT, deleted_at TEXT, version INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX cards_listed ON cards(project_id, id) WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_column ON cards(column_id, id) WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_status ON cards(project_id, status, id) WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_archived ON cards(project_id, id) WHERE archived_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX cards_deleted ON cards(deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX cards_unread ON cards(project_id, id) WHERE unread = 1 AND deleted_at IS NULL;
CREATE INDEX cards_by_board ON cards(board_id);
CREATE INDEX cards_out_of_order ON cards(column_id) WHERE chunk_id IS NULL;

-- How many listed cards a project has, by column and status, kept by the three triggers below so that statistics need not count.
CREATE TABLE card_counts (
  project_id INTEGER NOT NULL, column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE, status TEXT NOT NULL, total INTEGER NOT NULL, unread INTEGER NOT NULL,
  PRIMARY KEY (project_id, column_id, status)
) WITHOUT ROWID;
CREATE INDEX card_counts_by_column ON card_counts(column_id);
CREATE TRIGGER cards_counted_in AFTER INSERT ON cards WHEN new.deleted_at IS NULL AND new.archived_at IS NULL AND new.kind = 'kanban' BEGIN
  INSERT INTO card_counts VALUES (new.project_id, new.column_id, new.status, 1, new.unread)
    ON CONFLICT DO UPDATE SET total = total + 1, unread = unread + excluded.unread;
END;
CREATE TRIGGER cards_counted_out AFTER DELETE ON cards WHEN old.deleted_at IS NULL AND old.archived_at IS NULL AND old.kind = 'kanban' BEGIN
  UPDATE card_counts SET total = total - 1, unread = unread - old.unread WHERE project_id = old.project_id AND column_id = old.column_id AND status = old.status;
END;
CREATE TRIGGER cards_counted_anew AFTER UPDATE OF column_id, status, unread, archived_at, deleted_at ON cards
WHEN old.kind = 'kanban' AND (old.column_id <> new.column_id OR old.status <> new.status OR old.unread <> new.unread
  OR (old.deleted_at IS NULL AND old.archived_at IS NULL) <> (new.deleted_at IS NULL AND new.archived_at IS NULL)) BEGIN
  UPDATE card_counts SET total = total - 1, unread = unread - old.unread
    WHERE old.deleted_at IS NULL AND old.archived_at IS NULL AND project_id = old.project_id AND column_id = old.column_id AND status = old.status;
  INSERT INTO card_counts SELECT new.project_id, new.column_id, new.status, 1, new.unread WHERE new.deleted_at IS NULL AND new.archived_at IS NULL
    ON CONFLICT DO UPDATE SET total = total + 1, unread = unread + excluded.unread;
END;

CREATE TABLE attachments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE, filename TEXT NOT NULL, content_type TEXT NOT NULL,
  size INTEGER NOT NULL, sha256 TEXT NOT NULL, stored_as TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL
);
CREATE INDEX attachments_by_card ON attachments(card_id, id);

CREATE TABLE panel_states (
  user_id INTEGER NOT NULL, card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  state TEXT NOT NULL, PRIMARY KEY (user_id, project_id, card_id)
) WITHOUT ROWID;
CREATE INDEX panel_states_by_card ON panel_states(card_id);
CREATE INDEX panel_states_by_project ON panel_states(project_id);
CREATE TABLE user_settings (user_id INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (user_id, name)) WITHOUT ROWID;
CREATE TABLE server_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER, type TEXT NOT NULL, data TEXT NOT NULL, at TEXT NOT NULL);
CREATE INDEX events_by_project ON events(project_id, seq);
CREATE TABLE idempotent_answers (
  caller TEXT NOT NULL, key TEXT NOT NULL, request_hash TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (caller, key)
) WITHOUT ROWID;
CREATE INDEX idempotent_answers_by_time ON idempotent_answers(created_at);

INSERT INTO board_templates (user_id, name, columns, builtin, created_at) VALUES
  (NULL, 'Kanban', '[{"name":"Backlog","columnType":"backlog","prompt":""},{"name":"In Progress","columnType":"active","prompt":""},{"name":"Done","columnType":"done","prompt":""}]', 1, '2026-01-01T00:00:00.000Z'),
  (NULL, 'Plan, build, review', '[{"name":"Backlog","columnType":"backlog","prompt":""},{"name":"Plan","columnType":"active","prompt":"Read the code that this task touches and write a plan: the files to change, the steps, the risks and how to test it. Change nothing yet."},{"name":"Build","columnType":"active","prompt":"Carry out the plan. Keep the change small, run the tests, and commit your work with clear messages."},{"name":"Review","columnType":"active","prompt":"Review the change on this branch as a strict colleague would: correctness, tests, names, leftovers. Mend what you find and say what you changed."},{"name":"Done","columnType":"done","prompt":""},{"name":"Archive","columnType":"archive","prompt":""}]', 1, '2026-01-01T00:00:00.000Z'),
  (NULL, 'Empty', '[]', 1, '2026-01-01T00:00:00.000Z');
`
