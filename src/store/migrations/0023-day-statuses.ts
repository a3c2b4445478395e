/** A project's cards at the end of a day by their status, as JSON. It is not known of the days before. */
export default /* sql */ `
ALTER TABLE project_days ADD COLUMN by_status TEXT;
`
