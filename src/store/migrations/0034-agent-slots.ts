/** How many agents work at once in a project and with a credential; since when a session has a slot, or waits for one that others have. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN agent_slots INTEGER;
ALTER TABLE credentials ADD COLUMN agent_slots INTEGER;
ALTER TABLE agent_sessions ADD COLUMN slot_taken_at TEXT;
ALTER TABLE agent_sessions ADD COLUMN slot_awaited_at TEXT;
ALTER TABLE agent_sessions ADD COLUMN slot_wait TEXT;
`
