import type { App } from '../../src/app.ts'
import type { Removal } from '../../src/domain/deletedWorktrees.ts'

/** What removing a card's worktrees requires. */
export const removalOf = ({ config, cleanup, supervisor, previews }: App): Removal => ({
  dataDir: config.dataDir,
  runCleanup: cleanup.run,
  isAtWork: id => supervisor.isAtWork(id) || previews.isAtWork(id),
})
