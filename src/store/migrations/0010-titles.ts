/**
 * A full-text index of titles alone, with prefixes: tells at once whether any title has a word that all prompts have,
 * and finds a half-typed word without collecting every card that has it.
 */
export default /* sql */ `
CREATE VIRTUAL TABLE card_titles USING fts5(title, scope, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4 5');
INSERT OR IGNORE INTO unindexed_cards SELECT id FROM cards WHERE deleted_at IS NULL AND kind <> 'assistant';
`
