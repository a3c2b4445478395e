/** Comments on cards, and how many each card has, for lists. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN comment_count INTEGER NOT NULL DEFAULT 0;
CREATE TABLE comments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  author_kind TEXT NOT NULL CHECK (author_kind IN ('user', 'agent', 'imported')),
  author_id INTEGER,
  author_name TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at TEXT NOT NULL,
  edited_at TEXT
);
CREATE INDEX comments_by_card ON comments(card_id);
CREATE TRIGGER comments_counted_in AFTER INSERT ON comments BEGIN
  UPDATE cards SET comment_count = comment_count + 1 WHERE id = new.card_id;
END;
CREATE TRIGGER comments_counted_out AFTER DELETE ON comments BEGIN
  UPDATE cards SET comment_count = comment_count - 1 WHERE id = old.card_id;
END;
`
