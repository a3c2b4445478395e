import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { git, GitFailed, inGitDir } from './git.ts'
import { nulSeparated } from './fileNames.ts'
import type { GitCredential } from './gitCredential.ts'
import { writeGitFolder } from './gitFolder.ts'
import { kindOf } from './kindOf.ts'
import { remoteGit, type RemoteReach, type RemoteResult } from './remoteGit.ts'
import type { Repository } from './workingTrees.ts'
import { copyPlain } from './untrustedFiles.ts'

const maxShallowBytes = 512 * 1024 * 1024
const maxReasonLength = 200

/** A run of Git against another repository. */
export interface RemoteRun {
  url: string
  /** The arguments for an address, which differs from `url` for a folder of this machine. */
  args(url: string): readonly string[]
  /** Commits of the repository that the other one might have. */
  known: ReadonlyArray<string | undefined>
  /** The ref that a fetch sets; null for a push. */
  fetchedRef: string | null
}

/**
 * Runs Git against another repository in a Git folder without configuration, which has the repository's objects. The account
 * alone determines the programs and the credentials for another machine.
 * @returns `fetched`: the fetched commit, whose objects are in the repository
 */
export async function runRemote(
  repository: Repository,
  { url, args, known: some, fetchedRef }: RemoteRun,
  reach: RemoteReach,
): Promise<RemoteResult & { fetched: string | null }> {
  const { topLevel, commonDir, head } = repository
  const known = some.filter(commit => commit !== undefined)
  const format = head?.length === 64 ? ('sha256' as const) : undefined
  const folder = await mkdtemp(join(tmpdir(), 'board-remote-'))
  try {
    await writeGitFolder(folder, format, [])
    const local = await findLocalFolder(folder, topLevel, url)
    if (local !== undefined) {
      const run = { args: args(local), known, format, fetchedRef, timeoutMs: reach.timeoutMs }
      return await reach.local.run(repository, local, run)
    }
    const refs = known.map((commit, index) => `${commit} refs/board/known-${index}\n`)
    await writeFile(join(folder, 'packed-refs'), refs.join(''))
    await copyPlain(join(commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
    const env = {
      GIT_DIR: folder,
      GIT_OBJECT_DIRECTORY: join(commonDir, 'objects'),
      GIT_SSH_COMMAND: await sshCommand(commonDir),
    }
    const result = await remoteGit(topLevel, args(url), { ...reach, env })
    const isFetched = result.exitCode === 0 && fetchedRef !== null
    return { ...result, fetched: isFetched ? (await readFile(join(folder, fetchedRef), 'utf8')).trim() : null }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Returns the folder of this machine that an address names, as Git understands it with the account's configuration. Returns
 * undefined for another machine.
 * @param gitDir a Git folder without a configuration
 * @throws GitFailed if the folder is a link or is inside one: an agent could have put the link there
 */
export async function findLocalFolder(gitDir: string, topLevel: string, url: string): Promise<string | undefined> {
  const { stdout } = await git(topLevel, ['ls-remote', '--get-url', '--', url], { env: { GIT_DIR: gitDir } })
  const address = stdout.toString().trimEnd() || url
  const isPath = !address.includes('://') && !/^[^/]*:/.test(address)
  if (!isPath && !address.startsWith('file://')) return undefined
  const path = resolve(topLevel, isPath ? address : pathOf(address))
  const folder = (await kindOf(path)) === 'nothing' ? `${path}.git` : path
  const real = await realpath(folder).catch(() => folder)
  if (real !== folder) throw new GitFailed('failed', `${folder} is a link, or is behind one. Name the folder itself.`)
  return folder
}

function pathOf(fileUrl: string): string {
  try {
    return decodeURIComponent(new URL(fileUrl).pathname)
  } catch (error) {
    throw new GitFailed('failed', 'the address is not a valid file URL', error)
  }
}

/** Updates the remote-tracking ref of another machine's branch. @returns whether that worked */
export const moveTracking = async (
  { commonDir }: Repository,
  tracking: string,
  commit: string,
  message: string,
): Promise<boolean> =>
  (
    await git(commonDir, ['update-ref', '--no-deref', '-m', message, tracking, commit], {
      env: inGitDir(commonDir),
    })
  ).exitCode === 0

/** Why a Git process failed. @throws errors that are not Git's */
export function reasonOfFailure(error: unknown, { timeoutMs }: RemoteReach): string {
  if (!(error instanceof GitFailed)) throw error
  return error.reason === 'timeout' ? `no answer within ${timeoutMs / 1000} s` : error.message
}

/** The account's own SSH command. */
export async function sshCommand(commonDir: string): Promise<string> {
  if (process.env.GIT_SSH_COMMAND) return process.env.GIT_SSH_COMMAND
  const { stdout } = await git(commonDir, ['config', '--null', '--show-scope', '--get-all', 'core.sshCommand'], {
    env: inGitDir(commonDir),
  })
  const parts = nulSeparated(stdout)
  const own = parts.filter((_, index) => index % 2 === 1 && ['global', 'system'].includes(parts[index - 1]!))
  return own.at(-1) || 'ssh -o BatchMode=yes'
}

/** Git's reason in one line, without secrets of the address and without the credential, which the other machine could repeat. */
export function reasonIn(
  stderr: string,
  { url }: { url: string },
  { credential }: Pick<RemoteReach, 'credential'>,
): string {
  const lines = stderr
    .replace(/[^\P{C}\n]/gu, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !/^(warning|hint):/i.test(line))
  const startsWith = (word: string) => lines.findIndex(line => line.startsWith(`${word}: `))
  const fatal = startsWith('fatal') === -1 ? startsWith('error') : startsWith('fatal')
  // SSH prints the reason before Git prints that the connection failed.
  const at = /Could not read from remote repository/.test(lines[fatal] ?? '') && fatal > 0 ? fatal - 1 : fatal
  const line = (lines[at] ?? lines[0] ?? 'Git reported no reason').replace(/^(fatal|error): /, '')
  return [...secretsOf(url), ...formsOf(credential)]
    .reduce((text, secret) => text.replaceAll(secret, '…'), line)
    .replace(/([a-z][\w+.-]*:\/\/)[^\s/'"]*@/gi, '$1…@')
    .replace(/([a-z][\w+.-]*:\/\/[^\s?#'"]*)[?#][^\s'"]*/gi, '$1?…')
    .slice(0, maxReasonLength)
}

/** The forms of a credential that are sent, and that can be repeated in a response. */
function formsOf(credential: GitCredential | undefined): string[] {
  if (!credential) return []
  const { username, password } = credential
  const sent = Buffer.from(`${username}:${password}`).toString('base64')
  return [sent, sent.replace(/=+$/, ''), password, encodeURIComponent(password)]
}

function secretsOf(url: string): string[] {
  if (!URL.canParse(url)) return []
  const { password, username, search } = new URL(url)
  const isToken = password === '' && /^https?:/.test(url)
  return [password, ...(isToken ? [username] : []), search].flatMap(each =>
    each.length < 4 ? [] : [each, decodeURIComponent(each)],
  )
}
