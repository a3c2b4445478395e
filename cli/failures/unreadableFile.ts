import { fileReason, usage, type Failure } from './failure.ts'

/** Returns the failure for an unreadable file. @param error the file system's error */
export const unreadableFile = (what: string, error: unknown, more?: { see?: string }): Failure =>
  usage(`${what} cannot be read: ${fileReason(error)}`, more)
