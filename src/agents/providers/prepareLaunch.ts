import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { accountFolders, baseEnvironment, boardVariables, pick } from '../../process/environment.ts'
import type { AgentLaunch } from '../link/agentLink.ts'
import type { AgentProvider } from './builtInProviders.ts'
import type { AgentCredential } from './credentialEnvironment.ts'

export interface LaunchRequest {
  /** null for a terminal card, whose prompt is a shell command. */
  provider: AgentProvider | null
  /** The card's credential. Not passed to an agent that does not take its provider. */
  credential: AgentCredential | null
  cwd: string
  dataDir: string
  /** The board's address and the agent's token. Without a token the agent has no tools of the board. */
  board: { url: string; token: string | null; projectId: number; cardId: number }
  /** The author of its commits. null: the agent itself. */
  author: { name: string; email: string } | null
  mode: 'work' | 'plan'
}

/**
 * Prepares an agent's folders and its environment. The environment holds only the variables of the server that are listed here.
 * With a credential the home and temporary folders are that credential's own; without one the agent uses the account's home, where
 * it may be signed in.
 */
export async function prepareLaunch(
  request: LaunchRequest,
  env: NodeJS.ProcessEnv = process.env,
): Promise<AgentLaunch> {
  const { provider, cwd, board, mode } = request
  const mapping = request.credential ? provider?.credentials[request.credential.provider] : undefined
  const credential = mapping ? request.credential : null
  const tools =
    board.token && provider?.protocol === 'acp'
      ? { url: `${board.url.replace(/\/+$/, '')}/api/mcp`, token: board.token }
      : null
  const folders = await makeFolders(request.dataDir, credential && String(credential.id))
  if (folders.home !== null) await addFiles(folders.home, provider?.homeFiles ?? {})
  const account = credential ? [] : [...accountFolders, ...(provider?.account ?? [])]
  return {
    protocol: provider?.protocol ?? 'terminal',
    argv: [...(provider?.command ?? []), ...(mapping?.args ?? []), ...(tools ? (provider?.toolArgs ?? []) : [])],
    cwd,
    env: {
      ...baseEnvironment(env),
      ...pick(env, [...account, ...(provider?.pass ?? [])]),
      ...provider?.env,
      HOME: folders.home ?? env.HOME ?? homedir(),
      TMPDIR: folders.tmp,
      TMP: folders.tmp,
      TEMP: folders.tmp,
      ...commitAuthor(request),
      ...boardVariables(board),
      ...(board.token && { BOARD_TOKEN: board.token }),
      ...(credential && mapping?.env(credential)),
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

/** Writes the missing files only. A file or folder in the way stays: the home is the agent's own. */
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

function commitAuthor({ author, provider }: LaunchRequest): Record<string, string> {
  if (!provider) return {}
  const { name, email } = author ?? { name: provider.name, email: `${provider.id}@board.invalid` }
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email }
}
