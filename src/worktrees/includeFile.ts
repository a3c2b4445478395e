import { Problem } from '../contract/errors.ts'
import { cacheByCommit } from '../git/commitCache.ts'
import { GitFailed, gitOutput, inGitDir } from '../git/git.ts'

/** Patterns in the syntax of gitignore. Of those that match a file, the last one decides. */
export interface CopyRules {
  /**
   * The content of `.worktreeinclude` in the base commit, one character per byte. Null if the commit has no such file. In this case, an
   * untracked file in the repository's folder applies.
   */
  include: string | null
  /** The project's patterns, relative to the project's folder. They come after those of `include`. */
  patterns: readonly string[]
  /** Folders of which no file is copied, without links. */
  hidden: readonly string[]
}

/** The file in the top folder of a repository that names the ignored files to copy to each new worktree. */
export const includeFile = '.worktreeinclude'
export const maxIncludeBytes = 64 * 1024

export const includeProblem = (reason: string) =>
  new Problem('CONFLICT', `${includeFile} of the repository cannot be used: ${reason}.`)

/**
 * Reads `.worktreeinclude` in a commit, one character per byte. Returns null if the commit has none.
 * @throws Problem CONFLICT if it is a link or a folder, or too large; GitFailed
 */
export const readIncludeFile = cacheByCommit(async (commonDir, commit): Promise<string | null> => {
  const env = { ...inGitDir(commonDir), GIT_NO_REPLACE_OBJECTS: '1' }
  const listed = (await gitOutput(commonDir, ['ls-tree', '-z', commit, '--', includeFile], { env })).toString()
  if (listed === '') return null
  const id = /^100\d+ blob ([0-9a-f]+)\t/.exec(listed)?.[1]
  if (id === undefined) throw includeProblem('it is not a file')
  const content = await gitOutput(commonDir, ['cat-file', 'blob', id], { env, maxBytes: maxIncludeBytes }).catch(
    (error: unknown) => {
      if (!(error instanceof GitFailed) || error.reason !== 'output') throw error
      throw includeProblem(`it is larger than ${maxIncludeBytes / 1024} KiB`)
    },
  )
  return content.toString('latin1')
})
