import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shownName } from '../../contract/cards/fileNames.ts'
import { Problem } from '../../contract/errors.ts'
import { readModules } from '../../git/submodules.ts'
import { namePaths, pathDetails } from '../namePaths.ts'
import { listAllChanges, surveyChanges, type NestedRepository } from './changes.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'

const maxLevels = 16

/**
 * Ensures that a commit of a worktree omits no work in the repositories inside: each is a submodule without uncommitted changes. The
 * setting `ignore` of a submodule in `.gitmodules` applies.
 * @param tree the tree with `.gitmodules`
 * @throws Problem CONFLICT
 */
export async function requireNoneOmitted(
  quarantine: Quarantine,
  nested: readonly NestedRepository[],
  tree: string,
): Promise<void> {
  const untracked = nested.find(({ recorded }) => recorded === undefined)?.path
  if (untracked !== undefined) throw notSubmodule(shownName(untracked))
  if (nested.length === 0) return
  const [paths, ignored] = await Promise.all([
    readModules(quarantine.run, tree, 'path'),
    readModules(quarantine.run, tree, 'ignore'),
  ])
  const ignoreOf = new Map([...paths].map(([name, path]) => [path, ignored.get(name)]))
  for (const { path } of nested) {
    const ignore = ignoreOf.get(path)
    if (ignore === 'all' || ignore === 'dirty') continue
    const changed = await listUncommitted(join(quarantine.topLevel, path), ignore !== 'untracked')
    if (changed.length > 0) throw uncommittedProblem(shownName(path), changed)
  }
}

async function listUncommitted(path: string, withUntracked: boolean, level = 1): Promise<string[]> {
  const quarantine = await openQuarantine(path, tmpdir())
  try {
    const changed = await listAllChanges(quarantine, withUntracked)
    if (changed.length > 0 || level >= maxLevels) return changed
    for (const { path: inner } of (await surveyChanges(quarantine)).nested) {
      const deeper = await listUncommitted(join(quarantine.topLevel, inner), withUntracked, level + 1)
      if (deeper.length > 0) return deeper.map(each => `${inner}/${each}`)
    }
    return []
  } finally {
    await quarantine.close()
  }
}

const uncommittedProblem = (folder: string, paths: readonly string[]): Problem =>
  new Problem(
    'CONFLICT',
    `The submodule ${folder} has changes that are not committed, in ${namePaths(paths)}. Commit them in the submodule, or discard them. Nothing was changed.`,
    {
      details: pathDetails(
        paths.map(path => `${folder}/${path}`),
        'is not committed in its submodule',
      ),
    },
  )

const notSubmodule = (folder: string): Problem =>
  new Problem(
    'CONFLICT',
    `The folder ${folder} is a Git repository and not a submodule, so its files would be missing. Add it as a submodule, delete ${folder}/.git to add its files, or list the folder in .gitignore. Nothing was changed.`,
    { details: pathDetails([folder], 'is a Git repository and not a submodule') },
  )
