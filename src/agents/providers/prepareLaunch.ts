import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { accountFolders, baseEnvironment, boardVariables, pick } from '../../process/environment.ts'
import type { AgentCredential } from './credentialEnvironment.ts'
import type { AgentProvider } from './builtInProviders.ts'
import type { AgentLaunch } from '../link/agentLink.ts'

export interface Work {
  /** null: a terminal card, whose prompt is a shell command. */
  provider: AgentProvider | null
  /** What is chosen for the card; it reaches no agent that takes none of its kind. */
  credential: AgentCredential | null
  cwd: string
  dataDir: string
  /** Where and as whom it reaches the board. Without a token it has no tools of the board's. */
  board: { url: string; token: string | null; projectId: number; cardId: number }
  /** Who its commits are by. */
  author: { name: string; email: string } | null
  mode: 'work' | 'plan'
}

/**
 * Makes ready what an agent needs to start: its folders, and its environment, which holds nothing of the server's that is not
 * listed here. With a credential its home and temporary folder are that credential's own; without one it finds the account's
 * home, where it may be signed in.
 */
export async function prepareLaunch(work: Work, env: NodeJS.ProcessEnv = process.env): Promise<AgentLaunch> {
  const { provider, cwd, board, mode } = work
  const way = work.credential ? provider?.credentials[work.credential.provider] : undefined
  const credential = way ? work.credential : null
  const tools =
    board.token && provider?.protocol === 'acp'
      ? { url: `${board.url.replace(/\/+$/, '')}/api/mcp`, token: board.token }
      : null
  const folders = await makeFolders(work.dataDir, credential && String(credential.id))
  if (folders.home !== null) await addFiles(folders.home, provider?.homeFiles ?? {})
  const account = credential ? [] : [...accountFolders, ...(provider?.account ?? [])]
  return {
    protocol: provider?.protocol ?? 'terminal',
    argv: [...(provider?.command ?? []), ...(way?.args ?? []), ...(tools ? (provider?.toolArgs ?? []) : [])],
    cwd,
    env: {
      ...baseEnvironment(env),
      ...pick(env, [...account, ...(provider?.pass ?? [])]),
      ...provider?.env,
      HOME: folders.home ?? env.HOME ?? homedir(),
      TMPDIR: folders.tmp,
      TMP: folders.tmp,
      TEMP: folders.tmp,
      ...authorship(work),
      ...boardVariables(board),
      ...(board.token && { BOARD_TOKEN: board.token }),
      ...(credential && way?.env(credential)),
    },
    secrets: [credential?.token ?? [], board.token ?? []].flat(),
    authMethods: provider?.authMethods ?? [],
    usageIsCumulative: provider?.usageIsCumulative ?? false,
    tools,
    modes: provider?.modes[mode] ?? [],
    model: provider?.model ?? null,
  }
}

async function makeFolders(dataDir: string, credential: string | null): Promise<{ home: string | null; tmp: string }> {
  const root = join(dataDir, 'agents', credential ?? 'none')
  const [home, tmp] = [join(root, 'home'), join(root, 'tmp')]
  for (const folder of [join(dataDir, 'agents'), root, ...(credential ? [home] : []), tmp]) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  }
  return { home: credential ? home : null, tmp }
}

/** What an agent keeps in its home is its own: only what is missing is written, and what stands in the way is left there. */
async function addFiles(home: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [place, content] of Object.entries(files)) {
    const file = join(home, place)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      .then(() => writeFile(file, content, { flag: 'wx', mode: 0o600 }))
      .catch((error: NodeJS.ErrnoException) => {
        if (!['EEXIST', 'ENOTDIR'].includes(error.code ?? '')) throw error
      })
  }
}

function authorship({ author, provider }: Work): Record<string, string> {
  if (!provider) return {}
  const { name, email } = author ?? { name: provider.name, email: `${provider.id}@board.invalid` }
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email }
}
