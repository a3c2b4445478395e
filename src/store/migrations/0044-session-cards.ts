/** How many cards a session of an agent can create, and how many it has created. A token that a person minted has a count of its own. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN session_cards INTEGER NOT NULL DEFAULT 50;
ALTER TABLE agent_sessions ADD COLUMN created_cards INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_tokens ADD COLUMN created_cards INTEGER NOT NULL DEFAULT 0;
`
