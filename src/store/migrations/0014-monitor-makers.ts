/** Whether an agent made a monitor, which then rests while that agent is cancelled. Unknown for older ones. */
export default /* sql */ `
ALTER TABLE monitors ADD COLUMN by_agent INTEGER NOT NULL DEFAULT 1;
`
