import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git, GitFailed, nulSeparated } from './git.ts'
import type { GitCredential } from './gitCredential.ts'
import { writeGitFolder } from './gitFolder.ts'
import { remoteGit, type RemoteReach, type RemoteResult } from './remoteGit.ts'
import type { Repository } from './workingTrees.ts'
import { copyPlain } from './untrustedFiles.ts'

const maxShallowBytes = 512 * 1024 * 1024
const maxReasonLength = 200

/**
 * Runs Git against another machine in a Git folder with no configuration of its own, which has the repository's objects and knows these
 * commits of it: how the other machine is reached, by which programs and with which credentials, is up to the account alone.
 */
export async function inRemoteFolder<T>(
  { topLevel, commonDir, head }: Repository,
  known: ReadonlyArray<string | undefined>,
  reach: RemoteReach,
  use: (run: (args: readonly string[]) => Promise<RemoteResult>, folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'board-remote-'))
  try {
    await writeGitFolder(folder, head?.length === 64 ? 'sha256' : undefined, [])
    await writeFile(
      join(folder, 'packed-refs'),
      known.map((commit, index) => (commit === undefined ? '' : `${commit} refs/board/known-${index}\n`)).join(''),
    )
    await copyPlain(join(commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
    const env = {
      GIT_DIR: folder,
      GIT_OBJECT_DIRECTORY: join(commonDir, 'objects'),
      GIT_SSH_COMMAND: await sshCommand(topLevel),
    }
    return await use(args => remoteGit(topLevel, args, { ...reach, env }), folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Notes where a branch of another machine is now, in the repository's own remote branches. @returns whether that worked */
export const moveTracking = async (
  { topLevel }: Repository,
  tracking: string,
  commit: string,
  message: string,
): Promise<boolean> =>
  (await git(topLevel, ['update-ref', '--no-deref', '-m', message, tracking, commit])).exitCode === 0

/** Why a run of Git did not come to an end. @throws what was none of Git's */
export function reasonOfFailure(error: unknown, { timeoutMs }: RemoteReach): string {
  if (!(error instanceof GitFailed)) throw error
  return error.reason === 'timeout' ? `no answer within ${timeoutMs / 1000} s` : error.message
}

/** The account's own SSH command. */
async function sshCommand(topLevel: string): Promise<string> {
  if (process.env.GIT_SSH_COMMAND) return process.env.GIT_SSH_COMMAND
  const { stdout } = await git(topLevel, ['config', '--null', '--show-scope', '--get-all', 'core.sshCommand'])
  const parts = nulSeparated(stdout)
  const own = parts.filter((_, index) => index % 2 === 1 && ['global', 'system'].includes(parts[index - 1]!))
  return own.at(-1) || 'ssh -o BatchMode=yes'
}

/** Git's reason in one line, without what the address may hold of secrets, and without the credential: the other machine may say it. */
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
  // SSH says why before Git says that it did not work.
  const at = /Could not read from remote repository/.test(lines[fatal] ?? '') && fatal > 0 ? fatal - 1 : fatal
  const line = (lines[at] ?? lines[0] ?? 'Git did not say why').replace(/^(fatal|error): /, '')
  return [...secretsOf(url), ...formsOf(credential)]
    .reduce((text, secret) => text.replaceAll(secret, '…'), line)
    .replace(/([a-z][\w+.-]*:\/\/)[^\s/'"]*@/gi, '$1…@')
    .replace(/([a-z][\w+.-]*:\/\/[^\s?#'"]*)[?#][^\s'"]*/gi, '$1?…')
    .slice(0, maxReasonLength)
}

/** A credential as it is sent, and as it may come back. */
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
