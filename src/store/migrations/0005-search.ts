/** The full-text index of cards, and daily counts of each project. */
export default /* sql */ `
-- Words of cards by card id; scope holds p and the project's id. Cards are taken up in batches: one by one they cost nine times as much.
CREATE VIRTUAL TABLE card_texts USING fts5(title, prompt, labels, scope, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
CREATE TABLE unindexed_cards (card_id INTEGER PRIMARY KEY);
CREATE TRIGGER cards_unindexed_in AFTER INSERT ON cards WHEN new.kind <> 'assistant' BEGIN
  INSERT OR IGNORE INTO unindexed_cards VALUES (new.id);
END;
CREATE TRIGGER cards_unindexed_anew AFTER UPDATE OF title, prompt, labels, deleted_at ON cards WHEN new.kind <> 'assistant' BEGIN
  INSERT OR IGNORE INTO unindexed_cards VALUES (new.id);
END;
CREATE TRIGGER cards_unindexed_out AFTER DELETE ON cards WHEN old.kind <> 'assistant' BEGIN
  INSERT OR IGNORE INTO unindexed_cards VALUES (old.id);
END;
INSERT INTO unindexed_cards SELECT id FROM cards WHERE deleted_at IS NULL AND kind <> 'assistant';

CREATE TABLE project_days (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, day TEXT NOT NULL, backlog INTEGER NOT NULL, active INTEGER NOT NULL, done INTEGER NOT NULL, archived INTEGER NOT NULL,
  PRIMARY KEY (project_id, day)
) WITHOUT ROWID;
`
