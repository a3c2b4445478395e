import { Problem } from '../contract/errors.ts'

/** The error for a file that is not a backup, or not a whole one. */
export const notWhole = (reason: string, cause?: unknown): Problem =>
  new Problem('INVALID_BACKUP', `The file is not a complete backup of a board: ${reason}.`, { cause })
