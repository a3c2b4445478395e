/**
 * Short-lived secrets, limited per kind: a hash of the secret, and the sealed value. Those of one kind live equally
 * long. Earlier ones are minutes old and dropped.
 */
export default /* sql */ `
DROP TABLE tickets;
CREATE TABLE tickets (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, ends_at_ms INTEGER NOT NULL, UNIQUE (kind, key));
CREATE INDEX tickets_by_end ON tickets(kind, ends_at_ms);
`
