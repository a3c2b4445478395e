/**
 * Whose rights a project's webhook has: an account's, or those of one of its API keys. No references: who is gone has no rights,
 * and that is told from the older ones, which nobody made and which stay the project's.
 */
export default /* sql */ `
ALTER TABLE webhooks ADD COLUMN maker_user_id INTEGER;
ALTER TABLE webhooks ADD COLUMN maker_key_id INTEGER;
CREATE INDEX webhooks_by_maker_key ON webhooks(maker_key_id) WHERE maker_key_id IS NOT NULL;
`
