/** Which daemon imports a hidden project: when that is gone, nobody finishes it. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN importer TEXT;
`
