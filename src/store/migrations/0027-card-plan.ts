/**
 * Who is to do a card, how soon, by when and how much it is. What a card shows of its assignees stands in its row, for
 * lists; the table finds the cards of an account. Indexes leave out what most cards are, so that making a card costs no more.
 */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN assignees TEXT NOT NULL DEFAULT '[]';
ALTER TABLE cards ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
ALTER TABLE cards ADD COLUMN due_at TEXT;
ALTER TABLE cards ADD COLUMN estimate NUMERIC;
ALTER TABLE cards ADD COLUMN watch_choices TEXT NOT NULL DEFAULT '{}';
CREATE INDEX cards_listed_by_priority ON cards(project_id, priority, id) WHERE priority <> 'normal' AND deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_due ON cards(project_id, due_at, id) WHERE due_at IS NOT NULL AND deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE INDEX cards_listed_by_change ON cards(project_id, updated_at, id) WHERE deleted_at IS NULL AND archived_at IS NULL AND kind = 'kanban';
CREATE TABLE card_assignees (
  user_id INTEGER NOT NULL, card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE, PRIMARY KEY (user_id, card_id)
) WITHOUT ROWID;
CREATE INDEX card_assignees_by_card ON card_assignees(card_id);
CREATE TRIGGER assignees_in AFTER INSERT ON cards WHEN new.assignees <> '[]' BEGIN
  INSERT INTO card_assignees SELECT DISTINCT CAST(json_extract(value, '$.userId') AS INTEGER), new.id FROM json_each(new.assignees) WHERE json_extract(value, '$.userId') IS NOT NULL;
END;
CREATE TRIGGER assignees_changed AFTER UPDATE OF assignees ON cards WHEN old.assignees <> new.assignees BEGIN
  DELETE FROM card_assignees WHERE card_id = new.id;
  INSERT INTO card_assignees SELECT DISTINCT CAST(json_extract(value, '$.userId') AS INTEGER), new.id FROM json_each(new.assignees) WHERE json_extract(value, '$.userId') IS NOT NULL;
END;
CREATE TRIGGER assignees_renamed AFTER UPDATE OF display_name ON users WHEN old.display_name <> new.display_name BEGIN
  UPDATE cards SET assignees = (SELECT json_group_array(json(iif(json_extract(value, '$.userId') = CAST(new.id AS TEXT), json_set(value, '$.displayName', new.display_name), value)))
    FROM (SELECT value FROM json_each(cards.assignees) ORDER BY key)) WHERE id IN (SELECT card_id FROM card_assignees WHERE user_id = new.id);
END;
CREATE TRIGGER assignees_gone BEFORE DELETE ON users BEGIN
  UPDATE cards SET assignees = (SELECT json_group_array(json(iif(json_extract(value, '$.userId') = CAST(old.id AS TEXT), json_object('name', old.display_name), value)))
    FROM (SELECT value FROM json_each(cards.assignees) ORDER BY key)) WHERE id IN (SELECT card_id FROM card_assignees WHERE user_id = old.id);
END;
`
