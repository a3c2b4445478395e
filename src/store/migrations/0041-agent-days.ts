/**
 * What a project's agents used, by agent and the day on which a session began, counted as it happens: to read months of it costs the same
 * whatever agents did. It stays when a card is purged, as money that was spent stays spent.
 */
export default /* sql */ `
CREATE TABLE agent_days (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, day TEXT NOT NULL, agent TEXT NOT NULL,
  sessions INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost_usd REAL, PRIMARY KEY (project_id, day, agent)
) WITHOUT ROWID;
INSERT INTO agent_days SELECT project_id, substr(started_at, 1, 10), agent, count(*), sum(input_tokens), sum(output_tokens), sum(cost_usd)
  FROM agent_sessions WHERE started_at IS NOT NULL AND purpose <> 'terminal' GROUP BY 1, 2, 3;
CREATE TRIGGER agent_sessions_day_begun AFTER INSERT ON agent_sessions WHEN new.started_at IS NOT NULL AND new.purpose <> 'terminal' BEGIN
  INSERT INTO agent_days VALUES (new.project_id, substr(new.started_at, 1, 10), new.agent, 1, new.input_tokens, new.output_tokens, new.cost_usd) ON CONFLICT DO UPDATE SET
    sessions = sessions + 1, input_tokens = input_tokens + new.input_tokens, output_tokens = output_tokens + new.output_tokens,
    cost_usd = iif(new.cost_usd IS NULL, cost_usd, coalesce(cost_usd, 0) + new.cost_usd);
END;
CREATE TRIGGER agent_sessions_day_started AFTER UPDATE OF started_at ON agent_sessions
WHEN old.started_at IS NULL AND new.started_at IS NOT NULL AND new.purpose <> 'terminal' BEGIN
  INSERT INTO agent_days VALUES (new.project_id, substr(new.started_at, 1, 10), new.agent, 1, new.input_tokens, new.output_tokens, new.cost_usd) ON CONFLICT DO UPDATE SET
    sessions = sessions + 1, input_tokens = input_tokens + new.input_tokens, output_tokens = output_tokens + new.output_tokens,
    cost_usd = iif(new.cost_usd IS NULL, cost_usd, coalesce(cost_usd, 0) + new.cost_usd);
END;
CREATE TRIGGER agent_sessions_day_used AFTER UPDATE OF input_tokens, output_tokens, cost_usd ON agent_sessions
WHEN old.started_at IS NOT NULL AND new.purpose <> 'terminal' BEGIN
  UPDATE agent_days SET input_tokens = input_tokens - old.input_tokens + new.input_tokens, output_tokens = output_tokens - old.output_tokens + new.output_tokens,
    cost_usd = iif(new.cost_usd IS NULL, cost_usd, coalesce(cost_usd, 0) - coalesce(old.cost_usd, 0) + new.cost_usd)
    WHERE project_id = new.project_id AND day = substr(old.started_at, 1, 10) AND agent = new.agent;
END;
DROP INDEX agent_sessions_by_start;
`
