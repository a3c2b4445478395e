/** Whether a person allows a monitor that an agent in a sandbox requested, and how many such questions a card has, for lists. */
export default /* sql */ `
ALTER TABLE monitors ADD COLUMN permission TEXT NOT NULL DEFAULT 'allowed';
ALTER TABLE cards ADD COLUMN monitor_questions INTEGER NOT NULL DEFAULT 0;
CREATE INDEX cards_by_monitor_questions ON cards(project_id) WHERE monitor_questions > 0;
CREATE TRIGGER monitors_asked AFTER INSERT ON monitors WHEN new.permission = 'asked' BEGIN
  UPDATE cards SET monitor_questions = monitor_questions + 1 WHERE id = new.card_id;
END;
CREATE TRIGGER monitors_answered AFTER UPDATE OF permission ON monitors WHEN old.permission = 'asked' AND new.permission <> 'asked' BEGIN
  UPDATE cards SET monitor_questions = monitor_questions - 1 WHERE id = new.card_id;
END;
CREATE TRIGGER monitors_removed AFTER DELETE ON monitors WHEN old.permission = 'asked' BEGIN
  UPDATE cards SET monitor_questions = monitor_questions - 1 WHERE id = old.card_id;
END;
`
