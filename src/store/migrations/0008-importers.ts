/** The daemon that imports a hidden project: when that is gone, the import is abandoned. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN importer TEXT;
`
