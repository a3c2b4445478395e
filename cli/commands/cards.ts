import type { Command } from 'commander'
import { groupVerbs } from '../help/help.ts'

/**
 * The file of each verb. Only the requested verb's file is loaded, so that a list does not load the code that follows agents.
 */
const files: readonly [verbs: string, load: () => Promise<{ registerVerbs(cards: Command): void }>][] = [
  ['list', () => import('./cards/list.ts')],
  ['view read', () => import('./cards/view.ts')],
  ['add', () => import('./cards/add.ts')],
  ['ready block', () => import('./cards/order.ts')],
  ['edit', () => import('./cards/edit.ts')],
  ['move', () => import('./cards/move.ts')],
  ['run cancel wait', () => import('./cards/run.ts')],
  ['diff approve summary', () => import('./cards/changes.ts')],
  ['merge', () => import('./cards/merge.ts')],
  ['check proofs', () => import('./cards/check.ts')],
  ['land', () => import('./cards/land.ts')],
  ['push update repositories', () => import('./cards/branch.ts')],
  ['pr', () => import('./cards/pr.ts')],
  ['review', () => import('./cards/review.ts')],
  ['comment activity', () => import('./cards/talk.ts')],
  ['worktree checkout', () => import('./cards/worktree.ts')],
  ['preview', () => import('./cards/preview.ts')],
  ['archive unarchive complete delete restore', () => import('./cards/lifecycle.ts')],
  ['pipeline auto', () => import('./cards/pipeline.ts')],
  ['attach attachments download detach', () => import('./cards/attachments.ts')],
  ['credential', () => import('./cards/credential.ts')],
]

export async function register(command: Command, verb?: string): Promise<void> {
  const meant = files.find(([verbs]) => verb !== undefined && verbs.split(' ').includes(verb))
  if (meant) return (await meant[1]()).registerVerbs(command)
  for (const [, load] of files) (await load()).registerVerbs(command)
  groupVerbs(command, {
    'View cards': 'list ready view read summary activity',
    'Create and change cards': 'add edit assign block attach attachments download detach comment',
    'Move and archive cards': 'move complete approve archive unarchive delete restore',
    'Run agents': 'run wait cancel auto pipeline credential',
    'Branches and reviews': 'diff review preview check proofs merge land push pr update repositories checkout worktree',
  })
}
