/** How a project keeps its agents apart, as far as it says so, and what kept a session's agent apart. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN sandbox TEXT NOT NULL DEFAULT '{}';
ALTER TABLE agent_sessions ADD COLUMN sandbox TEXT;
`
