import { Problem } from '../contract/errors.ts'
import { git, inGitDir } from './git.ts'
import { nulSeparated } from './fileNames.ts'
import type { Repository } from './workingTrees.ts'

/** Another repository by its remote name, and its push address. */
export interface Remote {
  name: string
  url: string
}

/**
 * The repository to which work is pushed: the remote with this name, or otherwise the one that the checked-out branch follows,
 * origin, or the only one.
 * @throws Problem CONFLICT if there is none, or several
 */
export async function findRemote({ commonDir, branch }: Repository, name: string | null = null): Promise<Remote> {
  const remotes = await readRemotes(commonDir)
  if (name !== null) {
    const named = remotes.find(remote => remote.name === name)
    if (named) return named
    throw new Problem('CONFLICT', `The project's repository has no remote ${name}, which its forge settings name.`)
  }
  const followed =
    branch === undefined
      ? undefined
      : await git(commonDir, ['config', `branch.${branch}.remote`], { env: inGitDir(commonDir) })
  const wanted = [followed?.stdout.toString().trim(), 'origin', remotes.length === 1 ? remotes[0]!.name : undefined]
  for (const name of wanted) {
    const remote = remotes.find(each => each.name === name)
    if (remote) return remote
  }
  throw new Problem(
    'CONFLICT',
    remotes.length === 0
      ? "The project's repository has no remote to push to. Add one with git remote add origin URL."
      : `The project's repository has the remotes ${remotes.map(({ name }) => name).join(', ')}, and none of them is origin.`,
  )
}

/** Each entry is "remote.NAME.url LF value NUL". A name can contain dots. */
async function readRemotes(commonDir: string): Promise<Remote[]> {
  const { stdout } = await git(commonDir, ['config', '--null', '--get-regexp', '^remote\\..*\\.(url|pushurl)$'], {
    env: inGitDir(commonDir),
  })
  const urls = new Map<string, string>()
  for (const entry of nulSeparated(stdout)) {
    const key = entry.slice(0, entry.indexOf('\n'))
    const name = key.slice('remote.'.length, key.lastIndexOf('.'))
    if (key.endsWith('.pushurl') || !urls.has(name)) urls.set(name, entry.slice(entry.indexOf('\n') + 1))
  }
  return [...urls].map(([name, url]) => ({ name, url }))
}
