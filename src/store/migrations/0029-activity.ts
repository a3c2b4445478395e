/**
 * What happened on each card, and who did it. A card keeps at least its 10,000 newest entries: now and then one that is
 * written deletes those before them.
 */
export default /* sql */ `
CREATE TABLE card_activity (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  at TEXT NOT NULL,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('user', 'key', 'agent', 'schedule', 'system')),
  actor_id INTEGER,
  actor_name TEXT NOT NULL,
  action TEXT NOT NULL,
  changes TEXT NOT NULL
);
CREATE INDEX card_activity_by_card ON card_activity(card_id);
CREATE TRIGGER card_activity_bounded AFTER INSERT ON card_activity WHEN random() % 1000 = 0 BEGIN
  DELETE FROM card_activity WHERE card_id = new.card_id
    AND id <= (SELECT id FROM card_activity WHERE card_id = new.card_id ORDER BY id DESC LIMIT 1 OFFSET 10000);
END;
`
