/** Who made a card, which is not known of those that were made before, and how many attachments it has. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN creator_id INTEGER;
ALTER TABLE cards ADD COLUMN creator_name TEXT;
ALTER TABLE cards ADD COLUMN attachment_count INTEGER NOT NULL DEFAULT 0;
UPDATE cards SET attachment_count = (SELECT count(*) FROM attachments WHERE card_id = cards.id) WHERE id IN (SELECT card_id FROM attachments);
CREATE TRIGGER attachments_counted_in AFTER INSERT ON attachments BEGIN
  UPDATE cards SET attachment_count = attachment_count + 1 WHERE id = new.card_id;
END;
CREATE TRIGGER attachments_counted_out AFTER DELETE ON attachments BEGIN
  UPDATE cards SET attachment_count = attachment_count - 1 WHERE id = old.card_id;
END;
`
