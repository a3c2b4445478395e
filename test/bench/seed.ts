import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApp, type App } from '../../src/app.ts'
import { builtIn } from '../../src/agents/providers/builtInProviders.ts'
import { serverDefaults } from '../../src/config/server.ts'
import { externalPermissions } from '../../src/contract/route.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import * as projects from '../../src/domain/projects/projects.ts'
import { indexPendingCards } from '../../src/domain/cards/search.ts'
import { setup } from '../../src/identity/accounts.ts'
import { createKey } from '../../src/identity/keys.ts'
import { openLogs } from '../../src/logs/logs.ts'
import { readDefaultBoard } from '../../src/store/boards/boards.ts'
import { insertCard } from '../../src/store/cards/cards.ts'
import { readFirstColumn } from '../../src/store/boards/columns.ts'
import type { Transaction } from '../../src/store/engine/database.ts'
import * as order from '../../src/store/cards/order.ts'
import { localOperator } from '../../src/store/accounts/users.ts'
import { smallest } from './sizes.ts'

/** A project whose cards are all in the first column, with ids from `firstCardId` on. Cards in the active column start agents. */
export interface SeededProject {
  cards: number
  projectId: number
  boardId: number
  columnId: number
  activeColumnId: number
  firstCardId: number
}
export interface Seeded {
  dataDir: string
  floorFile: string
  apiKey: string
  signInToken: string
  projects: Record<number, SeededProject>
}

export const flooder = 'flooder'
export const operator: Caller = {
  kind: 'local',
  userId: localOperator,
  role: 'super_admin',
  email: '',
  displayName: 'Local operator',
  tokenHash: '',
}

/** An agent whose output has a configured length. */
export interface Agent {
  command: readonly string[]
  env: Record<string, string>
}

/** Creates a data folder with a project of each size, and a copy of its database for the bare servers. */
export async function seedBoard(folder: string, sizes: readonly number[]): Promise<Seeded> {
  const [dataDir, floorFile] = [join(folder, 'data'), join(folder, 'floor.db')]
  const seeded: Record<number, SeededProject> = {}
  const tokens = await seedFolder(dataDir, async app => {
    for (const cards of sizes) seeded[cards] = await app.db.transaction(tx => seedProject(tx, cards, folder))
    await indexPendingCards(app.db)
    const { token: apiKey } = await app.db.transaction(tx =>
      createKey(tx, operator, { name: 'Bench', scope: 'server', permissions: externalPermissions }),
    )
    return { apiKey, signInToken: await signIn(app) }
  })
  copyFileSync(join(dataDir, 'board.db'), floorFile)
  return { dataDir, floorFile, ...tokens, projects: seeded }
}

/** Creates the first account, and returns its token. */
export async function signIn(app: App): Promise<string> {
  const login = { email: 'bench@example.org', password: 'measured more than once' }
  return (await setup(app, login, { address: '127.0.0.1', isOwn: async () => true }, true)).token
}

/** Creates a data folder with the smallest project only. */
export async function seedSmall(folder: string): Promise<string> {
  const dataDir = join(folder, 'small')
  await seedFolder(dataDir, app => app.db.transaction(tx => seedProject(tx, smallest, folder)))
  return dataDir
}

/** Configures only these agents in a data folder, regardless of those installed on this machine. */
export function configureAgents(dataDir: string, agents: Record<string, Agent>): void {
  const missing = Object.fromEntries(builtIn.map(({ id }) => [id, { command: ['/nonexistent/agent'] }]))
  writeFileSync(join(dataDir, 'config.json'), JSON.stringify({ agents: { ...missing, ...agents } }))
}

/** Fills a data folder without serving it. */
export async function seedFolder<T>(dataDir: string, seed: (app: App) => Promise<T>): Promise<T> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const config = { ...serverDefaults, dataDir }
  const logs = openLogs(config, () => {
    /* The value is not read. */
  })
  const app = await createApp(config, logs)
  const seeded = await seed(app)
  await app.close()
  await logs.close()
  return seeded
}

export async function seedProject(tx: Transaction, cards: number, path: string): Promise<SeededProject> {
  const { id: projectId } = await projects.create(tx, operator, {
    name: `Project of ${cards}`,
    path,
    organizationId: null,
    folders: {},
  })
  const { id: boardId } = (await readDefaultBoard(tx, projectId))!
  const [{ id: columnId }, { id: activeColumnId }] = [
    (await readFirstColumn(tx, boardId))!,
    (await readFirstColumn(tx, boardId, 'active'))!,
  ]
  const card = {
    projectId,
    boardId,
    columnId,
    prompt: prompt.repeat(3),
    labels: '["bench","customer"]',
    pipeline: '[]',
    groupId: null,
    archivedAt: null,
    lastAgentAction: null,
    deferred: true,
    autoMode: false,
    useWorktree: true,
    unread: false,
  }
  let firstCardId = 0
  for (let number = 0; number < cards; number++) {
    const id = await insertCard(tx, {
      ...card,
      title: `Card ${String(number).padStart(6, '0')}: fix what the customer saw`,
    })
    await order.insertCard(tx, columnId, id)
    firstCardId ||= id
  }
  return { cards, projectId, boardId, columnId, activeColumnId, firstCardId }
}

const prompt = 'Read the report, find the cause, write a test that fails, fix it, and say what you changed. '
