import { usage, type Failure } from './exit.ts'

const reasons: Record<string, string> = { ENOENT: 'there is no such file', ENOTDIR: 'there is no such file', EACCES: 'you may not', EISDIR: 'it is a folder', ELOOP: 'its links lead round in a circle' }

/** A file that was named and that cannot be read, in words. @param error what the file system said */
export function unreadable(what: string, error: unknown, more?: { see?: string }): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
  return usage(`${what} cannot be read: ${Object.hasOwn(reasons, code) ? reasons[code] : code}`, more)
}
