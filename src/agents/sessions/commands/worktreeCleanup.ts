import { reasonOf, type Log } from '../../../config/log.ts'
import type { Cleanup, RunCleanup } from '../../../cardWork/cleanup.ts'
import type { Child, ProcessTrees } from '../../../process/spawn.ts'
import type { SandboxDependencies } from '../sandbox/projectSandbox.ts'
import { prepareCommand } from './prepareCommand.ts'
import { runWorktreeCommand } from './worktreeCommands.ts'

/** Runs projects' cleanup commands, before worktrees are removed. */
export interface WorktreeCleanup {
  run: RunCleanup
  /** Starts to run commands. They reach the server at this address, and from a sandbox through `acceptForBoard`. */
  open(url: string, log: Log, acceptForBoard: SandboxDependencies['acceptForBoard']): void
  /** Ends the running commands. A worktree whose cleanup was ended is still removed. */
  stop(): Promise<void>
}

type Dependencies = Pick<SandboxDependencies, 'config' | 'sandbox' | 'worktrees' | 'connect'> & {
  processTrees: ProcessTrees
}

export function createWorktreeCleanup({ processTrees, ...dependencies }: Dependencies): WorktreeCleanup {
  const children = new Set<Child>()
  let at: (Pick<SandboxDependencies, 'url' | 'acceptForBoard'> & { log: Log }) | undefined
  const runCleanup = async ({ settings, ...site }: Cleanup, parts: NonNullable<typeof at>) => {
    const { launch, sandbox } = await prepareCommand({ ...dependencies, ...parts }, { ...site, isServed: false })
    await runWorktreeCommand('cleanup', {
      launch,
      settings,
      update: () => {},
      spawn: async command => {
        const child = await processTrees.spawn({ ...(await sandbox.wrap(command)), stdin: 'pipe', kind: 'cleanup' })
        children.add(child)
        void child.exited.then(() => children.delete(child))
        return child
      },
    }).finally(() => sandbox.close())
  }
  return {
    run: async cleanup => {
      if (!at) return
      const { log } = at
      await runCleanup(cleanup, at).catch((error: unknown) =>
        log('warn', 'The cleanup of a worktree failed. The worktree is removed anyway.', {
          projectId: cleanup.project.id,
          cardId: cleanup.cardId,
          cause: reasonOf(error),
        }),
      )
    },
    open: (url, log, acceptForBoard) => {
      at = { url, log, acceptForBoard }
    },
    stop: async () => {
      at = undefined
      await Promise.all([...children].map(child => child.stop({ graceMs: 0 })))
    },
  }
}
