import { isOwn } from '../agents/sessionPurposes.ts'
import { firstMessageRow } from '../cards/remarkRows.ts'

const messageRow = (cardId: string) => `${cardId} + ${firstMessageRow}`

/**
 * The full-text indexes. Triggers only record the rows that changed, because indexing single rows costs nine times as much as
 * indexing a batch. In each index, scope contains "p" and the ID of the project.
 */
export default /* sql */ `
-- The words of cards, by card ID
CREATE VIRTUAL TABLE card_texts USING fts5(title, prompt, labels, scope,
  content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
-- Titles with their prefixes: shows whether any title contains a frequent word, and finds an incomplete word.
CREATE VIRTUAL TABLE card_titles USING fts5(title, scope,
  content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4 5');
CREATE TABLE unindexed_cards (card_id INTEGER PRIMARY KEY);
CREATE TRIGGER cards_unindexed_in AFTER INSERT ON cards WHEN new.kind <> 'assistant' BEGIN
  INSERT OR IGNORE INTO unindexed_cards VALUES (new.id);
END;
CREATE TRIGGER cards_unindexed_changed AFTER UPDATE OF title, prompt, labels, deleted_at ON cards WHEN new.kind <> 'assistant' BEGIN
  INSERT OR IGNORE INTO unindexed_cards VALUES (new.id);
END;
CREATE TRIGGER cards_unindexed_out AFTER DELETE ON cards WHEN old.kind <> 'assistant' BEGIN
  INSERT OR IGNORE INTO unindexed_cards VALUES (old.id);
END;

-- Comments, and the last message of each card's agent: see remarkRows.ts. A comment must not index its card's prompt again.
CREATE VIRTUAL TABLE card_talks USING fts5(body, scope,
  content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
CREATE TABLE unindexed_remarks (row_id INTEGER PRIMARY KEY);
CREATE TRIGGER comments_unindexed_in AFTER INSERT ON comments BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (new.id);
END;
CREATE TRIGGER comments_unindexed_changed AFTER UPDATE OF body ON comments WHEN old.body <> new.body BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (new.id);
END;
CREATE TRIGGER comments_unindexed_out AFTER DELETE ON comments BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (old.id);
END;
CREATE TRIGGER messages_unindexed_changed AFTER UPDATE OF status ON agent_sessions
WHEN old.status <> new.status AND new.status NOT IN ('queued', 'running') AND ${isOwn('new.purpose')} BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (${messageRow('new.card_id')});
END;
CREATE TRIGGER remarks_unindexed_trash AFTER UPDATE OF deleted_at ON cards
WHEN (old.deleted_at IS NULL) <> (new.deleted_at IS NULL) BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (${messageRow('new.id')});
  INSERT OR IGNORE INTO unindexed_remarks SELECT id FROM comments WHERE card_id = new.id;
END;
CREATE TRIGGER remarks_unindexed_out AFTER DELETE ON cards BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (${messageRow('old.id')});
END;
`
