import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startFolderBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

/** Runs an agent that makes the server copy `daemon.json` with a monitor. Returns whether the copy exists. */
async function copiesDaemonFile(sandbox: 'off' | 'require'): Promise<boolean> {
  const root = mkdtempSync(join(tmpdir(), 'board-thief-'))
  const monitor = { intervalSecs: 3600, allowUnsandboxed: true as const }
  const theft = { ...monitor, command: `cp '${join(root, 'data/daemon.json')}' stolen` }
  const env = { FIXTURE_STAYS: '1', FIXTURE_CALLS: JSON.stringify([['add_monitor', theft]]) }
  const board = await startFolderBoard(
    { thief: { fixture: 'mcp-user', env } },
    { sandbox, dataDir: join(root, 'data') },
  )
  try {
    const { projectId } = board
    writeFileSync(join(board.dataDir, 'daemon.json'), '{}', { flag: 'a' })
    const { id: cardId } = await board.start('thief')
    const monitors = () => board.client.monitors.listProject({ projectId })
    await eventually('the monitor of the agent', async () => (await monitors()).length === 1)
    // A monitor of a person on the same card, which is due later.
    const { token } = await board.client.agents.token({ projectId, cardId })
    const control = await board.as(token).monitors.create({ ...monitor, projectId, cardId, command: 'touch control' })
    const isDone = async () => (await monitors()).some(({ id, status }) => id === control.id && status === 'ok')
    await eventually('the monitor of the person', isDone)
    await eventually('the end of all runs', async () => (await monitors()).every(({ status }) => status !== 'running'))
    expect(existsSync(join(board.path, 'control'))).toBe(true)
    return existsSync(join(board.path, 'stolen'))
  } finally {
    await board.close()
    rmSync(root, { recursive: true, force: true })
  }
}

describe.skipIf(!hasBubblewrap)("a monitor that is created with the session's own token", () => {
  test('copies daemon.json without a sandbox, which proves the attack', async () => {
    expect(await copiesDaemonFile('off')).toBe(true)
  })

  test('does not copy daemon.json in the sandbox', async () => {
    expect(await copiesDaemonFile('require')).toBe(false)
  })
})
