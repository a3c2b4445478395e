import { git, nulSeparated } from './git.ts'
import type { Repository } from './workingTrees.ts'

/** The names of the configured filters (LFS, encryption): all of them, and those that the account's configuration lacks. */
export interface FilterNames {
  all: string[]
  repositoryOnly: string[]
}

/** Reads the filters of a repository's configuration and of the account's. A filter can be any program. */
export async function readFilterNames({
  gitDir,
  commonDir,
}: Pick<Repository, 'gitDir' | 'commonDir'>): Promise<FilterNames> {
  const { stdout } = await git(
    commonDir,
    ['config', '--null', '--show-scope', '--name-only', '--get-regexp', '^filter\\..*\\.(clean|smudge|process)$'],
    { env: { GIT_DIR: gitDir } },
  )
  const parts = nulSeparated(stdout)
  const named = (isScope: (scope: string) => boolean) =>
    parts
      .filter((_, index) => index % 2 === 1 && isScope(parts[index - 1]!))
      .map(name => name.slice('filter.'.length, name.lastIndexOf('.')))
  const account = new Set(named(scope => scope === 'global' || scope === 'system'))
  const all = [...new Set(named(() => true))]
  return { all, repositoryOnly: all.filter(name => !account.has(name)) }
}
