/**
 * What agents have used, a row for each of their runs and each day of it, and budgets. Rows of usage have no foreign keys: money that was
 * spent stays spent when its card is gone. Earlier sessions count by what they reported; their runs and hours were not measured.
 */
export default /* sql */ `
ALTER TABLE agent_sessions ADD COLUMN starter_id INTEGER;
ALTER TABLE agent_sessions ADD COLUMN reported_usd REAL;
ALTER TABLE agent_sessions ADD COLUMN estimated_usd REAL NOT NULL DEFAULT 0;
CREATE TABLE agent_usage (
  id INTEGER PRIMARY KEY AUTOINCREMENT, day TEXT NOT NULL, session_id INTEGER NOT NULL, card_id INTEGER NOT NULL, project_id INTEGER NOT NULL, organization_id INTEGER,
  credential_id INTEGER, user_id INTEGER, agent TEXT NOT NULL, model TEXT, runs INTEGER NOT NULL DEFAULT 0, cost_unknown INTEGER NOT NULL DEFAULT 0, tokens_unknown INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, cost_usd REAL NOT NULL DEFAULT 0, estimated_usd REAL NOT NULL DEFAULT 0, running_ms INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX agent_usage_by_card ON agent_usage(card_id, day);
CREATE INDEX agent_usage_by_project ON agent_usage(project_id, day);
CREATE INDEX agent_usage_by_organization ON agent_usage(organization_id, day) WHERE organization_id IS NOT NULL;
CREATE INDEX agent_usage_by_credential ON agent_usage(credential_id, day) WHERE credential_id IS NOT NULL;
INSERT INTO agent_usage (day, session_id, card_id, project_id, organization_id, credential_id, user_id, agent, model, runs, cost_unknown, tokens_unknown, input_tokens, output_tokens, cost_usd)
  SELECT substr(s.started_at, 1, 10), s.id, s.card_id, s.project_id, p.organization_id, s.credential_id, NULL, s.agent, s.model, 1, s.cost_usd IS NULL, s.input_tokens + s.output_tokens = 0,
    s.input_tokens, s.output_tokens, coalesce(s.cost_usd, 0)
  FROM agent_sessions s JOIN projects p ON p.id = s.project_id WHERE s.started_at IS NOT NULL AND s.purpose <> 'terminal';
UPDATE agent_sessions SET reported_usd = cost_usd WHERE cost_usd IS NOT NULL;
CREATE TABLE budgets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id INTEGER REFERENCES cards(id) ON DELETE CASCADE, project_id INTEGER REFERENCES projects(id) ON DELETE CASCADE,
  organization_id INTEGER REFERENCES organizations(id) ON DELETE CASCADE, credential_id INTEGER REFERENCES credentials(id) ON DELETE CASCADE,
  unit TEXT NOT NULL, amount REAL NOT NULL, period TEXT NOT NULL, period_start TEXT NOT NULL, spent REAL NOT NULL, unknown_runs INTEGER NOT NULL, told TEXT NOT NULL DEFAULT 'ok',
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX budgets_of_card ON budgets(card_id, unit, period) WHERE card_id IS NOT NULL;
CREATE UNIQUE INDEX budgets_of_project ON budgets(project_id, unit, period) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX budgets_of_organization ON budgets(organization_id, unit, period) WHERE organization_id IS NOT NULL;
CREATE UNIQUE INDEX budgets_of_credential ON budgets(credential_id, unit, period) WHERE credential_id IS NOT NULL;
`
