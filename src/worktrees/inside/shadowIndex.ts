import { join } from 'node:path'
import { copyIndexFiles, indexFiles } from '../../git/gitFolder.ts'
import { nulSeparated } from '../../git/fileNames.ts'
import type { GitRun } from '../../git/filters.ts'
import { isMain, type Repository } from '../../git/workingTrees.ts'
import { shadowOf, type Shadow } from '../../git/shadow.ts'
import { bringObjects } from './bringObjects.ts'
import { inFolder, isSamePlain } from '../../git/untrustedFiles.ts'

const maxListBytes = 256 * 1024 * 1024

/**
 * Copies into a quarantine the index of an agent that has a separate Git folder, and checked copies of the objects that are only staged
 * there. If that fails, the quarantine keeps the index of the repository.
 */
export async function takeShadowIndex(run: GitRun, gitDir: string, repository: Repository): Promise<void> {
  // The index of the project's folder belongs to its owner, even while an agent works there.
  const shadow = isMain(repository) ? undefined : await shadowOf(repository)
  if (!shadow || repository.head === undefined) return
  try {
    if (await isIndexOf(shadow, gitDir)) return
    await copyIndex(shadow, gitDir)
    const missing = await missingOf(run, await stagedIn(run, repository.head))
    if (missing.length > 0) await bringObjects(shadow, missing, gitDir)
  } catch {
    await copyIndexFiles(repository.gitDir, gitDir)
  }
}

/** Copies the index of a shadow into a folder. */
const copyIndex = (shadow: Shadow, to: string): Promise<void> =>
  inFolder(shadow.common, shadow.admin, folder => copyIndexFiles(folder, to))

/**
 * Whether a Git folder has the index of a shadow. If so, the agent has staged nothing, and no process is required to search for staged
 * objects.
 */
const isIndexOf = ({ common, admin }: Shadow, gitDir: string): Promise<boolean> =>
  inFolder(common, admin, async folder => {
    const [inside, outside] = await Promise.all([indexFiles(folder), indexFiles(gitDir)])
    if (inside.length !== outside.length) return false
    const same = await Promise.all(inside.map(name => isSamePlain(join(folder, name), join(gitDir, name))))
    return !same.includes(false)
  })

/**
 * The objects in the index that differ from the commit. An entry is ":mode mode ID ID status NUL path NUL". The entry of a file in conflict
 * has no IDs, so they are read from the index.
 */
async function stagedIn(run: GitRun, head: string): Promise<string[]> {
  const options = { maxBytes: maxListBytes }
  const changed = nulSeparated(
    await run(
      ['diff-index', '--cached', '--raw', '-z', '--no-abbrev', '--no-renames', '--ignore-submodules=none', head],
      options,
    ),
  )
    .filter((_, index) => index % 2 === 0)
    .map(entry => entry.slice(1).split(' '))
  const unmerged = changed.some(([, , , , status]) => status === 'U')
    ? nulSeparated(await run(['ls-files', '-z', '--unmerged'], options)).map(entry => entry.split(' '))
    : []
  const ids = [...changed.map(([, mode, , id]) => [mode, id]), ...unmerged.map(([mode, id]) => [mode, id])]
    .filter(([mode, id]) => mode !== '160000' && id !== undefined && !/^0*$/.test(id))
    .map(([, id]) => id!)
  return [...new Set(ids)]
}

async function missingOf(run: GitRun, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const input = ids.map(id => `${id}\n`).join('')
  const answers = await run(['cat-file', '--batch-check'], { input, maxBytes: maxListBytes })
  return answers
    .toString()
    .split('\n')
    .filter(line => line.endsWith(' missing'))
    .map(line => line.slice(0, line.indexOf(' ')))
}
