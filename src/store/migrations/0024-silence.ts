/** What a project does about an agent that shows no sign of life. */
export default /* sql */ `
ALTER TABLE projects ADD COLUMN on_silence TEXT NOT NULL DEFAULT 'wait';
`
