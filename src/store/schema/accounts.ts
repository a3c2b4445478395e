/** Accounts and organizations, and everything that signs in: sessions in a browser, API keys, connected apps, and credentials of agents. */
export default /* sql */ `
CREATE TABLE users (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  email TEXT NOT NULL UNIQUE COLLATE NOCASE,
  display_name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('super_admin', 'admin', 'user')),
  auth_provider TEXT NOT NULL DEFAULT 'local',
  password_hash TEXT,
  oidc_issuer TEXT,
  oidc_subject TEXT,
  self_registered INTEGER NOT NULL DEFAULT 0,
  avatar_url TEXT,
  created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX users_by_oidc ON users(oidc_issuer, oidc_subject) WHERE oidc_subject IS NOT NULL;

CREATE TABLE user_settings (
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (user_id, name)
) WITHOUT ROWID;

CREATE TABLE sign_in_tokens (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  user_id INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,
  address TEXT NOT NULL,
  client TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL
);
CREATE INDEX sign_in_tokens_by_user ON sign_in_tokens(user_id);
CREATE INDEX sign_in_tokens_by_expiry ON sign_in_tokens(expires_at);

-- Short-lived secrets. The key is a hash of the secret, and the value is sealed. Tickets of one kind live equally long.
CREATE TABLE tickets (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  UNIQUE (kind, key)
);
CREATE INDEX tickets_by_end ON tickets(kind, ends_at_ms);

-- Rights that ended, which the other daemons of the database must also stop honoring.
CREATE TABLE revocations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  ended TEXT NOT NULL,
  at_ms INTEGER NOT NULL
);

CREATE TABLE organizations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  default_credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX organizations_by_credential ON organizations(default_credential_id) WHERE default_credential_id IS NOT NULL;

CREATE TABLE organization_members (
  organization_id INTEGER NOT NULL REFERENCES organizations(id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member')),
  created_at TEXT NOT NULL,
  PRIMARY KEY (organization_id, user_id)
) WITHOUT ROWID;
CREATE INDEX organization_members_by_user ON organization_members(user_id, organization_id);

CREATE TABLE api_keys (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL UNIQUE,
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('server', 'organization', 'project')),
  organization_id INTEGER REFERENCES organizations(id) ON DELETE CASCADE,
  project_id INTEGER REFERENCES projects(id) ON DELETE CASCADE,
  permissions TEXT NOT NULL,
  last_four TEXT NOT NULL,
  oauth_client_id INTEGER REFERENCES oauth_clients(id) ON DELETE CASCADE,
  app TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  last_used_at TEXT
);
CREATE INDEX api_keys_by_user ON api_keys(user_id, id);
CREATE INDEX api_keys_by_project ON api_keys(project_id);
CREATE INDEX api_keys_by_organization ON api_keys(organization_id);
CREATE INDEX api_keys_by_oauth_client ON api_keys(oauth_client_id) WHERE oauth_client_id IS NOT NULL;

-- Apps that sign in by OAuth. A grant is an API key, and the tokens of the app lead to that key.
CREATE TABLE oauth_clients (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  client_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  created_at TEXT NOT NULL,
  approved_at TEXT
);
CREATE INDEX oauth_clients_unused ON oauth_clients(id) WHERE approved_at IS NULL;

CREATE TABLE oauth_tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('code', 'access', 'refresh')),
  key_id INTEGER NOT NULL REFERENCES api_keys(id) ON DELETE CASCADE,
  challenge TEXT,
  redirect_uri TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  used_at TEXT
);
CREATE INDEX oauth_tokens_by_key ON oauth_tokens(key_id, kind, id);

CREATE TABLE credentials (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('api_key', 'oauth')),
  base_url TEXT,
  headers TEXT,
  models TEXT NOT NULL DEFAULT '[]',
  sealed TEXT,
  last_four TEXT,
  oauth TEXT,
  agent_slots INTEGER,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX credentials_by_user ON credentials(user_id, id);

CREATE TABLE credential_usage (
  credential_id INTEGER NOT NULL REFERENCES credentials(id) ON DELETE CASCADE,
  day TEXT NOT NULL,
  sessions INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  PRIMARY KEY (credential_id, day)
) WITHOUT ROWID;
`
