import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '../../../src/client/index.ts'
import type { ServerConfig } from '../../../src/config/server.ts'
import { startBoard, withheldAgents, type TestBoard } from '../servers/testBoard.ts'
import { eventually } from '../waiting/eventually.ts'
import { follow, type LiveSocket } from '../receivers/liveSocket.ts'
import { processesWith } from '../processes/processFiles.ts'
import { fixture } from './agent.ts'

export type Card = Awaited<ReturnType<Client['cards']['get']>>

/** The configuration of a fixture agent; its id is its name by default. */
export interface FixtureAgent {
  name?: string
  fixture?: string
  env?: Record<string, string>
  protocol?: 'acp' | 'command'
  command?: readonly string[]
  credentials?: Record<string, { key: string; model?: string }>
  /** Folders that a sandbox makes available, in addition to its own. */
  state?: readonly string[]
}

/** A server whose agents are fixtures, and a project in a Git repository with columns Backlog, In Progress, Done. */
export interface AgentBoard extends TestBoard {
  path: string
  projectId: string
  columns: { backlog: string; active: string; done: string }
  socket: LiveSocket
  /** Creates a card that starts the agent: in the active column, unless the input sets another one. */
  start(agent: string, input?: Partial<Parameters<Client['cards']['create']>[0]>): Promise<Card>
  card(cardId: string): Promise<Card>
  /** The card once the condition is met. */
  until(cardId: string, what: string, fits: (card: Card) => boolean, timeoutMs?: number): Promise<Card>
  untilStatus(cardId: string, status: Card['status'], timeoutMs?: number): Promise<Card>
  messages(cardId: string): Promise<Array<{ role: string; content: string }>>
  /** The pids of the processes of these agents, including their tools. */
  processes(): number[]
  /** Waits until no process of an agent is left. */
  untilNoneRuns(timeoutMs?: number): Promise<void>
}

/** Like `startAgentBoard`, with a project in a plain folder: a session there starts no Git process, one in a worktree some 18 processes. */
export const startFolderBoard = (
  agents: Record<string, FixtureAgent>,
  config?: Partial<ServerConfig>,
): Promise<AgentBoard> => startAgentBoard(agents, config, makeFolder)

export async function startAgentBoard(
  agents: Record<string, FixtureAgent>,
  config: Partial<ServerConfig> = {},
  makeProject: (path: string) => string = makeRepository,
): Promise<AgentBoard> {
  const root = mkdtempSync(join(tmpdir(), 'board-agents-'))
  const mark = randomUUID()
  const dataDir = config.dataDir ?? join(root, 'data')
  configure(dataDir, agents, mark)
  const board = await startBoard({ ...config, dataDir })
  const path = makeProject(join(root, 'repository'))
  const { id: projectId } = await board.client.projects.create({ name: 'Agents', path })
  const columns = await board.client.columns.list({ projectId })
  const [backlog, active, done] = columns.map(({ id }) => id) as [string, string, string]
  const socket = await follow(board.url, board.token, projectId)
  const card = (cardId: string) => board.client.cards.get({ projectId, cardId })
  const until: AgentBoard['until'] = (cardId, what, fits, timeoutMs = 20_000) =>
    eventually(
      `${what} of card ${cardId}`,
      async () => {
        const found = await card(cardId)
        return fits(found) ? found : undefined
      },
      timeoutMs,
    )
  const processes = () => processesWith(mark)
  return {
    ...board,
    path,
    projectId,
    columns: { backlog, active, done },
    socket,
    card,
    until,
    processes,
    start: (agent, input = {}) =>
      board.client.cards.create({ projectId, title: 'Work', prompt: 'Do it.', columnId: active, agent, ...input }),
    untilStatus: (cardId, status, timeoutMs) =>
      until(cardId, `the status ${status}`, found => found.status === status, timeoutMs),
    messages: cardId => board.client.agents.messages({ projectId, cardId }),
    untilNoneRuns: async (timeoutMs = 10_000) => {
      await eventually('the end of every process', () => processes().length === 0, timeoutMs)
    },
    close: async () => {
      socket.close()
      await board.close()
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** The folder for state of fixture agents that outlives their processes, to which a sandbox gives access. */
export const fixtureState = (dataDir: string): string => `${dataDir}-state`

/** Writes the configuration of fixture agents, whose processes have the mark in their environment. */
export function configure(dataDir: string, agents: Record<string, FixtureAgent>, mark: string): void {
  const state = fixtureState(dataDir)
  const folders = Object.keys(agents).length > 0 ? [dataDir, state] : [dataDir]
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const configured = Object.entries(agents).map(
    ([id, { name, fixture: program, env, protocol, command, credentials, state: shared = [] }]) => [
      id,
      {
        command: command ?? [process.execPath, fixture(program!)],
        env: { ...env, FIXTURE_MARK: mark, FIXTURE_STATE: state },
        state: [state, ...shared],
        ...(name && { name }),
        ...(protocol && { protocol }),
        ...(credentials && { credentials }),
      },
    ],
  )
  writeFileSync(
    join(dataDir, 'config.json'),
    JSON.stringify({ agents: { ...withheldAgents, ...Object.fromEntries(configured) } }),
  )
}

const makeFolder = (path: string): string => {
  mkdirSync(path, { recursive: true })
  return path
}

/** A Git repository with one commit. */
export function makeRepository(path: string): string {
  mkdirSync(path, { recursive: true })
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-C', path, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false', ...args],
      { stdio: 'ignore' },
    )
  git('init', '-b', 'main')
  writeFileSync(join(path, 'README'), 'A repository.\n')
  git('add', 'README')
  git('commit', '-m', 'Begin')
  return path
}
