/** How many cards a column takes, and whether it takes them by itself; for which full column a card waits. */
export default /* sql */ `
ALTER TABLE columns ADD COLUMN wip_limit INTEGER;
ALTER TABLE columns ADD COLUMN pull INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN next_column_id INTEGER REFERENCES columns(id) ON DELETE SET NULL;
ALTER TABLE cards ADD COLUMN pullable INTEGER NOT NULL DEFAULT 1;
UPDATE board_templates SET columns = (SELECT json_group_array(json_set(value, '$.wipLimit', NULL, '$.pull', json('false'))) FROM json_each(columns));
CREATE INDEX columns_pulling ON columns(project_id) WHERE pull = 1;
CREATE INDEX cards_by_next_column ON cards(next_column_id) WHERE next_column_id IS NOT NULL;
`
