import { shownName } from '../contract/cards/fileNames.ts'
import { Problem } from '../contract/errors.ts'
import { findProjectRepository } from './checkoutState.ts'
import type { ProjectFolder } from './folderRecord.ts'
import { GitFailed, gitOutput, inGitDir } from './git.ts'
import { nulSeparated } from './fileNames.ts'
import type { Repository } from './workingTrees.ts'

const maxListBytes = 64 * 1024 * 1024

/**
 * Lists the tracked files below a project's folder, relative to it.
 * @throws Problem NOT_A_GIT_REPOSITORY; CONFLICT when they are too many to list, or the repository is not the recorded one
 */
export async function trackedFiles(project: ProjectFolder): Promise<string[]> {
  try {
    const repository = await findProjectRepository(project)
    if (!repository) throw new Problem('NOT_A_GIT_REPOSITORY')
    const names = nulSeparated(await (repository.isBare ? listCommitted(repository) : listIndex(project.path)))
    return names.map(shownName)
  } catch (error) {
    throw error instanceof GitFailed ? toProblem(error) : error
  }
}

const listIndex = (path: string): Promise<Buffer> =>
  gitOutput(path, ['ls-files', '-z', '--cached', '--deduplicate'], { maxBytes: maxListBytes })

const listCommitted = async ({ commonDir, head }: Repository): Promise<Buffer> =>
  head === undefined
    ? Buffer.alloc(0)
    : gitOutput(commonDir, ['ls-tree', '-r', '-z', '--name-only', head], {
        env: inGitDir(commonDir),
        maxBytes: maxListBytes,
      })

function toProblem(failure: GitFailed): Problem {
  if (failure.reason === 'output')
    return new Problem('CONFLICT', 'The repository tracks too many files to list.', { cause: failure })
  if (failure.reason === 'timeout')
    return new Problem('CONFLICT', 'Git took too long to list the files.', { cause: failure })
  return new Problem('NOT_A_GIT_REPOSITORY', undefined, { cause: failure })
}
