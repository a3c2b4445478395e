import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRepository } from '../support/agents/agentBoard.ts'
import { percentile } from './measure.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'

const root = mkdtempSync(join(tmpdir(), 'board-memory-'))
const board = boardProcess(join(root, 'data'), { HOME: root })
let projectId: string
beforeAll(async () => {
  await board.start()
  projectId = (await board.client.projects.create({ name: 'Much', path: makeRepository(join(root, 'repository')) })).id
})
afterAll(() => clearAway(board, root))

/** The size of the memory for new objects, in MiB. */
async function youngMiB(): Promise<number> {
  const text = await (await fetch(`${board.url}/metrics`)).text()
  return Number(/^nodejs_heap_space_size_total_bytes\{space="new"\} (\d+)$/m.exec(text)![1]) / 2 ** 20
}

/**
 * Creates and lists cards for 64 clients, so that new objects fill the space available to them.
 * @returns the size of the memory for new objects after each turn of the second half, in MiB
 */
async function load(): Promise<number[]> {
  const found: number[] = []
  for (let turn = 0; turn < 16; turn++) {
    await Promise.all(
      Array.from({ length: 64 }, async (_, at) => {
        await board.client.cards.create({ projectId, title: `Card ${turn} ${at}`, prompt: 'x'.repeat(4000) })
        await board.client.cards.list({ projectId, limit: 100 })
      }),
    )
    found.push(await youngMiB())
  }
  return found.slice(8)
}

// The limit is set between collections. Several in a row can exceed it, and a later one corrects that: unlimited space is at 32 MiB throughout.
test('a server under load keeps little memory for new objects, also after another thread was active', async () => {
  expect(percentile(await load(), 0.5)).toBeLessThanOrEqual(16)
  await board.client.backups.create({})
  expect(percentile(await load(), 0.5)).toBeLessThanOrEqual(16)
})
