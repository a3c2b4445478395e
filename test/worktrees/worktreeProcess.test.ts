import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startWorktreeProcess } from '../../src/worktrees/worktreeProcess.ts'
import { isAlive } from '../support/processes/processFiles.ts'
import { eventually } from '../support/waiting/eventually.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-worktree-process-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A process whose child waits and ignores that its parent ends, as bubblewrap's first child does while bubblewrap starts. */
function startWithWaitingChild() {
  const file = join(folder, 'child')
  const command = ['/bin/sh', '-c', 'sleep 1000 & echo "$!" > "$1"; wait', 'sh', file]
  const started = startWorktreeProcess(command, Buffer.from('x'), {
    env: { PATH: process.env.PATH! },
    covered: [],
    descriptors: [],
  })
  const childPid = () =>
    eventually('the child', () => {
      const pid = Number(readFileSync(file, { encoding: 'utf8', flag: 'a+' }))
      return pid > 0 ? pid : undefined
    })
  return { started, childPid }
}

test('a killed process ends together with its children', async () => {
  const { started, childPid } = startWithWaitingChild()
  const pid = await childPid()
  expect(isAlive(pid)).toBe(true)
  started.kill()
  await started.ended
  await eventually('the end of the child', () => !isAlive(pid))
  expect(started.isOver).toBe(true)
})
