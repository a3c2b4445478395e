import { gitOutput, inGitDir } from './git.ts'
import { listRefFiles } from './refFiles.ts'

const maxRefsBytes = 256 * 1024 * 1024
/** Refs of a person, of the board or of one worktree. */
const ownRefs = /^refs\/(stash$|board\/|worktree\/|bisect\/|rewritten\/)/

/** The repository's branches and tags, one per line, in the format of Git's packed-refs file. */
export async function listRefs(commonDir: string): Promise<string> {
  const listed = (await listRefFiles(commonDir)) ?? (await askForRefs(commonDir))
  return listed
    .split('\n')
    .filter(line => !ownRefs.test(line.slice(line.indexOf(' ') + 1)))
    .join('\n')
}

const askForRefs = async (commonDir: string): Promise<string> =>
  (
    await gitOutput(commonDir, ['for-each-ref', '--format=%(objectname) %(refname)'], {
      env: inGitDir(commonDir),
      maxBytes: maxRefsBytes,
    })
  ).toString()

/** Excludes what branches and tags reach, as input of a walk over revisions: one line each. All of their objects exist. */
export const excludeTips = async (commonDir: string): Promise<string> =>
  (
    await gitOutput(commonDir, ['for-each-ref', '--format=^%(objectname)', 'refs/heads', 'refs/remotes', 'refs/tags'], {
      env: inGitDir(commonDir),
      maxBytes: maxRefsBytes,
    })
  ).toString()
