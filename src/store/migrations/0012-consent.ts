/**
 * Invitations are accepted by a link and expire; existing ones last 14 more days. A project counts for accounts that
 * made or opened it. Sign-ins have an origin. Templates are private to their owner unless shared.
 */
export default /* sql */ `
ALTER TABLE invitations ADD COLUMN token_hash TEXT;
ALTER TABLE invitations ADD COLUMN expires_at TEXT NOT NULL DEFAULT '';
UPDATE invitations SET expires_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+14 days');
CREATE UNIQUE INDEX invitations_by_token ON invitations(token_hash) WHERE token_hash IS NOT NULL;
ALTER TABLE project_visits ADD COLUMN accepted_at TEXT;
UPDATE project_visits SET accepted_at = last_opened_at;
INSERT INTO project_visits (user_id, project_id, accepted_at) SELECT owner_id, id, created_at FROM projects WHERE true
  ON CONFLICT (user_id, project_id) DO UPDATE SET accepted_at = coalesce(accepted_at, excluded.accepted_at);
ALTER TABLE sign_in_tokens ADD COLUMN last_used_at TEXT;
ALTER TABLE sign_in_tokens ADD COLUMN address TEXT;
ALTER TABLE sign_in_tokens ADD COLUMN client TEXT;
ALTER TABLE board_templates ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
`
