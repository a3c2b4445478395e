import { stat } from 'node:fs/promises'

/** A file that has just changed can change again without a new change time. */
const settledMs = 2000

/**
 * The states of files and folders. The result differs if one of them has changed. Undefined if one has changed within the last 2 seconds.
 */
export async function readStamps(paths: readonly string[]): Promise<string | undefined> {
  const youngest = Date.now() - settledMs
  const stamps = await Promise.all(
    paths.map(async path => {
      const stats = await stat(path, { bigint: true }).catch(() => undefined)
      if (!stats) return `${path}\0`
      // No tool can set the change time.
      return Number(stats.ctimeMs) > youngest
        ? undefined
        : `${path}\0${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`
    }),
  )
  return stamps.includes(undefined) ? undefined : stamps.join('\0')
}
