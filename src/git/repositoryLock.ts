import { createKeyedQueue } from '../async/serialQueue.ts'

/**
 * Serializes work on a repository, named by its common folder. Per process, not per board: two boards with projects in
 * one repository must not make worktrees in it at the same time.
 */
export const withRepositoryLock = createKeyedQueue()
