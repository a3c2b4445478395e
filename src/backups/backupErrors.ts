import { Problem } from '../contract/errors.ts'

/** What is said of a file that is no backup, or no whole one. */
export const notWhole = (reason: string, cause?: unknown): Problem =>
  new Problem('INVALID_BACKUP', `The file is not a whole backup of a board: ${reason}.`, { cause })
