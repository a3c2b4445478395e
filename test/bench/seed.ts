import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { serverDefaults } from '../../src/config/server.ts'
import { externalPermissions } from '../../src/contract/route.ts'
import type { Caller } from '../../src/domain/caller.ts'
import * as projects from '../../src/domain/projects.ts'
import { createKey } from '../../src/identity/keys.ts'
import { openLogs } from '../../src/logs/logs.ts'
import { readDefaultBoard } from '../../src/store/boards.ts'
import { insertCard } from '../../src/store/cards.ts'
import { readFirstColumn } from '../../src/store/columns.ts'
import type { Transaction } from '../../src/store/database.ts'
import * as order from '../../src/store/order.ts'
import { localOperator } from '../../src/store/users.ts'

/** A project whose cards all stand in the first column, with ids from `firstCardId` on. */
export interface SeededProject { cards: number; projectId: number; boardId: number; columnId: number; firstCardId: number }
export interface Seeded { dataDir: string; floorFile: string; apiKey: string; projects: Record<number, SeededProject> }

const operator: Caller = { kind: 'local', userId: localOperator, role: 'super_admin', email: '', displayName: 'Local operator', tokenHash: '' }

/** Makes a data folder with a project of each size, and a copy of its database for the bare servers. */
export async function seedBoard(folder: string, sizes: readonly number[]): Promise<Seeded> {
  const dataDir = join(folder, 'data')
  const config = { ...serverDefaults, dataDir }
  const logs = openLogs(config, () => { /* Nobody reads it. */ })
  const app = await createApp(config, logs)
  const { token } = await app.db.transaction(tx => createKey(tx, operator, { name: 'Bench', scope: 'server', permissions: externalPermissions }))
  const seeded: Record<number, SeededProject> = {}
  for (const cards of sizes) seeded[cards] = await app.db.transaction(tx => seedProject(tx, cards))
  await app.close()
  await logs.close()
  const floorFile = join(folder, 'floor.db')
  copyFileSync(join(dataDir, 'board.db'), floorFile)
  return { dataDir, floorFile, apiKey: token, projects: seeded }
}

async function seedProject(tx: Transaction, cards: number): Promise<SeededProject> {
  const { id: projectId } = await projects.create(tx, operator, { name: `Project of ${cards}`, path: '/', organizationId: null })
  const { id: boardId } = (await readDefaultBoard(tx, projectId))!
  const { id: columnId } = (await readFirstColumn(tx, boardId))!
  const card = { projectId, boardId, columnId, prompt: prompt.repeat(3), labels: '["bench","customer"]', pipeline: '[]', groupId: null, archivedAt: null, lastAgentAction: null, deferred: true, autoMode: false, useWorktree: true, unread: false }
  let firstCardId = 0
  for (let number = 0; number < cards; number++) {
    const id = await insertCard(tx, { ...card, title: `Card ${String(number).padStart(6, '0')}: mend what the customer saw` })
    await order.insertCard(tx, columnId, id)
    firstCardId ||= id
  }
  return { cards, projectId, boardId, columnId, firstCardId }
}

const prompt = 'Read the report, find the cause, write a test that fails, mend it, and say what you changed. '
