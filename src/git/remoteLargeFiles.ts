import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { isFiltered, readAccountSettings } from './accountSettings.ts'
import { git, gitOutput, inGitDir } from './git.ts'
import { writeGitFolder } from './gitFolder.ts'
import type { GitRun } from './filters.ts'
import { largeFilesOf, listLargeFiles, missingIn } from './largeFiles.ts'
import { findLocalFolder, reasonIn, reasonOfFailure, sshCommand } from './remoteFolder.ts'
import { remoteGit, type RemoteReach } from './remoteGit.ts'
import { findRemote, type Remote } from './remotes.ts'
import type { Repository } from './workingTrees.ts'

/**
 * Fetches the large files of a commit that the repository lacks, if the account uses Git LFS. The address is that of the remote, unless
 * the repository's configuration has another one. The address in `.lfsconfig` does not count: an agent could have changed that file.
 * @throws Problem CONFLICT if files are missing afterwards
 */
export async function fetchLargeFiles(repository: Repository, commit: string, reach: RemoteReach): Promise<void> {
  if (!(await isFiltered(repository, commit, 'lfs')) || (await leavesPointers(repository))) return
  const store = largeFilesOf(repository.commonDir)
  const wanted = await listLargeFiles(runIn(repository), [`${commit}^{tree}`])
  const missing = await missingIn(store, wanted)
  if (missing.length === 0) return
  const remote = await findRemote(repository).catch((error: Problem) => error)
  const reason =
    remote instanceof Problem
      ? remote.message
      : await transfer(repository, remote, reach, {
          local: folder => reach.local.fetchLargeFiles(repository, folder, missing),
          args: url => ['fetch', url, commit],
        })
  const { length } = await missingIn(store, missing)
  if (length === 0) return
  const files = length === 1 ? 'A large file of Git LFS is' : `${length} large files of Git LFS are`
  const why = reason ?? 'the remote does not have them'
  throw new Problem(
    'CONFLICT',
    `${files} missing and could not be fetched: ${why} Run git lfs fetch in the project's folder. If the files are on another server, first run git config lfs.url URL.`,
  )
}

/**
 * Pushes the large files of a commit's branch that the remote might lack, if the account uses Git LFS.
 * @returns the reason of a failure; null on success
 */
export async function pushLargeFiles(
  repository: Repository,
  remote: Remote,
  commit: string,
  reach: RemoteReach,
): Promise<string | null> {
  if (!(await isFiltered(repository, commit, 'lfs'))) return null
  const run = runIn(repository)
  const seen = await run(['for-each-ref', '--format=^%(objectname)', `refs/remotes/${remote.name}/`])
  const listed = await listLargeFiles(run, [commit, ...seen.toString().split('\n').filter(Boolean)])
  const missing = await missingIn(largeFilesOf(repository.commonDir), listed)
  const ids = listed.filter(id => !missing.includes(id))
  if (ids.length === 0) return null
  return transfer(repository, remote, reach, {
    local: folder => reach.local.pushLargeFiles(repository, folder, ids),
    args: url => ['push', '--object-id', url, ...ids],
  })
}

/**
 * Transfers large files with Git LFS, in a Git folder without configuration. A folder of this machine is left to `local`.
 * @returns the reason of a failure; null on success
 */
async function transfer(
  repository: Repository,
  remote: Remote,
  reach: RemoteReach,
  { local, args }: { local: (folder: string) => Promise<void>; args: (url: string) => readonly string[] },
): Promise<string | null> {
  const { topLevel, commonDir, head } = repository
  const own = await ownAddress(repository, remote.name)
  const url = own ?? remote.url
  const gitDir = await mkdtemp(join(tmpdir(), 'board-remote-'))
  try {
    await writeGitFolder(gitDir, head?.length === 64 ? 'sha256' : undefined, [])
    const folder = await findLocalFolder(gitDir, topLevel, url)
    if (folder !== undefined) {
      await local(folder)
      return null
    }
    const env = {
      GIT_DIR: gitDir,
      GIT_OBJECT_DIRECTORY: join(commonDir, 'objects'),
      GIT_SSH_COMMAND: await sshCommand(commonDir),
    }
    const settings = [`lfs.storage=${join(commonDir, 'lfs')}`, ...(own === undefined ? [] : [`lfs.url=${own}`])]
    const options = settings.flatMap(setting => ['-c', setting])
    // In the folder of the project, Git LFS would read `.lfsconfig`.
    const { exitCode, stderr } = await remoteGit(gitDir, [...options, 'lfs', ...args(url)], { ...reach, env })
    return exitCode === 0 ? null : reasonIn(stderr, { url }, reach)
  } catch (error) {
    return reasonOfFailure(error, reach)
  } finally {
    await rm(gitDir, { recursive: true, force: true })
  }
}

/** The address of the repository's large files in its configuration, which no agent can change. */
async function ownAddress({ commonDir }: Repository, remote: string): Promise<string | undefined> {
  for (const name of ['lfs.url', `remote.${remote}.lfsurl`]) {
    const { stdout } = await git(commonDir, ['config', '--get', name], { env: inGitDir(commonDir) })
    const address = stdout.toString().trim()
    if (address !== '') return address
  }
}

/** Whether the account checks out pointers in place of large files, as after `git lfs install --skip-smudge`. */
async function leavesPointers(repository: Repository): Promise<boolean> {
  const { settings } = await readAccountSettings(repository)
  return settings.some(([name, value]) => /^filter\.lfs\.(smudge|process)$/.test(name) && value.includes('--skip'))
}

const runIn =
  ({ commonDir }: Repository): GitRun =>
  (args, options) =>
    gitOutput(commonDir, args, { ...options, env: { ...inGitDir(commonDir), GIT_NO_REPLACE_OBJECTS: '1' } })
