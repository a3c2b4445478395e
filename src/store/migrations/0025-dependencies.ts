/** Which cards a card waits for, which card it is a part of, and what it was found on. Counts are kept by triggers, for lists. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN done_at TEXT;
ALTER TABLE cards ADD COLUMN open_blockers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN parent_id INTEGER REFERENCES cards(id) ON DELETE SET NULL;
ALTER TABLE cards ADD COLUMN discovered_from_id INTEGER REFERENCES cards(id) ON DELETE SET NULL;
ALTER TABLE cards ADD COLUMN children_total INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN children_done INTEGER NOT NULL DEFAULT 0;
UPDATE cards SET done_at = coalesce(ended_at, updated_at) WHERE column_id IN (SELECT id FROM columns WHERE column_type = 'done');
CREATE INDEX cards_by_parent ON cards(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX cards_by_discovery ON cards(discovered_from_id) WHERE discovered_from_id IS NOT NULL;
CREATE TABLE card_blockers (
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE, blocker_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  PRIMARY KEY (card_id, blocker_id)
) WITHOUT ROWID;
CREATE INDEX card_blockers_by_blocker ON card_blockers(blocker_id);
CREATE TRIGGER blockers_counted_in AFTER INSERT ON card_blockers BEGIN
  UPDATE cards SET open_blockers = open_blockers + 1 WHERE id = new.card_id AND EXISTS (SELECT 1 FROM cards b WHERE b.id = new.blocker_id AND b.done_at IS NULL);
END;
CREATE TRIGGER blockers_counted_out AFTER DELETE ON card_blockers BEGIN
  UPDATE cards SET open_blockers = (SELECT count(*) FROM card_blockers d JOIN cards b ON b.id = d.blocker_id WHERE d.card_id = old.card_id AND b.done_at IS NULL)
    WHERE id = old.card_id;
END;
CREATE TRIGGER blockers_done AFTER UPDATE OF done_at ON cards WHEN (old.done_at IS NULL) <> (new.done_at IS NULL) BEGIN
  UPDATE cards SET open_blockers = open_blockers + iif(new.done_at IS NULL, 1, -1) WHERE id IN (SELECT card_id FROM card_blockers WHERE blocker_id = new.id);
END;
CREATE TRIGGER children_counted_in AFTER INSERT ON cards WHEN new.parent_id IS NOT NULL BEGIN
  UPDATE cards SET children_total = children_total + 1, children_done = children_done + (new.done_at IS NOT NULL) WHERE id = new.parent_id;
END;
CREATE TRIGGER children_counted AFTER UPDATE OF parent_id, done_at, deleted_at ON cards WHEN old.parent_id IS NOT NULL OR new.parent_id IS NOT NULL BEGIN
  UPDATE cards SET children_total = children_total - 1, children_done = children_done - (old.done_at IS NOT NULL) WHERE id = old.parent_id AND old.deleted_at IS NULL;
  UPDATE cards SET children_total = children_total + 1, children_done = children_done + (new.done_at IS NOT NULL) WHERE id = new.parent_id AND new.deleted_at IS NULL;
END;
CREATE TRIGGER children_counted_out AFTER DELETE ON cards WHEN old.parent_id IS NOT NULL AND old.deleted_at IS NULL BEGIN
  UPDATE cards SET children_total = children_total - 1, children_done = children_done - (old.done_at IS NOT NULL) WHERE id = old.parent_id;
END;
`
