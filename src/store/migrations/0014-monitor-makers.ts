/** Whether an agent made a monitor: then it rests while that agent is cancelled. Of the older ones nobody knows. */
export default /* sql */ `
ALTER TABLE monitors ADD COLUMN by_agent INTEGER NOT NULL DEFAULT 1;
`
