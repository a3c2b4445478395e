/**
 * What is kept under a secret for minutes, by kind, so that each has its own bound: of the secret a hash, and the value is sealed.
 * Those of one kind live equally long. What there was before is minutes old.
 */
export default /* sql */ `
DROP TABLE tickets;
CREATE TABLE tickets (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, ends_at_ms INTEGER NOT NULL, UNIQUE (kind, key));
CREATE INDEX tickets_by_end ON tickets(kind, ends_at_ms);
`
