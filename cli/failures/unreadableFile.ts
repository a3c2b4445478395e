import { fileReason, usage, type Failure } from './failure.ts'

/** A file that was named and that cannot be read, in words. @param error what the file system said */
export const unreadableFile = (what: string, error: unknown, more?: { see?: string }): Failure =>
  usage(`${what} cannot be read: ${fileReason(error)}`, more)
