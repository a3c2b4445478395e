/** A hidden project is one that an import has not finished yet. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
CREATE INDEX projects_hidden ON projects(id) WHERE hidden = 1;
`
