/**
 * How agents work: profile, model, mode and effort beside the agent, profiles, what each agent offers, and a project's
 * policies for its agents' questions and usage limits.
 */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN profile TEXT;
ALTER TABLE cards ADD COLUMN model TEXT;
ALTER TABLE cards ADD COLUMN mode TEXT;
ALTER TABLE cards ADD COLUMN effort TEXT;
ALTER TABLE columns ADD COLUMN profile TEXT;
ALTER TABLE columns ADD COLUMN model TEXT;
ALTER TABLE columns ADD COLUMN mode TEXT;
ALTER TABLE columns ADD COLUMN effort TEXT;
ALTER TABLE projects ADD COLUMN profile TEXT;
ALTER TABLE projects ADD COLUMN model TEXT;
ALTER TABLE projects ADD COLUMN mode TEXT;
ALTER TABLE projects ADD COLUMN effort TEXT;
ALTER TABLE projects ADD COLUMN approval_policy TEXT NOT NULL DEFAULT '{"default":"ask","allow":[],"refuse":[]}';
ALTER TABLE projects ADD COLUMN usage_limits TEXT NOT NULL DEFAULT '{"onLimit":"stop","next":[]}';
ALTER TABLE agent_sessions ADD COLUMN profile TEXT;
ALTER TABLE agent_sessions ADD COLUMN mode TEXT;
ALTER TABLE agent_sessions ADD COLUMN effort TEXT;
ALTER TABLE agent_sessions ADD COLUMN limit_ends_at TEXT;
ALTER TABLE agent_sessions ADD COLUMN not_before TEXT;
ALTER TABLE credentials ADD COLUMN headers TEXT;
ALTER TABLE credentials ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
CREATE TABLE agent_profiles (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  agent TEXT NOT NULL,
  command TEXT,
  args TEXT NOT NULL DEFAULT '[]',
  env_names TEXT NOT NULL DEFAULT '[]',
  sealed_env TEXT,
  model TEXT,
  mode TEXT,
  effort TEXT,
  credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX agent_profiles_by_credential ON agent_profiles(credential_id) WHERE credential_id IS NOT NULL;
CREATE TABLE agent_offers (
  host TEXT NOT NULL,
  agent TEXT NOT NULL,
  profile TEXT NOT NULL DEFAULT '',
  version TEXT,
  models TEXT NOT NULL DEFAULT '[]',
  modes TEXT NOT NULL DEFAULT '[]',
  efforts TEXT NOT NULL DEFAULT '[]',
  signed_in INTEGER,
  seen_at TEXT,
  check_state TEXT,
  PRIMARY KEY (host, agent, profile)
);
`
