import type { App } from '../../../src/app.ts'
import type { Removal } from '../../../src/cardWork/removeWorktree.ts'

/** The dependencies of removing a card's worktrees. */
export const removalOf = ({
  config,
  cleanup,
  supervisor,
  previews,
}: Pick<App, 'config' | 'cleanup' | 'supervisor' | 'previews'>): Removal => ({
  dataDir: config.dataDir,
  runCleanup: cleanup.run,
  endLate: supervisor.endLate,
  isAtWork: id => supervisor.isAtWork(id) || previews.isAtWork(id),
})
