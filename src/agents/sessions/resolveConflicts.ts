import type { UpdateConflict } from '../../cardWork/branches.ts'
import type { StartRef } from '../../domain/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import type { Supervisor } from './agentSupervisor.ts'
import { send } from './sessionCommands.ts'

/** Asks a card's agent to merge its base and resolve the conflicts. @throws Problem as `send` does */
export const resolveConflicts = (
  tx: Transaction,
  supervisor: Supervisor,
  ref: StartRef,
  conflict: UpdateConflict,
  strategy: 'merge' | 'rebase',
): Promise<unknown> => send(tx, supervisor, ref, { content: conflictMessage(conflict, strategy), attachmentIds: [] })

/** The request to resolve conflicts. Text from the repository is quoted, because it is untrusted. */
export function conflictMessage(
  { repository, problem, baseCommit, titles }: UpdateConflict,
  strategy: 'merge' | 'rebase',
): string {
  const files = (problem.details ?? []).map(({ path }) => `> ${JSON.stringify(path)}`)
  return [
    `The base of your branch${repository && ` in the repository ${repository}`} has moved on to the commit ${baseCommit}, and your work conflicts with it in these files:`,
    files.join('\n'),
    ...(titles.length > 0
      ? ['The commits that changed them there, newest first:', titles.map(title => `> ${title}`).join('\n')]
      : []),
    `Run \`git ${strategy} ${baseCommit}\`${repository && ` in your worktree of ${repository}`}. Resolve each conflict so that the changes of both sides are kept, run the tests, and commit.`,
  ].join('\n\n')
}
