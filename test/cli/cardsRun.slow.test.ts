import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let cli: CommandLine
const holders: CommandLine[] = []

beforeAll(async () => {
  board = await startFolderBoard(
    {
      good: { fixture: 'well-behaved' },
      endless: { fixture: 'forever' },
      asking: { fixture: 'permission-first' },
      crashing: { fixture: 'crash-in-turn' },
    },
    { externalRequestsPerMinute: 10_000 },
  )
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  for (const each of [cli, ...holders]) each.close()
  await board.close()
})

const newCard = async (agent: string, title = 'Work', more: { autoMode?: boolean } = {}) =>
  (await board.client.cards.create({ projectId: board.projectId, title, agent, ...more })).id
const done = async () => {
  const id = await newCard('good')
  await cli.ok(['cards', 'run', id, '--wait'])
  return id
}

describe('run', () => {
  test('starts an agent, resumes an interrupted session, and starts a new one after completion', async () => {
    const run = async (id: string) => {
      const { stdout } = await cli.board(['cards', 'run', id, '--wait', '--timeout', '30'])
      return [stdout.split('\t')[1], (await board.card(id)).sessions!.length]
    }
    const broken = await newCard('crashing')
    expect([await run(broken), await run(broken)]).toEqual([
      ['failed', 1],
      ['failed', 2],
    ])
    const ended = await newCard('good')
    expect([await run(ended), await run(ended)]).toEqual([
      ['completed', 1],
      ['completed', 2],
    ])
    const busy = await newCard('endless')
    await cli.ok(['cards', 'run', busy])
    expect((await cli.board(['cards', 'run', busy])).code).toBe(5)
    await cli.ok(['cards', 'cancel', busy])
  })

  test('--follow reports after Ctrl-C that the agent continues', async () => {
    const id = await newCard('endless')
    const going = cli.start(['cards', 'run', id, '--follow'])
    await board.untilStatus(id, 'running')
    await eventually('a word of the agent', () => going.stdout !== '', 20_000)
    going.interrupt()
    await eventually('the end', () => going.code !== undefined, 20_000)
    expect(going.code).toBe(130)
    expect(going.stderr).toContain(
      `board: stopped following card ${id}; its agent continues\nto cancel it: board cards cancel ${id}\n`,
    )
    expect((await board.card(id)).status).toBe('running')
    await cli.ok(['cards', 'cancel', id])
  })

  test('--wait runs several cards concurrently and prints the result of each; it exits with 1 unless all completed', async () => {
    const ids = [await newCard('good', 'First'), await newCard('crashing', 'Second'), await newCard('asking', 'Third')]
    const { code, stdout, stderr } = await cli.board(['cards', 'run', ...ids, '--wait', '--timeout', '30'])
    expect(stdout.trimEnd().split('\n').sort()).toEqual([
      `${ids[0]}\tcompleted\t\tFirst`,
      `${ids[1]}\tfailed\tcrashed\tSecond`,
      `${ids[2]}\twaiting\t\tThird`,
    ])
    expect({ code, said: stderr.includes('2 of 3 did not complete') }).toEqual({ code: 1, said: true })
    await cli.ok(['agents', 'approve', ids[2]!])
  })

  test('--wait for a card that waits for a person shows how to answer', async () => {
    const id = await newCard('asking')
    const { code, stderr } = await cli.board(['cards', 'run', id, '--wait'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      `card ${id} is waiting for you: Write allowed.txt\nanswer with: board agents approve ${id}\n`,
    )
    await cli.ok(['agents', 'approve', id])
    await board.untilStatus(id, 'completed')
  })

  test('--wait --json prints one document; missing ids are reported, and the others run', async () => {
    const id = await newCard('good')
    const { code, stdout, stderr } = await cli.board(['cards', 'run', id, '9999', '--wait', '--json'])
    expect(JSON.parse(stdout)).toEqual([{ id, status: 'completed', statusReason: null, title: 'Work', error: null }])
    expect({ code, said: stderr.includes('9999: card not found') }).toEqual({ code: 1, said: true })
  })

  test('--timeout ends the wait with exit code 8, and not the agent', async () => {
    const id = await newCard('endless')
    const { code, stderr } = await cli.board(['cards', 'run', id, '--wait', '--timeout', '2'])
    expect({ code, said: stderr.includes(`timed out after 2 s; still waiting for ${id} (running)`) }).toEqual({
      code: 8,
      said: true,
    })
    expect((await board.card(id)).status).toBe('running')
    expect(await cli.ok(['cards', 'cancel', id])).toBe(`${id}\tcancelled\n`)
    expect((await board.card(id)).status).toBe('cancelled')
  })

  test('--follow prints the messages of this run and exits with it', async () => {
    const id = await done()
    const before = (await board.messages(id)).length
    await cli.ok(['cards', 'move', id, '--to', 'backlog'])
    const lines = (await cli.ok(['cards', 'run', id, '--follow', '--json']))
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    const stored = await board.client.agents.messages({ projectId: board.projectId, cardId: id })
    expect(lines.sort((a, b) => a.id - b.id)).toEqual(stored.slice(before))
    expect((await cli.board(['cards', 'run', id, '1', '--follow'])).code).toBe(2)
  })

  test('--follow of an agent that crashes exits with 1 after its last message', async () => {
    const id = await newCard('crashing')
    const { code, stdout, stderr } = await cli.board(['cards', 'run', id, '--follow'])
    expect({ code, said: stderr.includes(`card ${id} failed: crashed`) }).toEqual({ code: 1, said: true })
    expect(stdout).toContain('\tsystem\t')
  })

  test('a terminal card runs its command', async () => {
    const id = (await cli.ok(['cards', 'add', 'Shell', '--terminal', 'echo from the shell', '-q'])).trim()
    expect(await cli.ok(['cards', 'run', id, '--wait'])).toBe(`${id}\tcompleted\t\tShell\n`)
    expect(await cli.ok(['agents', 'messages', id])).toContain('from the shell')
  })
})

describe('wait', () => {
  test('sees a short-lived status, and a status that is already reached', async () => {
    const id = await newCard('good')
    const startAt = new Date(Date.now() + 4000).toISOString()
    const column = board.columns.active
    const later = await board.client.cards.create({
      projectId: board.projectId,
      title: 'Later',
      columnId: column,
      agent: 'good',
      startAt,
    })
    expect(await cli.ok(['cards', 'wait', later.id, '--for', 'queued', '--timeout', '20'])).toBe(
      `${later.id}\tqueued\t\tLater\n`,
    )
    await cli.ok(['cards', 'run', id, '--wait'])
    expect(await cli.ok(['cards', 'wait', id, '--for', 'failed,completed', '-q'])).toBe(`${id}\n`)
  })

  test('waits through the steps of auto mode until the last one ends', async () => {
    const review = await board.client.columns.create({
      projectId: board.projectId,
      boardId: (await board.client.boards.list({ projectId: board.projectId }))[0]!.id,
      name: 'Review',
      columnType: 'active',
    })
    const id = await newCard('good', 'Two steps', { autoMode: true })
    await cli.ok(['cards', 'run', id])
    expect(await cli.ok(['cards', 'wait', id, '--timeout', '30'])).toBe(`${id}\tcompleted\t\tTwo steps\n`)
    expect(await board.card(id)).toMatchObject({ columnType: 'done', status: 'completed' })
    expect((await board.card(id)).sessions).toHaveLength(2)
    await board.client.columns.delete({ projectId: board.projectId, columnId: review.id })
  })

  test('--exit-status exits with 1 if a card failed; without it, any end exits with 0', async () => {
    const id = await newCard('crashing')
    expect((await cli.board(['cards', 'run', id, '--wait'])).code).toBe(1)
    expect((await cli.board(['cards', 'wait', id])).code).toBe(0)
    const strict = await cli.board(['cards', 'wait', id, '--exit-status'])
    expect({ code: strict.code, see: strict.stderr.includes(`see: board agents messages ${id}`) }).toEqual({
      code: 1,
      see: true,
    })
  })

  test('a card that is deleted during the wait is reported, and the wait for the others continues', async () => {
    const [gone, kept] = [await newCard('endless'), await newCard('endless')]
    await cli.ok(['cards', 'run', gone, kept])
    const waiting = cli.board(['cards', 'wait', gone, kept])
    await board.untilStatus(kept, 'running')
    await cli.ok(['cards', 'delete', gone, '--yes', '--force'])
    await cli.ok(['cards', 'cancel', kept])
    const { code, stdout, stderr } = await waiting
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${kept}\tcancelled\tcancelled\tWork\n` })
    expect(stderr).toContain(`${gone}: card not found`)
  })

  test('an unknown status is a usage error, an unknown card exits with 3, a timeout with 8', async () => {
    const id = await newCard('endless')
    await cli.ok(['cards', 'run', id])
    const [status, card, late] = await Promise.all([
      cli.board(['cards', 'wait', id, '--for', 'done']),
      cli.board(['cards', 'wait', '9999']),
      cli.board(['cards', 'wait', id, '--for', 'completed', '--timeout', '1']),
    ])
    await cli.ok(['cards', 'cancel', id])
    expect([status, card, late].map(({ code }) => code)).toEqual([2, 3, 8])
  })

  test('with an API key it waits and cancels through the external routes', async () => {
    const { key } = await board.client.keys.create({
      name: 'cron',
      scope: 'project',
      projectId: board.projectId,
      permissions: ['cards.read', 'agents.cancel'],
    })
    const holder = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: key, BOARD_PROJECT: board.projectId })
    holders.push(holder)
    const id = await newCard('endless')
    await cli.ok(['cards', 'run', id])
    expect(await holder.ok(['cards', 'wait', id, '--for', 'running'])).toBe(`${id}\trunning\t\tWork\n`)
    const waiting = holder.ok(['cards', 'wait', id])
    expect(await holder.ok(['cards', 'cancel', id])).toBe(`${id}\tcancelled\n`)
    expect(await waiting).toBe(`${id}\tcancelled\tcancelled\tWork\n`)
    expect((await holder.board(['cards', 'run', id])).code).toBe(4)
    expect((await holder.board(['agents', 'messages', id])).code).toBe(4)
  })
})
