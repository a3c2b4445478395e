import { Problem } from '../contract/errors.ts'
import { namePaths, pathDetails } from './namePaths.ts'

/** The board cannot merge changes of these files, because it does not run the filters of a repository. */
export function filteredProblem(paths: readonly string[]): Problem {
  return new Problem(
    'CONFLICT',
    `A person must merge this card: it changes ${namePaths(paths)}, and only the repository's own configuration defines the filter of ${paths.length === 1 ? 'this file' : 'these files'}. Merge with git, or define the filter in the configuration of the server's account (git config --global). Nothing was changed.`,
    { details: pathDetails(paths, 'has a filter of the repository') },
  )
}
