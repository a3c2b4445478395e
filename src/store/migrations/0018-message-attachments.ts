/** The attachments of a person's message as they were when it was sent: JSON of their ids and names. */
export default /* sql */ `
ALTER TABLE transcript_messages ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
`
