import { Problem } from '../contract/errors.ts'
import { git, nulSeparated } from './git.ts'
import type { Quarantine } from './quarantine.ts'

/**
 * Refuses files with a configured filter (LFS, encryption) whose result would be committed: the filter may be
 * anybody's program, and without it the wrong bytes would be committed.
 * @throws Problem CONFLICT
 */
export async function requireNoFilters(quarantine: Quarantine, paths: readonly string[]): Promise<void> {
  if (await areFiltered(quarantine, paths, false))
    throw new Problem(
      'CONFLICT',
      'The worktree has changes that are not committed in files with a filter, such as large file storage. Commit them there first.',
    )
}

/**
 * Refuses files with a filter of the repository's own configuration: it is not run, so its earlier output would be
 * committed.
 * @throws Problem CONFLICT
 */
export async function requireNoOwnFilters(quarantine: Quarantine, paths: readonly string[]): Promise<void> {
  if (await areFiltered(quarantine, paths, true))
    throw new Problem(
      'CONFLICT',
      "The merge changes files with a filter that only the repository's own configuration names, and the board runs none of those. Merge with git, or name the filter in your account's configuration (git config --global). Nothing was changed.",
    )
}

/** Whether one of the files has a configured filter; `ownOnly` ignores the account's. */
async function areFiltered(quarantine: Quarantine, paths: readonly string[], ownOnly: boolean): Promise<boolean> {
  if (paths.length === 0) return false
  const { stdout } = await git(quarantine.topLevel, [
    'config',
    '--null',
    '--show-scope',
    '--name-only',
    '--get-regexp',
    '^filter\\..*\\.(clean|smudge|process)$',
  ])
  const parts = nulSeparated(stdout)
  const named = (fits: (scope: string) => boolean) =>
    new Set(
      parts
        .filter((_, index) => index % 2 === 1 && fits(parts[index - 1]!))
        .map(name => name.slice('filter.'.length, name.lastIndexOf('.'))),
    )
  const configured = named(() => true)
  if (ownOnly) for (const name of named(scope => scope === 'global' || scope === 'system')) configured.delete(name)
  if (configured.size === 0) return false
  const attributes = nulSeparated(
    await quarantine.run(['check-attr', '-z', '--stdin', 'filter'], { input: paths.map(path => `${path}\0`).join('') }),
  )
  return attributes.some((filter, index) => index % 3 === 2 && configured.has(filter))
}
