/** SQL for the database's clock in milliseconds, which daemons on several machines share. */
export const nowMs = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
