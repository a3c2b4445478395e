/** The folders and repositories of a project as they were when a person chose them. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN folder_records TEXT NOT NULL DEFAULT '{}';
`
