import type { Workplace } from '../../../cardWork/worktrees.ts'
import { GitFailed } from '../../../git/git.ts'
import { shellWord } from '../../../process/shellWord.ts'
import type { ProjectRow } from '../../../store/projects/projects.ts'
import { findEmptySubmodules } from '../../../worktrees/findWorktree.ts'
import { namePaths } from '../../../worktrees/namePaths.ts'
import type { Worktrees } from '../../../worktrees/worktrees.ts'

/** Describes the empty submodules of a card's worktrees, and the command that fills them. Returns null if there are none. */
export async function describeEmptySubmodules(
  worktrees: Worktrees,
  project: Pick<ProjectRow, 'path' | 'folderRecords'>,
  { worktreePath, repositories = [] }: Workplace,
): Promise<string | null> {
  const places = [
    { path: project.path, worktreePath, start: '' },
    ...repositories.map(({ name, ...place }) => ({ ...place, start: `cd "$BOARD_REPOSITORIES/${name}" && ` })),
  ]
  const lines: string[] = []
  for (const { path, worktreePath: folder, start } of places) {
    if (folder === null) continue
    const found = await findEmptySubmodules(worktrees, { ...project, path }, folder).catch(unlessGitFailed)
    if (!found) continue
    const command = start + found.fillCommand
    lines.push(
      `The worktree has empty submodules: ${namePaths(found.paths)}. To fill them in each new worktree, add this command to the project's setup: ${command} (board projects worktree --setup ${shellWord(command)}). For this worktree, run it there.`,
    )
  }
  return lines.join('\n') || null
}

function unlessGitFailed(error: unknown): null {
  if (!(error instanceof GitFailed)) throw error
  return null
}
