/** A session's waits for the end of a usage limit or for its model, and the credential that it must use. */
export default /* sql */ `
ALTER TABLE agent_sessions ADD COLUMN limit_waits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_sessions ADD COLUMN asked_credential_id INTEGER;
ALTER TABLE agent_sessions ADD COLUMN silent_since TEXT;
ALTER TABLE agent_sessions ADD COLUMN retrying TEXT;
CREATE INDEX agent_sessions_by_limit ON agent_sessions(project_id, not_before) WHERE not_before IS NOT NULL;
`
