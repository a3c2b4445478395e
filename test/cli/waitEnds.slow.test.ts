import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'

let board: AgentBoard
let cli: CommandLine
beforeAll(async () => {
  board = await startFolderBoard({
    good: { fixture: 'well-behaved' },
    endless: { fixture: 'forever' },
    asking: { fixture: 'permission-first' },
    crashing: { fixture: 'crash-in-turn' },
  })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  cli?.close()
  await board?.close()
})

const create = async (agent: string, more: Partial<Parameters<typeof board.client.cards.create>[0]> = {}) =>
  (await board.client.cards.create({ projectId: board.projectId, title: 'Work', agent, ...more })).id
const wait = (...words: string[]) => cli.board(['cards', 'wait', ...words, '--timeout', '20'])

describe('cards wait --for completed', () => {
  test('exits with 1 for a card that failed, was cancelled or never ran, and names its state', async () => {
    const [failed, cancelled, idle] = [await create('crashing'), await create('endless'), await create('good')]
    await cli.board(['cards', 'run', failed, '--wait'])
    await cli.ok(['cards', 'run', cancelled])
    await cli.ok(['cards', 'cancel', cancelled])
    for (const [id, state] of [
      [failed, 'failed (crashed)'],
      [cancelled, 'cancelled'],
      [idle, 'idle'],
    ] as const) {
      const { code, stdout, stderr } = await wait(id, '--for', 'completed')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain(
        `board: card ${id} is ${state}, and nothing is scheduled that can change its status to completed\nstart it with: board cards run ${id}\n`,
      )
    }
    const several = await wait(failed, idle, '--for', 'completed,running')
    expect(several.code).toBe(1)
    expect(several.stderr).toContain(`board: ${idle}: card ${idle} is idle`)
    expect(several.stderr).toContain('2 of 2 did not reach the state')
  })

  test('ends when the card is cancelled during the wait', async () => {
    const id = await create('endless')
    await cli.ok(['cards', 'run', id])
    const waiting = wait(id, '--for', 'completed')
    await cli.ok(['cards', 'wait', id, '--for', 'running'])
    await cli.ok(['cards', 'cancel', id])
    expect((await waiting).code).toBe(1)
  })

  test('continues while an agent asks, and announces the question', async () => {
    const id = await create('asking')
    await cli.board(['cards', 'run', id, '--wait'])
    const waiting = cli.start(['cards', 'wait', id, '--for', 'completed', '--timeout', '20'])
    await expect.poll(() => waiting.stderr, { timeout: 15_000 }).toContain(`Card ${id} is waiting for you`)
    await cli.ok(['agents', 'approve', id])
    await expect.poll(() => waiting.code, { timeout: 15_000 }).toBe(0)
  })

  test('waits for a card that starts at a time', async () => {
    const startAt = new Date(Date.now() + 4000).toISOString()
    const id = await create('good', { columnId: board.columns.active, startAt })
    expect((await wait(id, '--for', 'completed')).code).toBe(0)
  })

  test('waits for a blocked card in auto mode while its blocker is at work, and ends if nothing works on the blocker', async () => {
    const blocker = await create('endless', { autoMode: true })
    const id = await create('good', { autoMode: true, blockedBy: [blocker] })
    expect((await wait(id, '--for', 'completed')).code).toBe(1)
    await cli.ok(['cards', 'run', blocker])
    const waiting = wait(id, '--for', 'completed')
    await cli.ok(['cards', 'wait', blocker, '--for', 'running'])
    await cli.ok(['cards', 'complete', blocker])
    expect((await waiting).code).toBe(0)
  })

  test('ends for a blocked card without auto mode', async () => {
    const blocker = await create('endless')
    await cli.ok(['cards', 'run', blocker])
    const id = await create('good', { blockedBy: [blocker] })
    expect((await wait(id, '--for', 'completed')).code).toBe(1)
    await cli.ok(['cards', 'cancel', blocker])
  })

  /** A card that the full column of another card pulls once it has capacity. */
  const createPulled = async () => {
    const boardId = (await board.client.boards.create({ projectId: board.projectId, name: 'Pulling' })).id
    const columns = await board.client.columns.list({ projectId: board.projectId, boardId })
    const [backlog, active] = [
      columns.find(({ columnType }) => columnType === 'backlog')!,
      columns.find(({ columnType }) => columnType === 'active')!,
    ]
    const busy = await create('endless', { columnId: active.id })
    await board.client.columns.update({ projectId: board.projectId, columnId: active.id, wipLimit: 1, pull: true })
    return { busy, id: await create('good', { columnId: backlog.id }) }
  }

  test('ends for a card that a full column pulls once it has capacity, if the column has no work', async () => {
    const { busy, id } = await createPulled()
    await cli.ok(['cards', 'wait', busy, '--for', 'running'])
    await cli.ok(['cards', 'cancel', busy])
    expect((await wait(id, '--for', 'completed')).code).toBe(1)
  })

  test('waits for a card that a full column pulls once it has capacity', async () => {
    const { busy, id } = await createPulled()
    const waiting = wait(id, '--for', 'completed')
    await cli.ok(['cards', 'wait', busy, '--for', 'running'])
    await cli.ok(['cards', 'complete', busy])
    expect((await waiting).code).toBe(0)
  })
})

test('cards wait --exit-status, run --wait and run --follow agree: 0 only for completed cards', async () => {
  const codes = async (agent: string) => {
    const [waited, followed] = [await create(agent), await create(agent)]
    const run = await cli.board(['cards', 'run', waited, '--wait'])
    const follow = await cli.board(['cards', 'run', followed, '--follow'])
    const status = await wait(waited, '--exit-status')
    return [run.code, follow.code, status.code]
  }
  expect(await codes('good')).toEqual([0, 0, 0])
  expect(await codes('crashing')).toEqual([1, 1, 1])
  expect(await codes('asking')).toEqual([1, 1, 1])
  expect((await wait(await create('good'), '--exit-status')).code).toBe(1)
})
