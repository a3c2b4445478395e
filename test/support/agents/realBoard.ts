import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Turn } from '../../agents-real/models/script.ts'
import { startModelServer, type ModelServer } from '../../agents-real/models/modelServer.ts'
import { boardProcess, clearAway, type BoardProcess } from '../processes/boardProcess.ts'
import { processesWith, readProcessFile } from '../processes/processFiles.ts'
import { eventually } from '../waiting/eventually.ts'
import { makeRepository, type Card } from './agentBoard.ts'
import { traceNetwork } from './networkTrace.ts'
import { linkAgent, writeAgentScript, type RealAgent } from './realAgents.ts'

/** The built program as a server with one real agent on its PATH, whose account is configured for a model server of the tests. */
export interface RealBoard {
  board: BoardProcess
  model: ModelServer
  agent: RealAgent
  /** The key of the account. */
  key: string
  dataDir: string
  /** The project's repository. */
  path: string
  projectId: string
  columns: { backlog: string; active: string; done: string }
  card(cardId: string): Promise<Card>
  untilStatus(cardId: string, status: Card['status']): Promise<Card>
  /** Creates a card in the backlog. */
  create(title: string, input?: Partial<Parameters<BoardProcess['client']['cards']['create']>[0]>): Promise<Card>
  start(cardId: string): Promise<unknown>
  worktree(cardId: string): string
  /** Plays the turns to the agent of a new card, and approves all its questions, until it ends. */
  run(title: string, turns: (worktree: string) => Turn[]): Promise<Ended>
  /** Approves all questions of a card's agent, until it ends. */
  approveAll(cardId: string): Promise<Ended>
  /** Waits until all processes of an agent have ended. */
  untilNoneRuns(): Promise<void>
  /** Names and addresses beyond this machine that the agent, or one of its processes, used. */
  foreignConnections(): string[]
  close(): Promise<void>
}

/** A card whose agent has ended, and its questions. */
export interface Ended {
  card: Card
  questions: string[]
}

/** The timeout of a turn with a program of 200 MB that starts on a busy machine. */
const turnMs = 240_000

/** The board keeps the process of a worktree for a minute after its last operation. */
const isOfWorktree = (pid: number): boolean => readProcessFile(pid, 'cmdline').includes('/run/board/worktree.cjs')

/** @param isSandboxed runs the agent in the sandbox, where its connections cannot be traced */
export async function startRealBoard(
  agent: RealAgent,
  env: Record<string, string> = {},
  isSandboxed = process.env.BOARD_TEST_SANDBOX === 'on',
): Promise<RealBoard> {
  const root = mkdtempSync(join(tmpdir(), `board-${agent.id}-`))
  const [dataDir, home] = [join(root, 'data'), join(root, 'home')]
  mkdirSync(home)
  const model = await startModelServer()
  const key = `sk-of-the-account-of-${agent.id}-0123456789`
  const trace = traceNetwork(join(root, 'trace'))
  const board = boardProcess(dataDir, {
    PATH: isSandboxed ? linkAgent(join(root, 'bin'), agent) : writeAgentScript(join(root, 'bin'), agent, trace.prefix),
    BOARD_SANDBOX: isSandboxed ? 'require' : 'off',
    HOME: home,
    ...agent.account(model.url, key),
    ...env,
  })
  await board.start()
  const path = makeRepository(join(root, 'repository'))
  const { id: projectId } = await board.client.projects.create({ name: 'Real', path })
  await board.client.projects.update({ id: projectId, onSilence: 'end' })
  const [backlog, active, done] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [
    string,
    string,
    string,
  ]
  const real: RealBoard = {
    board,
    model,
    agent,
    key,
    dataDir,
    path,
    projectId,
    columns: { backlog, active, done },
    card: cardId => board.client.cards.get({ projectId, cardId }),
    untilStatus: (cardId, status) =>
      eventually(
        `the status ${status} of card ${cardId}`,
        async () => {
          const found = await real.card(cardId)
          if (found.status === 'failed' && status !== 'failed')
            throw new Error(`The agent failed: ${JSON.stringify(found.lastAgentAction)}`)
          return found.status === status ? found : undefined
        },
        turnMs,
      ),
    create: (title, input = {}) =>
      board.client.cards.create({
        projectId,
        title,
        prompt: 'Do the work.',
        columnId: backlog,
        agent: agent.id,
        ...input,
      }),
    start: cardId => board.client.cards.move({ projectId, cardId, columnId: active }),
    worktree: cardId => join(dataDir, 'worktrees', projectId, cardId),
    async run(title, turns) {
      const { id } = await real.create(title)
      model.play(...turns(real.worktree(id)))
      await real.start(id)
      return real.approveAll(id)
    },
    async approveAll(cardId) {
      const questions: string[] = []
      for (;;) {
        const card = await eventually(
          'a question, or the end',
          async () => {
            const now = await real.card(cardId)
            return now.hasActiveAgent && now.status !== 'waiting' ? undefined : now
          },
          turnMs,
        )
        if (card.status !== 'waiting' || !card.hasActiveAgent) return { card, questions }
        questions.push(card.lastAgentAction?.detail ?? '')
        await board.client.agents.approvePlan({ projectId, cardId, approved: true })
      }
    },
    untilNoneRuns: async () => {
      const isOver = () => processesWith(dataDir).every(pid => pid === board.pid || isOfWorktree(pid))
      await eventually('the end of every process', isOver, 20_000)
    },
    foreignConnections: trace.foreign,
    close: async () => {
      await clearAway(board, root)
      await model.close()
    },
  }
  return real
}
