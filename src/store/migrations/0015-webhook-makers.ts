/**
 * Whose rights a project's webhook has: an account's, or an API key's. No foreign keys: a deleted maker has no rights,
 * which differs from the null of older webhooks, which stay the project's.
 */
export default /* sql */ `
ALTER TABLE webhooks ADD COLUMN maker_user_id INTEGER;
ALTER TABLE webhooks ADD COLUMN maker_key_id INTEGER;
CREATE INDEX webhooks_by_maker_key ON webhooks(maker_key_id) WHERE maker_key_id IS NOT NULL;
`
