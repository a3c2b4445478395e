import type { App } from '../../../src/app.ts'
import type { Removal } from '../../../src/cardWork/removeWorktree.ts'

/** The dependencies of removing a card's worktrees. */
export const removalOf = ({
  config,
  cleanup,
  supervisor,
  isAtWork,
}: Pick<App, 'config' | 'cleanup' | 'isAtWork' | 'supervisor'>): Removal => ({
  dataDir: config.dataDir,
  runCleanup: cleanup.run,
  endLate: cardId => supervisor.endLate(cardId),
  isAtWork,
})
