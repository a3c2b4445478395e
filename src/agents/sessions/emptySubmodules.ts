import type { Workplace } from '../../domain/worktrees.ts'
import { GitFailed } from '../../git/git.ts'
import type { ProjectRow } from '../../store/projects.ts'
import { listEmptySubmodules } from '../../worktrees/findWorktree.ts'
import { namePaths } from '../../worktrees/namePaths.ts'
import type { Worktrees } from '../../worktrees/worktrees.ts'

const command = 'git submodule update --init --recursive'

/** Describes the empty submodules of a card's worktrees, and the command that fills them. Returns null if there are none. */
export async function describeEmptySubmodules(
  worktrees: Worktrees,
  project: Pick<ProjectRow, 'path' | 'folderRecords'>,
  { worktreePath, repositories = [] }: Workplace,
): Promise<string | null> {
  const places = [
    { path: project.path, worktreePath, fill: command },
    ...repositories.map(({ name, ...place }) => ({ ...place, fill: `cd "$BOARD_REPOSITORIES/${name}" && ${command}` })),
  ]
  const lines: string[] = []
  for (const { path, worktreePath: folder, fill } of places) {
    if (folder === null) continue
    const found = await listEmptySubmodules(worktrees, { ...project, path }, folder).catch(unlessGitFailed)
    if (found.length > 0)
      lines.push(
        `The worktree has empty submodules: ${namePaths(found)}. To fill them in each new worktree, add this command to the project's setup: ${fill} (board projects worktree --setup '${fill}'). For this worktree, run it there.`,
      )
  }
  return lines.join('\n') || null
}

function unlessGitFailed(error: unknown): string[] {
  if (!(error instanceof GitFailed)) throw error
  return []
}
