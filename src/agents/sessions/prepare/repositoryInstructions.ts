import type { Workplace, WorkplaceRepository } from '../../../cardWork/worktrees.ts'

/** The instructions about the project's other repositories. Empty if there are none. */
export function describeRepositories({ repositories = [] }: Workplace): string {
  const [worked, readable] = [true, false].map(wanted =>
    repositories.filter(({ worktreePath }) => (worktreePath !== null) === wanted),
  )
  return [
    worked!.length > 0 &&
      `This project has additional repositories. You have a worktree of each one, on your own branch. If your task requires changes in one of them, make and commit them in its worktree:\n${linesOf(worked!)}`,
    readable!.length > 0 &&
      `You can read these repositories of the project, and must not change them:\n${linesOf(readable!)}`,
  ]
    .filter(Boolean)
    .join('\n\n')
}

const linesOf = (repositories: readonly WorkplaceRepository[]): string =>
  repositories.map(({ name, path, worktreePath }) => `- ${name}: ${worktreePath ?? path}`).join('\n')
