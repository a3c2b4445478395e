/** SQL for the time by which daemons on several machines go: the database's, in milliseconds. */
export const nowMs = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
