import { Problem } from '../contract/errors.ts'
import { git, nulSeparated } from './git.ts'
import type { Quarantine } from './quarantine.ts'

/**
 * Refuses files whose content a filter program of the repository's configuration would turn into what is committed (large
 * file storage, encryption): the program may be anybody's, and without it the wrong bytes would be committed.
 * @throws Problem CONFLICT
 */
export async function requireNoFilters(quarantine: Quarantine, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  const { stdout } = await git(quarantine.topLevel, [
    'config',
    '--null',
    '--name-only',
    '--get-regexp',
    '^filter\\..*\\.(clean|process)$',
  ])
  const configured = new Set(nulSeparated(stdout).map(name => name.slice('filter.'.length, name.lastIndexOf('.'))))
  if (configured.size === 0) return
  const attributes = nulSeparated(
    await quarantine.run(['check-attr', '-z', '--stdin', 'filter'], { input: paths.map(path => `${path}\0`).join('') }),
  )
  const filters = attributes.filter((_, index) => index % 3 === 2)
  if (filters.some(filter => configured.has(filter)))
    throw new Problem(
      'CONFLICT',
      'The worktree has changes that are not committed in files with a filter, such as large file storage. Commit them there first.',
    )
}
