import { firstMessageRow } from '../cards/remarkRows.ts'

const messageRow = (cardId: string) => `${cardId} + ${firstMessageRow}`

/**
 * The full-text index of comments and of the last message of each card's agent. A comment has its ID as row ID; see
 * `remarkRows.ts` for messages. A card's text keeps its index of its own: a comment must not index the card's prompt again.
 */
export default /* sql */ `
CREATE VIRTUAL TABLE card_talks USING fts5(body, scope, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
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
WHEN old.status <> new.status AND new.status NOT IN ('queued', 'running') AND new.purpose <> 'pre' BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (${messageRow('new.card_id')});
END;
CREATE TRIGGER remarks_unindexed_trash AFTER UPDATE OF deleted_at ON cards WHEN (old.deleted_at IS NULL) <> (new.deleted_at IS NULL) BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (${messageRow('new.id')});
  INSERT OR IGNORE INTO unindexed_remarks SELECT id FROM comments WHERE card_id = new.id;
END;
CREATE TRIGGER remarks_unindexed_out AFTER DELETE ON cards BEGIN
  INSERT OR IGNORE INTO unindexed_remarks VALUES (${messageRow('old.id')});
END;
INSERT INTO unindexed_remarks SELECT id FROM comments;
INSERT INTO unindexed_remarks SELECT DISTINCT ${messageRow('card_id')} FROM agent_sessions WHERE purpose <> 'pre';
CREATE INDEX cards_deleted_by_project ON cards(project_id, deleted_at) WHERE deleted_at IS NOT NULL;
`
