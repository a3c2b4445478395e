/**
 * The words of titles by themselves, with their beginnings: whether any title has a word that all prompts have is known at once,
 * and what somebody is typing is found without gathering all cards that have it.
 */
export default /* sql */ `
CREATE VIRTUAL TABLE card_titles USING fts5(title, scope, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4 5');
INSERT OR IGNORE INTO unindexed_cards SELECT id FROM cards WHERE deleted_at IS NULL AND kind <> 'assistant';
`
