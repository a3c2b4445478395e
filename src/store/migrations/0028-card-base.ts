/** What a card's branch starts at: a branch, tag or commit, or the branch of another card. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN base TEXT;
ALTER TABLE cards ADD COLUMN base_card_id INTEGER REFERENCES cards(id) ON DELETE SET NULL;
CREATE INDEX cards_by_base ON cards(base_card_id) WHERE base_card_id IS NOT NULL;
`
