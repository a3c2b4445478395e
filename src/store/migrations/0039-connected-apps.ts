/** Apps that people let sign in by OAuth. What is granted is an API key, and the tokens of the app lead to it. */
export default /* sql */ `
CREATE TABLE oauth_clients (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  client_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  created_at TEXT NOT NULL,
  approved_at TEXT
);
CREATE INDEX oauth_clients_unused ON oauth_clients(id) WHERE approved_at IS NULL;
ALTER TABLE api_keys ADD COLUMN oauth_client_id INTEGER REFERENCES oauth_clients(id) ON DELETE CASCADE;
ALTER TABLE api_keys ADD COLUMN app TEXT;
CREATE INDEX api_keys_by_oauth_client ON api_keys(oauth_client_id) WHERE oauth_client_id IS NOT NULL;
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
`
