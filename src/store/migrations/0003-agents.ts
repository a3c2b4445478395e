/** Agents on cards: their sessions, transcripts, tokens and processes. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN agent TEXT;
ALTER TABLE projects ADD COLUMN copied_files TEXT NOT NULL DEFAULT '[]';
ALTER TABLE columns ADD COLUMN agent TEXT;
ALTER TABLE cards ADD COLUMN agent TEXT;
ALTER TABLE cards ADD COLUMN command TEXT;
CREATE UNIQUE INDEX cards_assistant ON cards(project_id) WHERE kind = 'assistant' AND deleted_at IS NULL;
CREATE INDEX cards_terminal ON cards(project_id, id) WHERE kind = 'terminal' AND deleted_at IS NULL AND archived_at IS NULL;

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
CREATE INDEX agent_sessions_open ON agent_sessions(project_id, id) WHERE ended_at IS NULL;
CREATE INDEX agent_sessions_by_credential ON agent_sessions(credential_id) WHERE credential_id IS NOT NULL;

-- Tokens that a project's agents have used, and in how many sessions. What is purged stays counted: it was spent.
CREATE TABLE project_tokens (project_id INTEGER PRIMARY KEY REFERENCES projects(id) ON DELETE CASCADE, total INTEGER NOT NULL, sessions INTEGER NOT NULL);
CREATE TRIGGER agent_sessions_counted AFTER INSERT ON agent_sessions BEGIN
  INSERT INTO project_tokens VALUES (new.project_id, new.input_tokens + new.output_tokens, 1) ON CONFLICT DO UPDATE SET total = total + excluded.total, sessions = sessions + 1;
END;
CREATE TRIGGER agent_sessions_tokens_counted AFTER UPDATE OF input_tokens, output_tokens ON agent_sessions BEGIN
  UPDATE project_tokens SET total = total + new.input_tokens + new.output_tokens - old.input_tokens - old.output_tokens WHERE project_id = new.project_id;
END;

-- The transcript. Messages are numbered in the order in which they began; card_id is null in a pre-session, call_id the agent's name for a tool call.
CREATE TABLE transcript_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id INTEGER NOT NULL REFERENCES agent_sessions(id) ON DELETE CASCADE, card_id INTEGER, role TEXT NOT NULL, call_id TEXT, at TEXT NOT NULL
);
CREATE INDEX transcript_messages_by_session ON transcript_messages(session_id, id);
CREATE INDEX transcript_messages_by_card ON transcript_messages(card_id, id);
CREATE INDEX transcript_messages_by_card_time ON transcript_messages(card_id, at);
CREATE INDEX transcript_messages_by_call ON transcript_messages(session_id, call_id, id) WHERE call_id IS NOT NULL;
-- What a message is made of, append-only: JSON of a text that goes on, or of what changed of a tool call or a plan.
CREATE TABLE transcript_pieces (
  message_id INTEGER NOT NULL REFERENCES transcript_messages(id) ON DELETE CASCADE, number INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (message_id, number)
) WITHOUT ROWID;

-- Messages for an agent in the middle of a turn, in the order in which they were sent.
CREATE TABLE waiting_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id INTEGER NOT NULL REFERENCES agent_sessions(id) ON DELETE CASCADE, content TEXT NOT NULL, message_id INTEGER NOT NULL REFERENCES transcript_messages(id) ON DELETE CASCADE, created_at TEXT NOT NULL);
CREATE INDEX waiting_messages_by_session ON waiting_messages(session_id, id);
CREATE INDEX waiting_messages_by_message ON waiting_messages(message_id);

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
