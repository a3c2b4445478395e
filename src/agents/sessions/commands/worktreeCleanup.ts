import { reasonOf } from '../../../config/log.ts'
import type { Cleanup, RunCleanup } from '../../../cardWork/cleanup.ts'
import type { ServerAccess } from '../../../process/reconciler.ts'
import type { Child, ProcessTrees } from '../../../process/spawn.ts'
import type { SandboxDependencies } from '../sandbox/projectSandbox.ts'
import { prepareCommand } from './prepareCommand.ts'
import { runWorktreeCommand } from './worktreeCommands.ts'

/** Runs projects' cleanup commands, before worktrees are removed. */
export interface WorktreeCleanup {
  run: RunCleanup
  /** Starts to run commands. */
  start(server: ServerAccess): void
  /** Ends the running commands. A worktree whose cleanup was ended is still removed. */
  stop(): Promise<void>
}

type Dependencies = Pick<SandboxDependencies, 'config' | 'sandbox' | 'worktrees' | 'connect'> & {
  processTrees: ProcessTrees
}

export function createWorktreeCleanup({ processTrees, ...dependencies }: Dependencies): WorktreeCleanup {
  const children = new Set<Child>()
  let server: ServerAccess | undefined
  const runCleanup = async ({ settings, ...site }: Cleanup, access: ServerAccess) => {
    const { launch, sandbox } = await prepareCommand({ ...dependencies, ...access }, { ...site, isServed: false })
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
      if (!server) return
      const { log } = server
      await runCleanup(cleanup, server).catch((error: unknown) =>
        log('warn', 'The cleanup of a worktree failed. The worktree is removed anyway.', {
          projectId: cleanup.project.id,
          cardId: cleanup.cardId,
          cause: reasonOf(error),
        }),
      )
    },
    start: to => {
      server = to
    },
    stop: async () => {
      server = undefined
      await Promise.all([...children].map(child => child.stop({ graceMs: 0 })))
    },
  }
}
