import { boardFolders, type WorktreePlaces } from '../../worktrees/worktreePlaces.ts'
import { invalid } from '../../contract/errors.ts'
import { findAddingRepository } from '../../git/addingRepository.ts'
import { findRepository } from '../../git/repository.ts'

/**
 * Checks that the repository of a project's folder would add no files of the board.
 * @throws Problem VALIDATION_FAILED
 */
export async function requireBoardApart(places: WorktreePlaces, folder: string): Promise<void> {
  for (const each of boardFolders(places)) {
    const adding = await findAddingRepository(each)
    if (adding && adding.commonDir === (await findRepository(folder))?.commonDir)
      throw invalid(
        'path',
        `must not be in a repository that adds the files of the board, which are in ${adding.path}: ${adding.advice}`,
      )
  }
}
