/** The exact format of backup names: the time of the backup in UTC, to the millisecond. */
const pattern = /^board-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3}Z)\.tar\.gz$/

/** The filename of a backup that is created at this time. */
export const backupName = (at: Date): string => `board-${at.toISOString().replaceAll(':', '-')}.tar.gz`

/** The time of a backup by its filename, ISO 8601. Undefined for any other name, so that no name escapes the folder. */
export function timeOfName(filename: string): string | undefined {
  const [, day, hour, minute, second] = pattern.exec(filename) ?? []
  const time = `${day}T${hour}:${minute}:${second}`
  return day !== undefined && !Number.isNaN(Date.parse(time)) ? time : undefined
}
