const addToDay = `INSERT INTO agent_days
    VALUES (new.project_id, substr(new.started_at, 1, 10), new.agent, 1, new.input_tokens, new.output_tokens, new.cost_usd)
    ON CONFLICT DO UPDATE SET
      sessions = sessions + 1,
      input_tokens = input_tokens + new.input_tokens,
      output_tokens = output_tokens + new.output_tokens,
      cost_usd = iif(new.cost_usd IS NULL, cost_usd, coalesce(cost_usd, 0) + new.cost_usd);`

/** The usage of agents. It stays counted when its card is purged, because it was paid for. */
export default /* sql */ `
-- The tokens and sessions of a project, since its creation.
CREATE TABLE project_tokens (
  project_id INTEGER PRIMARY KEY REFERENCES projects(id) ON DELETE CASCADE,
  total INTEGER NOT NULL,
  sessions INTEGER NOT NULL
);
CREATE TRIGGER agent_sessions_counted AFTER INSERT ON agent_sessions BEGIN
  INSERT INTO project_tokens VALUES (new.project_id, new.input_tokens + new.output_tokens, 1)
    ON CONFLICT DO UPDATE SET total = total + excluded.total, sessions = sessions + 1;
END;
CREATE TRIGGER agent_sessions_tokens_counted AFTER UPDATE OF input_tokens, output_tokens ON agent_sessions BEGIN
  UPDATE project_tokens SET total = total + new.input_tokens + new.output_tokens - old.input_tokens - old.output_tokens
    WHERE project_id = new.project_id;
END;

-- The usage of a project by agent and the day on which a session started, so that months are read at the same cost in any project.
CREATE TABLE agent_days (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  day TEXT NOT NULL,
  agent TEXT NOT NULL,
  sessions INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd REAL,
  PRIMARY KEY (project_id, day, agent)
) WITHOUT ROWID;
CREATE TRIGGER agent_sessions_day_in AFTER INSERT ON agent_sessions
WHEN new.started_at IS NOT NULL AND new.purpose <> 'terminal' BEGIN
  ${addToDay}
END;
CREATE TRIGGER agent_sessions_day_started AFTER UPDATE OF started_at ON agent_sessions
WHEN old.started_at IS NULL AND new.started_at IS NOT NULL AND new.purpose <> 'terminal' BEGIN
  ${addToDay}
END;
CREATE TRIGGER agent_sessions_day_used AFTER UPDATE OF input_tokens, output_tokens, cost_usd ON agent_sessions
WHEN old.started_at IS NOT NULL AND new.purpose <> 'terminal' BEGIN
  UPDATE agent_days SET
      input_tokens = input_tokens - old.input_tokens + new.input_tokens,
      output_tokens = output_tokens - old.output_tokens + new.output_tokens,
      cost_usd = iif(new.cost_usd IS NULL, cost_usd, coalesce(cost_usd, 0) - coalesce(old.cost_usd, 0) + new.cost_usd)
    WHERE project_id = new.project_id AND day = substr(old.started_at, 1, 10) AND agent = new.agent;
END;

-- The usage of each run on each day. Rows have no foreign keys, because they outlive their cards.
CREATE TABLE agent_usage (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  day TEXT NOT NULL,
  session_id INTEGER NOT NULL,
  card_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL,
  organization_id INTEGER,
  credential_id INTEGER,
  user_id INTEGER,
  agent TEXT NOT NULL,
  model TEXT,
  runs INTEGER NOT NULL DEFAULT 0,
  cost_unknown INTEGER NOT NULL DEFAULT 0,
  tokens_unknown INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  estimated_usd REAL NOT NULL DEFAULT 0,
  running_ms INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX agent_usage_by_card ON agent_usage(card_id, day);
CREATE INDEX agent_usage_by_project ON agent_usage(project_id, day);
CREATE INDEX agent_usage_by_organization ON agent_usage(organization_id, day) WHERE organization_id IS NOT NULL;
CREATE INDEX agent_usage_by_credential ON agent_usage(credential_id, day) WHERE credential_id IS NOT NULL;

-- A budget belongs to a card, a project, an organization or a credential.
CREATE TABLE budgets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id INTEGER REFERENCES cards(id) ON DELETE CASCADE,
  project_id INTEGER REFERENCES projects(id) ON DELETE CASCADE,
  organization_id INTEGER REFERENCES organizations(id) ON DELETE CASCADE,
  credential_id INTEGER REFERENCES credentials(id) ON DELETE CASCADE,
  unit TEXT NOT NULL,
  amount REAL NOT NULL,
  period TEXT NOT NULL,
  period_start TEXT NOT NULL,
  spent REAL NOT NULL,
  unknown_runs INTEGER NOT NULL,
  notified_state TEXT NOT NULL DEFAULT 'ok',
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX budgets_of_card ON budgets(card_id, unit, period) WHERE card_id IS NOT NULL;
CREATE UNIQUE INDEX budgets_of_project ON budgets(project_id, unit, period) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX budgets_of_organization ON budgets(organization_id, unit, period) WHERE organization_id IS NOT NULL;
CREATE UNIQUE INDEX budgets_of_credential ON budgets(credential_id, unit, period) WHERE credential_id IS NOT NULL;
`
