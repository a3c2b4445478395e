import { randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../src/client/index.ts'
import type { ServerConfig } from '../../src/config/server.ts'
import { insertMonitor, type NewMonitor } from '../../src/store/automation/monitors.ts'
import type { TestCard } from '../support/agents/agentRows.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/processFiles.ts'

const lookEveryMs = 100

export type Monitor = Awaited<ReturnType<Client['monitors']['create']>>
/** A card in the active column without a running agent, and an agent token of it. */
export interface ActiveCard extends TestCard {
  ref: TestCard
  token: string
}

/** A server with a project that is not a Git repository. */
export interface MonitorBoard extends TestBoard {
  path: string
  projectId: string
  columns: { backlog: string; active: string; done: string }
  newCard(projectId?: string): Promise<ActiveCard>
  newProject(): Promise<{ projectId: string; path: string; activeColumnId: string }>
  /** Creates a monitor over HTTP, by default once a minute. */
  create(card: ActiveCard, command: string, fields?: object): Promise<Monitor>
  /** Inserts a monitor directly into the database, with any short interval. */
  insert(card: TestCard, command: string, intervalSecs: number, fields?: Partial<NewMonitor>): Promise<string>
  monitor(id: string): Promise<Monitor>
  /** The monitor once the condition is met. */
  until(id: string, what: string, fits: (monitor: Monitor) => boolean, timeoutMs?: number): Promise<Monitor>
}

export async function startMonitorBoard(config: Partial<ServerConfig> = {}): Promise<MonitorBoard> {
  const board = await startBoard(config)
  const newProject = async () => {
    const path = realpathSync(board.folder(`project-${randomUUID()}`))
    const { id } = await board.client.projects.create({ name: 'Monitored', path })
    const columns = await board.client.columns.list({ projectId: id })
    return { projectId: id, path, activeColumnId: columns[1]!.id }
  }
  const { projectId, path } = await newProject()
  const [backlog, active, done] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [
    string,
    string,
    string,
  ]
  const monitor = async (id: string) => {
    const { cardId } = (await board.server.app.db.get<{ cardId: number }>(
      'SELECT card_id AS cardId FROM monitors WHERE id = ?',
      [Number(id)],
    ))!
    const card = (await board.server.app.db.get<{ projectId: number }>(
      'SELECT project_id AS projectId FROM cards WHERE id = ?',
      [cardId],
    ))!
    return (await board.client.monitors.listProject({ projectId: String(card.projectId) })).find(
      each => each.id === id,
    )!
  }
  return {
    ...board,
    path,
    projectId,
    columns: { backlog, active, done },
    newProject,
    monitor,
    newCard: async (of = projectId) => {
      const columnId = of === projectId ? active : (await board.client.columns.list({ projectId: of }))[1]!.id
      const { id: cardId } = await board.client.cards.create({
        projectId: of,
        title: 'Active',
        columnId,
        deferred: true,
      })
      const ref = { projectId: of, cardId }
      return { ...ref, ref, token: (await board.client.agents.token(ref)).token }
    },
    create: ({ ref, token }, command, fields = {}) =>
      board.as(token).monitors.create({ ...ref, command, intervalSecs: 60, allowUnsandboxed: true, ...fields }),
    insert: async (card, command, intervalSecs, fields = {}) => {
      const id = await board.server.app.db.transaction(tx =>
        insertMonitor(tx, {
          projectId: Number(card.projectId),
          cardId: Number(card.cardId),
          command,
          intervalSecs,
          description: null,
          cwd: path,
          byAgent: false,
          ...fields,
        }),
      )
      await board.server.app.monitors.reconcile()
      return String(id)
    },
    until: (id, what, fits, timeoutMs = 10_000) =>
      eventually(
        `${what} of monitor ${id}`,
        async () => {
          const found = await monitor(id)
          return fits(found) ? found : undefined
        },
        timeoutMs,
      ),
  }
}

/** Waits until at least `least` processes have the mark in their command line or environment. Sleeps in between, because the server uses the same event loop. */
export const untilThere = (mark: string, minCount: number): Promise<boolean> =>
  eventually(`the processes of ${mark}`, () => looked(processesWith(mark).length >= minCount))
/** Waits until no process has the mark. */
export const untilGone = (mark: string, timeoutMs = 5000): Promise<boolean> =>
  eventually(`the end of every process of ${mark}`, () => looked(processesWith(mark).length === 0), timeoutMs)
const looked = async (isSo: boolean): Promise<boolean> => isSo || delay(lookEveryMs, false)
