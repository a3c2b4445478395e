import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { coalesce } from '../async/coalesce.ts'
import { commitOf } from './cardWorktrees.ts'
import { git, GitFailed, nulSeparated } from './git.ts'
import { writeGitFolder } from './gitFolder.ts'
import { remoteGit, type RemoteReach } from './remoteGit.ts'
import type { Repository } from './repository.ts'
import { copyPlain } from './untrustedFiles.ts'

/** What a branch follows: the branch `ref` at `url`, which the repository knows as `tracking`. */
export interface Upstream {
  remote: string
  url: string
  ref: string
  tracking: string
}
/** The commit that the upstream is at, or why it could not be told. */
export type Fetched = { commit: string } | { reason: string }

const maxShallowBytes = 512 * 1024 * 1024
const maxReasonLength = 200
const fetchedRef = 'refs/board/fetched'

/** The upstream of a branch; undefined where it has none on another repository, or one that is not kept among the remote branches. */
export async function upstreamOf({ topLevel }: Repository, branch: string): Promise<Upstream | undefined> {
  const { stdout } = await git(topLevel, [
    'for-each-ref',
    '--format=%(refname)%00%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)%00',
    `refs/heads/${branch}`,
  ])
  const [name, tracking = '', remote = '', ref = ''] = stdout.toString().split('\0')
  if (name !== `refs/heads/${branch}` || !tracking.startsWith('refs/remotes/') || !ref.startsWith('refs/heads/'))
    return undefined
  const urls = await git(topLevel, ['config', '--null', '--get-all', `remote.${remote}.url`])
  const [url] = nulSeparated(urls.stdout)
  return url ? { remote, url, ref, tracking } : undefined
}

/**
 * Fetches an upstream and moves its remote-tracking ref, and nothing else in the repository. Calls at one time share a fetch. Of the
 * repository's configuration only the address is read: how it is reached, by which programs and with which credentials, is up to the
 * account's own. Nobody is asked anything. Does not hold the repository's lock.
 */
export function fetchUpstream(repository: Repository, upstream: Upstream, reach: RemoteReach): Promise<Fetched> {
  const key = [repository.commonDir, reach.timeoutMs, ...Object.values(upstream)].join('\0')
  const fetch = shared.get(key) ?? {
    calls: 0,
    run: coalesce(() => fetchOnce(repository, upstream, reach)),
  }
  shared.set(key, fetch)
  fetch.calls++
  return fetch.run().finally(() => {
    if (--fetch.calls === 0) shared.delete(key)
  })
}
const shared = new Map<string, { calls: number; run: () => Promise<Fetched> }>()

async function fetchOnce(repository: Repository, upstream: Upstream, reach: RemoteReach): Promise<Fetched> {
  const { topLevel } = repository
  const folder = await mkdtemp(join(tmpdir(), 'board-fetch-'))
  try {
    await prepareFolder(folder, repository, upstream)
    const { exitCode, stderr } = await remoteGit(topLevel, fetchArguments(upstream), {
      ...reach,
      env: {
        GIT_DIR: folder,
        GIT_OBJECT_DIRECTORY: join(repository.commonDir, 'objects'),
        GIT_SSH_COMMAND: await sshCommand(topLevel),
      },
    })
    if (exitCode !== 0) return { reason: reasonIn(stderr, upstream) }
    const commit = await commitOf(topLevel, (await readFile(join(folder, fetchedRef), 'utf8')).trim())
    if (commit === undefined) return { reason: 'the branch there has no commit' }
    const { exitCode: refused } = await git(topLevel, [
      'update-ref',
      '--no-deref',
      '-m',
      'fetch: board',
      upstream.tracking,
      commit,
    ])
    return refused === 0 ? { commit } : { reason: `${upstream.tracking} could not be moved` }
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error
    return { reason: error.reason === 'timeout' ? `no answer within ${reach.timeoutMs / 1000} s` : error.message }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const fetchArguments = ({ url, ref }: Upstream) => [
  'fetch',
  '--quiet',
  '--no-tags',
  '--no-prune',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--no-write-commit-graph',
  '--no-write-fetch-head',
  '--no-show-forced-updates',
  '--',
  url,
  `+${ref}:${fetchedRef}`,
]

/** A Git folder with no configuration of its own, in which the fetch knows what the repository has. */
async function prepareFolder(
  folder: string,
  { topLevel, commonDir, head }: Repository,
  { tracking }: Upstream,
): Promise<void> {
  const known = [head, await commitOf(topLevel, tracking)]
  await writeGitFolder(folder, head?.length === 64 ? 'sha256' : undefined, [])
  await writeFile(
    join(folder, 'packed-refs'),
    known.map((commit, index) => (commit === undefined ? '' : `${commit} refs/board/known-${index}\n`)).join(''),
  )
  await copyPlain(join(commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
}

/** The account's own SSH command. */
async function sshCommand(topLevel: string): Promise<string> {
  if (process.env.GIT_SSH_COMMAND) return process.env.GIT_SSH_COMMAND
  const { stdout } = await git(topLevel, ['config', '--null', '--show-scope', '--get-all', 'core.sshCommand'])
  const parts = nulSeparated(stdout)
  const own = parts.filter((_, index) => index % 2 === 1 && ['global', 'system'].includes(parts[index - 1]!))
  return own.at(-1) || 'ssh -o BatchMode=yes'
}

/** Git's reason in one line, without what the address may hold of secrets. */
function reasonIn(stderr: string, { url }: Upstream): string {
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
  const secrets = secretsOf(url)
  return secrets
    .reduce((text, secret) => text.replaceAll(secret, '…'), line)
    .replace(/([a-z][\w+.-]*:\/\/)[^\s/'"]*@/gi, '$1…@')
    .replace(/([a-z][\w+.-]*:\/\/[^\s?#'"]*)[?#][^\s'"]*/gi, '$1?…')
    .slice(0, maxReasonLength)
}

function secretsOf(url: string): string[] {
  if (!URL.canParse(url)) return []
  const { password, username, search } = new URL(url)
  const isToken = password === '' && /^https?:/.test(url)
  return [password, ...(isToken ? [username] : []), search].flatMap(each =>
    each.length < 4 ? [] : [each, decodeURIComponent(each)],
  )
}
