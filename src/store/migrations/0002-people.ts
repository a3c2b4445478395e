/** Accounts of an identity provider, invitations, and sealed credentials. */
export default /* sql */ `
ALTER TABLE users ADD COLUMN oidc_issuer TEXT;
ALTER TABLE users ADD COLUMN oidc_subject TEXT;
ALTER TABLE users ADD COLUMN self_registered INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX users_by_oidc ON users(oidc_issuer, oidc_subject) WHERE oidc_subject IS NOT NULL;

CREATE TABLE invitations (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, email TEXT NOT NULL COLLATE NOCASE,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')), created_at TEXT NOT NULL, PRIMARY KEY (project_id, email)
) WITHOUT ROWID;
CREATE INDEX invitations_by_email ON invitations(email);

CREATE TABLE credentials (
  id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, name TEXT NOT NULL, provider TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('api_key', 'oauth')),
  base_url TEXT, sealed TEXT, last_four TEXT, oauth TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX credentials_by_user ON credentials(user_id, id);
CREATE TABLE credential_usage (
  credential_id INTEGER NOT NULL REFERENCES credentials(id) ON DELETE CASCADE, day TEXT NOT NULL, sessions INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cost_usd REAL NOT NULL, PRIMARY KEY (credential_id, day)
) WITHOUT ROWID;
ALTER TABLE organizations ADD COLUMN default_credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL;
ALTER TABLE projects ADD COLUMN credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL;
ALTER TABLE cards ADD COLUMN credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL;
CREATE INDEX organizations_by_credential ON organizations(default_credential_id) WHERE default_credential_id IS NOT NULL;
CREATE INDEX projects_by_credential ON projects(credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX cards_by_credential ON cards(credential_id) WHERE credential_id IS NOT NULL;
`
