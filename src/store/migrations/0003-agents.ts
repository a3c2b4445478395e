/** Agents on cards: their sessions, transcripts, tokens and processes. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN agent TEXT;
ALTER TABLE projects ADD COLUMN copied_files TEXT NOT NULL DEFAULT '[]';
ALTER TABLE columns ADD COLUMN agent TEXT;
ALTER TABLE cards ADD COLUMN agent TEXT;
ALTER TABLE cards ADD COLUMN command TEXT;

-- One run of an agent on a card. purpose: work, pre (refining the prompt), assistant (the project's), terminal (a shell command).
CREATE TABLE agent_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  purpose TEXT NOT NULL DEFAULT 'work', agent TEXT NOT NULL, status TEXT NOT NULL, status_reason TEXT, detail TEXT, agent_session_id TEXT, resumable INTEGER NOT NULL DEFAULT 0,
  model TEXT, input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, context_used INTEGER, context_size INTEGER, cost_usd REAL,
  summary TEXT, base_commit TEXT, branch TEXT, cwd TEXT, credential_id INTEGER REFERENCES credentials(id) ON DELETE SET NULL, prompt TEXT NOT NULL, waiting_for TEXT,
  message_count INTEGER NOT NULL DEFAULT 0, tool_count INTEGER NOT NULL DEFAULT 0, files_changed INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL, started_at TEXT, ended_at TEXT
);
CREATE INDEX agent_sessions_by_card ON agent_sessions(card_id, id);
CREATE INDEX agent_sessions_by_project ON agent_sessions(project_id, id);
CREATE INDEX agent_sessions_open ON agent_sessions(status, id) WHERE ended_at IS NULL;
CREATE INDEX agent_sessions_by_credential ON agent_sessions(credential_id) WHERE credential_id IS NOT NULL;

-- The transcript, append-only: a piece of text, or what changed of a tool call. Pieces with the same number make one message.
CREATE TABLE transcript_pieces (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id INTEGER NOT NULL REFERENCES agent_sessions(id) ON DELETE CASCADE, message INTEGER NOT NULL, role TEXT NOT NULL, data TEXT NOT NULL, at TEXT NOT NULL
);
CREATE INDEX transcript_pieces_by_message ON transcript_pieces(session_id, message, id);

-- Messages for an agent in the middle of a turn, in the order in which they were sent.
CREATE TABLE waiting_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id INTEGER NOT NULL REFERENCES agent_sessions(id) ON DELETE CASCADE, content TEXT NOT NULL, message INTEGER NOT NULL, created_at TEXT NOT NULL);
CREATE INDEX waiting_messages_by_session ON waiting_messages(session_id, id);

CREATE TABLE agent_tokens (
  id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE, session_id INTEGER REFERENCES agent_sessions(id) ON DELETE CASCADE,
  user_id INTEGER, created_at TEXT NOT NULL, expires_at TEXT NOT NULL
);
CREATE INDEX agent_tokens_by_card ON agent_tokens(card_id);
CREATE INDEX agent_tokens_by_session ON agent_tokens(session_id);
CREATE INDEX agent_tokens_by_expiry ON agent_tokens(expires_at);

CREATE TABLE announced_commands (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, agent TEXT NOT NULL, commands TEXT NOT NULL, PRIMARY KEY (project_id, agent)
) WITHOUT ROWID;

-- Process trees that the server started: what a dead server leaves is found by these and ended at the next start.
CREATE TABLE process_runs (run_id TEXT PRIMARY KEY, kind TEXT NOT NULL, pid INTEGER NOT NULL, pid_started_at TEXT, boot_id TEXT, started_at TEXT NOT NULL) WITHOUT ROWID;
`
