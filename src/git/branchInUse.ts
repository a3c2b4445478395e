import { join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { kindOf } from './kindOf.ts'
import { readPlain } from './untrustedFiles.ts'
import { listWorkingTrees, type WorkingTree } from './workingTrees.ts'

const maxStateBytes = 1024 * 1024

/**
 * Ensures that no working tree rebases or bisects a branch. Both set the branch when they end, so a commit that is added in the
 * meantime would be lost. Git also refuses to move such a branch.
 * @throws Problem CONFLICT that names the folder and the command to end first
 */
export async function requireNotInUse(known: WorkingTree, branch: string): Promise<void> {
  const ref = `refs/heads/${branch}`
  for (const { topLevel, gitDir } of await listWorkingTrees(known)) {
    const command = await commandOn(gitDir, ref)
    if (command !== undefined)
      throw new Problem(
        'CONFLICT',
        `A git ${command.name} of ${branch} is in progress in ${topLevel}. ${command.advice}`,
      )
  }
}

interface Command {
  name: 'rebase' | 'bisect'
  advice: string
}
const rebase: Command = {
  name: 'rebase',
  advice: 'First finish it with git rebase --continue, or cancel it with git rebase --abort.',
}
const bisect: Command = { name: 'bisect', advice: 'First end it with git bisect reset.' }

/** The command that is in progress in a working tree and sets the branch when it ends. */
async function commandOn(gitDir: string, ref: string): Promise<Command | undefined> {
  const read = (name: string) => readPlain(join(gitDir, name), maxStateBytes).catch(() => '')
  for (const folder of ['rebase-merge', 'rebase-apply']) {
    if ((await kindOf(join(gitDir, folder))) !== 'folder') continue
    if ((await read(`${folder}/head-name`)).trim() === ref) return rebase
    // Git writes three lines for each further branch: the branch, its commit before and its commit after the rebase.
    if ((await read(`${folder}/update-refs`)).split('\n').includes(ref)) return rebase
  }
  const start = (await read('BISECT_START')).trim()
  return start !== '' && (start === ref || `refs/heads/${start}` === ref) ? bisect : undefined
}
