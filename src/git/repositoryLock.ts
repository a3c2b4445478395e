import { createKeyedQueue } from '../async/serialQueue.ts'

/**
 * Serializes work on a repository, identified by its common folder. Per process, not per board: two boards with projects in one
 * repository must not create worktrees in it at the same time.
 */
export const withRepositoryLock = createKeyedQueue()
