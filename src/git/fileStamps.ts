import { stat } from 'node:fs/promises'

/** A file that has just changed can change again without another time. */
const settledMs = 2000

/** The states of files and folders, which differ once one of them has changed. Undefined if one has just changed. */
export async function readStamps(paths: readonly string[]): Promise<string | undefined> {
  const youngest = Date.now() - settledMs
  const stamps = await Promise.all(
    paths.map(async path => {
      const stats = await stat(path, { bigint: true }).catch(() => undefined)
      if (!stats) return `${path}\0`
      // No tool can set this time.
      return Number(stats.ctimeMs) > youngest
        ? undefined
        : `${path}\0${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`
    }),
  )
  return stamps.includes(undefined) ? undefined : stamps.join('\0')
}
