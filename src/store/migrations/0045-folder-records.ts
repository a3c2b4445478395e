/** Records of the folders and repositories of a project, made when a person chose them. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN folder_records TEXT NOT NULL DEFAULT '{}';
`
