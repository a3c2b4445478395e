/** Reviews of cards' changes, people's drafts, and each card's state after its last review. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN review_state TEXT;
ALTER TABLE cards ADD COLUMN review_round INTEGER NOT NULL DEFAULT 0;
CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  round INTEGER NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('comment', 'request_changes', 'approve')),
  body TEXT NOT NULL,
  author_id INTEGER,
  author_name TEXT NOT NULL,
  base_commit TEXT,
  head_commit TEXT,
  snapshot TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX reviews_by_card ON reviews(card_id);
CREATE TABLE review_comments (
  id INTEGER PRIMARY KEY,
  review_id INTEGER NOT NULL REFERENCES reviews(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  side TEXT NOT NULL CHECK (side IN ('old', 'new')),
  start_line INTEGER NOT NULL,
  line INTEGER NOT NULL,
  text TEXT NOT NULL,
  body TEXT NOT NULL,
  answer TEXT,
  answered_at TEXT,
  resolved_at TEXT
);
CREATE INDEX review_comments_by_review ON review_comments(review_id);
CREATE TABLE review_drafts (
  user_id INTEGER NOT NULL,
  card_id INTEGER NOT NULL REFERENCES cards(id) ON DELETE CASCADE,
  body TEXT NOT NULL,
  comments TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (user_id, card_id)
) WITHOUT ROWID;
CREATE INDEX review_drafts_by_card ON review_drafts(card_id);
`
