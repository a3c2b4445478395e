type Level = 'error' | 'warn' | 'info'
const rank: Record<Level, number> = { error: 0, warn: 1, info: 2 }

/** Writes one line to stderr for each message at or above the level. Callers pass no secrets: no bodies, no headers, no query strings. */
export type Log = (level: Level, message: string, fields?: Record<string, unknown>) => void

export const createLog = (least: Level): Log => (level, message, fields = {}) => {
  if (rank[level] > rank[least]) return
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, message, ...fields })}\n`)
}
