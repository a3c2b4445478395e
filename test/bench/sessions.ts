import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { note, type Figures } from './figures.ts'
import type { Options } from './options.ts'
import { ask, type Servers } from './rounds.ts'

const pollMs = 20
const patienceMs = 60_000
/** Without the sandbox, and in it with either network. */
const sides = {
  off: { mode: 'off' },
  full: { mode: 'inherit', network: 'full' },
  listed: { mode: 'inherit', network: 'listed' },
} as const

export interface Session {
  status: string
  statusReason: string | null
  startedAt: string | null
  endedAt: string | null
  sandbox: { kind: string } | null
}
/** Sends a request to the board as the signed-in account. */
export type AskBoard = <T>(method: string, path: string, body?: unknown) => Promise<T>

export const requestAs =
  ({ board, seeded }: Pick<Servers, 'board' | 'seeded'>): AskBoard =>
  async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const { status, body: text } = await ask(board.port, { method, path, body }, seeded.signInToken)
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
    return (JSON.parse(text) as { data: T }).data
  }

/** The session of a card once it has completed. */
export async function completed(askBoard: AskBoard, path: string, everyMs: number, maxMs: number): Promise<Session> {
  const giveUpAt = performance.now() + maxMs
  for (;;) {
    await delay(everyMs)
    const session = await askBoard<Session>('GET', path)
    if (session.status === 'completed') return session
    if (session.endedAt !== null || performance.now() > giveUpAt)
      throw new Error(`A session came to ${session.status} (${String(session.statusReason)}).`)
  }
}

/**
 * Runs terminal cards in separate worktrees, on each side in turn. Records `session/side` (ms from the request that creates the card
 * to the end of its session). Records nothing of the sandbox if the machine has none.
 */
export async function measureSessions(
  servers: Servers,
  folder: string,
  { sessionRuns }: Options,
  figures: Figures,
): Promise<void> {
  const askBoard = requestAs(servers)
  const path = makeRepository(join(folder, 'repository'))
  const projects = await Promise.all(
    Object.entries(sides).map(async ([side, sandbox]) => {
      const project = await makeProject(askBoard, `Sandbox ${side}`, path)
      await askBoard('PATCH', `/api/projects/${project.projectId}`, { sandbox })
      return { side, ...project }
    }),
  )
  // The first round warms up.
  for (let round = 0; round <= sessionRuns; round++)
    for (const { side, ...project } of round % 2 === 0 ? projects : projects.toReversed()) {
      const { ms, sandbox } = await runTerminalCard(askBoard, project)
      const isSandboxed = sandbox?.kind === 'bwrap'
      if (round > 0 && isSandboxed === (side !== 'off')) note(figures, `session/${side}`, ms)
    }
}

export interface SessionProject {
  projectId: string
  columnId: string
}

/** Creates a project of a repository. */
export async function makeProject(askBoard: AskBoard, name: string, path: string): Promise<SessionProject> {
  const { id } = await askBoard<{ id: string }>('POST', '/api/projects', { name, path })
  const columns = await askBoard<Array<{ id: string; columnType: string }>>('GET', `/api/projects/${id}/columns`)
  return { projectId: id, columnId: columns.find(({ columnType }) => columnType === 'active')!.id }
}

/** Runs a terminal card in a separate worktree. @returns its ID, the time since its create request, and its sandbox */
export async function runTerminalCard(
  askBoard: AskBoard,
  { projectId, columnId }: SessionProject,
  command = 'true',
): Promise<Pick<Session, 'sandbox'> & { id: string; ms: number }> {
  const beganAt = Date.now()
  const card = { projectId, columnId, title: 'Shell', kind: 'terminal', command }
  const { id } = await askBoard<{ id: string }>('POST', '/api/cards', card)
  const session = `/api/projects/${projectId}/cards/${id}/agent`
  const { endedAt, sandbox } = await completed(askBoard, session, pollMs, patienceMs)
  return { id, ms: Date.parse(endedAt!) - beganAt, sandbox }
}

/** Creates a Git repository with one commit. */
export function makeRepository(path: string): string {
  mkdirSync(path)
  const person = ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.org', '-c', 'commit.gpgsign=false']
  for (const args of [
    ['init', '-q', '-b', 'main'],
    [...person, 'commit', '-q', '--allow-empty', '-m', 'Begin'],
  ])
    execFileSync('git', ['-C', path, ...args])
  return path
}
