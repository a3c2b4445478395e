/** Sessions that wait, before their work begins, for the cards that block their card. */
export default /* sql */ `
ALTER TABLE agent_sessions ADD COLUMN waits_for_blockers INTEGER NOT NULL DEFAULT 0;
`
