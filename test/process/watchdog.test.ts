import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { encodeTrees, type Tree } from '../../src/process/sweep.ts'
import { listProcesses } from '../../src/process/table.ts'
import { isAlive } from '../support/processes/processFiles.ts'

/** Makes the watchdog's program end the trees, as after the death of their server. */
async function endTrees(...trees: Tree[]): Promise<void> {
  const program = spawn(process.execPath, [resolve('dist/watchdog.cjs')], { stdio: ['pipe', 'ignore', 'inherit'] })
  const exited = once(program, 'exit')
  program.stdin.end(`${encodeTrees(trees)}\n`)
  expect(await exited).toEqual([0, null])
}

test('the watchdog ends a session with its original leader, and none whose pid was reused', async () => {
  const sleeper = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true })
  const pid = sleeper.pid!
  const { startedAt } = (await listProcesses()).find(entry => entry.pid === pid)!
  const earlier = String(Number(startedAt) - 1)
  await endTrees({ runId: 'reused', leader: pid, since: earlier, seen: new Map([[pid, earlier]]) })
  expect(isAlive(pid)).toBe(true)
  await endTrees({ runId: 'same', leader: pid, since: startedAt, seen: new Map() })
  expect(isAlive(pid)).toBe(false)
})
