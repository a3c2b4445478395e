/** The entries of other programs' files that cards were imported from. */
export default /* sql */ `
ALTER TABLE cards ADD COLUMN source TEXT;
CREATE INDEX cards_source ON cards (project_id, json_extract(source, '$.kind'), json_extract(source, '$.id')) WHERE source IS NOT NULL;
`
