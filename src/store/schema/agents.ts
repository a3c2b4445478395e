/** The tables of agents: sessions, transcripts, tokens, processes, offered options and usage. */
export default /* sql */ `
CREATE TABLE agent_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  purpose TEXT NOT NULL DEFAULT 'work',
  agent TEXT NOT NULL,
  profile TEXT,
  model TEXT,
  mode TEXT,
  effort TEXT,
  credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL,
  asked_credential_id INTEGER,
  starter_id INTEGER,
  prompt TEXT NOT NULL,

  status TEXT NOT NULL,
  status_reason TEXT,
  detail TEXT,
  agent_session_id TEXT,
  resumable INTEGER NOT NULL DEFAULT 0,
  waiting_for TEXT,
  retrying TEXT,
  silent_since TEXT,
  summary TEXT,

  -- The reasons for which a queued session waits
  waits_for_blockers INTEGER NOT NULL DEFAULT 0,
  not_before TEXT,
  limit_ends_at TEXT,
  limit_waits INTEGER NOT NULL DEFAULT 0,
  slot_taken_at TEXT,
  slot_awaited_at TEXT,
  slot_wait TEXT,

  base_commit TEXT,
  branch TEXT,
  cwd TEXT,
  sandbox TEXT,

  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  context_used INTEGER,
  context_size INTEGER,
  cost_usd REAL,
  reported_usd REAL,
  estimated_usd REAL NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL DEFAULT 0,
  tool_count INTEGER NOT NULL DEFAULT 0,
  files_changed INTEGER NOT NULL DEFAULT 0,
  created_cards INTEGER NOT NULL DEFAULT 0,

  created_at TEXT NOT NULL,
  started_at TEXT,
  ended_at TEXT
);
CREATE INDEX agent_sessions_by_card ON agent_sessions(card_id, id);
CREATE INDEX agent_sessions_by_project ON agent_sessions(project_id, id);
CREATE INDEX agent_sessions_by_credential ON agent_sessions(credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX agent_sessions_by_limit ON agent_sessions(project_id, not_before) WHERE not_before IS NOT NULL;
CREATE INDEX agent_sessions_open ON agent_sessions(project_id, id) WHERE ended_at IS NULL;

-- A session that waits for a person, and of which people were notified.
CREATE TABLE notified_waits (session_id INTEGER PRIMARY KEY REFERENCES agent_sessions(id) ON DELETE CASCADE);

-- Messages are numbered in the order of their starts. card_id is null in a card's side session. call_id is the agent's ID of a tool call.
CREATE TABLE transcript_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id INTEGER NOT NULL REFERENCES agent_sessions(id) ON DELETE CASCADE,
  card_id INTEGER,
  role TEXT NOT NULL,
  call_id TEXT,
  attachments TEXT NOT NULL DEFAULT '[]',
  at TEXT NOT NULL
);
CREATE INDEX transcript_messages_by_session ON transcript_messages(session_id, id);
CREATE INDEX transcript_messages_by_card ON transcript_messages(card_id, id);
CREATE INDEX transcript_messages_by_card_time ON transcript_messages(card_id, at);
CREATE INDEX transcript_messages_by_call ON transcript_messages(session_id, call_id, id) WHERE call_id IS NOT NULL;

-- The contents of a message, append-only: JSON of a text that continues, or of changes of a tool call or a plan.
CREATE TABLE transcript_pieces (
  message_id INTEGER NOT NULL REFERENCES transcript_messages(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (message_id, number)
) WITHOUT ROWID;

-- Messages to an agent that is in a turn, in the order in which they were sent.
CREATE TABLE waiting_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id INTEGER NOT NULL REFERENCES agent_sessions(id) ON DELETE CASCADE,
  content TEXT NOT NULL,
  message_id INTEGER NOT NULL REFERENCES transcript_messages(id) ON DELETE CASCADE,
  created_at TEXT NOT NULL
);
CREATE INDEX waiting_messages_by_session ON waiting_messages(session_id, id);
CREATE INDEX waiting_messages_by_message ON waiting_messages(message_id);

CREATE TABLE agent_tokens (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  session_id INTEGER REFERENCES agent_sessions(id) ON DELETE CASCADE,
  user_id INTEGER,
  created_cards INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
);
CREATE INDEX agent_tokens_by_card ON agent_tokens(card_id);
CREATE INDEX agent_tokens_by_session ON agent_tokens(session_id);
CREATE INDEX agent_tokens_by_expiry ON agent_tokens(expires_at);

-- Process trees of the server. The next start finds and ends those that a dead server left behind.
CREATE TABLE process_runs (
  run_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  host TEXT,
  pid INTEGER NOT NULL,
  pid_started_at TEXT,
  boot_id TEXT,
  started_at TEXT NOT NULL
) WITHOUT ROWID;

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

-- The models, modes and efforts that an agent has offered on a machine, and the result of its last check.
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

CREATE TABLE announced_commands (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  agent TEXT NOT NULL,
  commands TEXT NOT NULL,
  PRIMARY KEY (project_id, agent)
) WITHOUT ROWID;
`
