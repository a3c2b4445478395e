import { dirname } from 'node:path'
import type { Workplace } from '../../../cardWork/worktrees.ts'
import { configurationOf } from '../../../git/configuration.ts'
import { repositoryFilters, withoutFilters } from '../../../git/filters.ts'
import type { ProjectFolder } from '../../../git/folderRecord.ts'
import { findRepository } from '../../../git/repository.ts'

/**
 * The environment variables of a card's folder. They name the folder with the card's worktrees of the project's other repositories. They
 * also disable the filters of the repositories in Git.
 */
export async function workplaceVariables(
  { path }: Pick<ProjectFolder, 'path'>,
  { repositories = [], isManaged }: Workplace,
): Promise<Record<string, string>> {
  const first = repositories.find(({ worktreePath }) => worktreePath !== null)
  const filters = await Promise.all([path, ...repositories.map(each => each.path)].map(filtersOf))
  return {
    ...(first && { BOARD_REPOSITORIES: dirname(first.worktreePath!) }),
    ...withoutFilters([...new Set(filters.flat())], isManaged),
  }
}

async function filtersOf(path: string): Promise<string[]> {
  const repository = await findRepository(path)
  return repository ? repositoryFilters(await configurationOf(repository)) : []
}
