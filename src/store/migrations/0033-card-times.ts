/**
 * When cards start by themselves (start_held while they wait for it), with whose rights, and when people are next reminded of
 * their due dates: a day before, and when one is past. The starter has no foreign keys: a deleted one has no rights.
 */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN start_at TEXT;
ALTER TABLE cards ADD COLUMN start_held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN starter_user_id INTEGER;
ALTER TABLE cards ADD COLUMN starter_key_id INTEGER;
ALTER TABLE cards ADD COLUMN due_remind_at TEXT;
UPDATE cards SET due_remind_at = strftime('%Y-%m-%dT%H:%M:%fZ', due_at, '-1 day') WHERE due_at IS NOT NULL;
CREATE INDEX cards_to_start ON cards(start_at) WHERE start_held = 1;
CREATE INDEX cards_to_remind ON cards(due_remind_at) WHERE due_remind_at IS NOT NULL;
CREATE TRIGGER due_reminder_made AFTER INSERT ON cards WHEN new.due_at IS NOT NULL BEGIN
  UPDATE cards SET due_remind_at = strftime('%Y-%m-%dT%H:%M:%fZ', new.due_at, '-1 day') WHERE id = new.id;
END;
CREATE TRIGGER due_reminder_renewed AFTER UPDATE OF due_at ON cards WHEN new.due_at IS NOT old.due_at BEGIN
  UPDATE cards SET due_remind_at = strftime('%Y-%m-%dT%H:%M:%fZ', new.due_at, '-1 day') WHERE id = new.id;
END;
`
