import { createKeyedQueue } from '../async/serialQueue.ts'

/**
 * Runs one piece of work at a time on a repository, named by its common folder. The lock is the repository's and so of the whole
 * process: two boards that have projects in one repository must not make worktrees in it at the same time.
 */
export const withRepositoryLock = createKeyedQueue()
