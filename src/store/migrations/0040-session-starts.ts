/** What agents used in a month is read without going through all that a project's agents ever did. */
export default /* sql */ `
CREATE INDEX agent_sessions_by_start ON agent_sessions(project_id, started_at);
`
