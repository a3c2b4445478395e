import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/store/engine/open.ts'
import { inShortTransactions } from '../../src/store/engine/shortTransactions.ts'

const stepMs = 3
const steps = 30

test('long work yields to other transactions, and ends when a step has no work left or when it is aborted', async () => {
  const db = openDatabase({
    path: join(mkdtempSync(join(tmpdir(), 'short-work-')), 'board.db'),
    clock: () => new Date(),
  })
  let left = steps
  let leftAtTurn: number | undefined
  const work = async () => {
    const endMs = performance.now() + stepMs
    while (performance.now() < endMs);
    // Another transaction waits from the first step on.
    if (left === steps)
      void db.transaction(async () => {
        leftAtTurn = left
      })
    return left === 0 ? 0 : left--
  }
  await inShortTransactions(db, work)
  expect(left).toBe(0)
  expect(leftAtTurn).toBeGreaterThan(steps - 5)

  left = steps
  const stopping = new AbortController()
  await inShortTransactions(
    db,
    async () => {
      stopping.abort()
      return work()
    },
    stopping.signal,
  )
  expect(left).toBeGreaterThan(steps - 5)
  await db.close()
})
