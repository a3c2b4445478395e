import { Problem } from '../contract/errors.ts'
import { findProjectRepository } from './checkoutState.ts'
import type { ProjectFolder } from './folderRecord.ts'
import { GitFailed, gitOutput, nulSeparated } from './git.ts'

const maxListBytes = 64 * 1024 * 1024

/**
 * Lists the tracked files below a project's folder, relative to it.
 * @throws Problem NOT_A_GIT_REPOSITORY; CONFLICT when they are too many to list, or the repository is not the recorded one
 */
export async function trackedFiles(project: ProjectFolder): Promise<string[]> {
  try {
    if (!(await findProjectRepository(project))) throw new Problem('NOT_A_GIT_REPOSITORY')
    return nulSeparated(
      await gitOutput(project.path, ['ls-files', '-z', '--cached', '--deduplicate'], { maxBytes: maxListBytes }),
    )
  } catch (error) {
    throw error instanceof GitFailed ? toProblem(error) : error
  }
}

function toProblem(failure: GitFailed): Problem {
  if (failure.reason === 'output')
    return new Problem('CONFLICT', 'The repository tracks too many files to list.', { cause: failure })
  if (failure.reason === 'timeout')
    return new Problem('CONFLICT', 'Git took too long to list the files.', { cause: failure })
  return new Problem('NOT_A_GIT_REPOSITORY', undefined, { cause: failure })
}
