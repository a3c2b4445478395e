/** Projects, their members and settings. */
export default /* sql */ `
CREATE TABLE projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  organization_id INTEGER REFERENCES organizations(id),
  path TEXT NOT NULL,
  repositories TEXT NOT NULL DEFAULT '[]',
  folder_records TEXT NOT NULL DEFAULT '{}',
  host TEXT,
  -- A project is hidden until the daemon that imports it has finished.
  hidden INTEGER NOT NULL DEFAULT 0,
  importer TEXT,

  agent TEXT,
  profile TEXT,
  model TEXT,
  mode TEXT,
  effort TEXT,
  credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL,
  agent_slots INTEGER,
  session_cards INTEGER NOT NULL DEFAULT 50,
  gate_rounds INTEGER NOT NULL DEFAULT 3,
  land TEXT NOT NULL DEFAULT 'manual',
  landing_paused INTEGER NOT NULL DEFAULT 0,
  approval_policy TEXT NOT NULL DEFAULT '{"default":"ask","allow":[],"refuse":[]}',
  usage_limits TEXT NOT NULL DEFAULT '{"onLimit":"stop","next":[]}',
  on_silence TEXT NOT NULL DEFAULT 'wait',

  sandbox TEXT NOT NULL DEFAULT '{}',
  worktree TEXT NOT NULL DEFAULT '{}',
  copied_files TEXT NOT NULL DEFAULT '[]',
  after_merge TEXT NOT NULL DEFAULT '{}',
  forge TEXT NOT NULL DEFAULT '{}',
  forge_credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL,
  forge_webhook_secret TEXT,

  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX projects_by_owner ON projects(owner_id);
CREATE INDEX projects_by_organization ON projects(organization_id);
CREATE INDEX projects_by_credential ON projects(credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX projects_by_host ON projects(host, id);
CREATE INDEX projects_hidden ON projects(id) WHERE hidden = 1;

CREATE TABLE project_members (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  created_at TEXT NOT NULL,
  PRIMARY KEY (project_id, user_id)
) WITHOUT ROWID;
CREATE INDEX project_members_by_user ON project_members(user_id, project_id);

CREATE TABLE invitations (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  email TEXT NOT NULL COLLATE NOCASE,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  invited_by TEXT NOT NULL DEFAULT '',
  token_hash TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (project_id, email)
) WITHOUT ROWID;
CREATE INDEX invitations_by_email ON invitations(email);
CREATE UNIQUE INDEX invitations_by_token ON invitations(token_hash) WHERE token_hash IS NOT NULL;

-- The projects of an account: their order, and when it opened them. A project counts once the account has created or opened it.
CREATE TABLE project_visits (
  user_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  position INTEGER,
  last_opened_at TEXT,
  accepted_at TEXT,
  PRIMARY KEY (user_id, project_id)
) WITHOUT ROWID;
CREATE INDEX project_visits_by_project ON project_visits(project_id);

-- Worktrees and snapshots of reviews that cards of deleted projects and boards have left on a machine, until it has removed them.
-- data is JSON.
CREATE TABLE orphaned_worktrees (
  id INTEGER PRIMARY KEY,
  host TEXT,
  data TEXT NOT NULL,
  created_at TEXT NOT NULL
);

-- Counts of a project's cards at the end of each day. by_status is JSON.
CREATE TABLE project_days (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  day TEXT NOT NULL,
  backlog INTEGER NOT NULL,
  active INTEGER NOT NULL,
  done INTEGER NOT NULL,
  archived INTEGER NOT NULL,
  by_status TEXT NOT NULL,
  PRIMARY KEY (project_id, day)
) WITHOUT ROWID;

-- The versions of a project's board.json that members agreed to. An agreement lapses when the version changes.
CREATE TABLE board_file_agreements (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  agreed_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  lapsed INTEGER NOT NULL DEFAULT 0 CHECK (lapsed IN (0, 1)),
  PRIMARY KEY (project_id, version)
) WITHOUT ROWID;
`
