import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startMonitorBoard, type ActiveCard, type MonitorBoard } from '../monitors/monitorBoard.ts'

let board: MonitorBoard
let cli: CommandLine
let card: ActiveCard
const others: CommandLine[] = []
const as = (env: Record<string, string>): CommandLine => {
  const other = commandLine({ BOARD_URL: board.url, ...env })
  others.push(other)
  return other
}

beforeAll(async () => {
  board = await startMonitorBoard()
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
  card = await board.newCard()
})
afterAll(async () => {
  for (const each of [cli, ...others]) each.close()
  await board.close()
})

const add = (...args: string[]) => cli.json(['monitors', 'add', card.cardId, ...args, '--allow-unsandboxed'])

test('a monitor is added, listed with its result, and deleted', async () => {
  mkdirSync(join(board.path, 'here'))
  const added = await add(
    'echo seen; exit 3',
    '--every',
    '5m',
    '--description',
    'Sees',
    '--cwd',
    join(board.path, 'here'),
  )
  expect(added).toMatchObject({
    cardId: card.cardId,
    intervalSecs: 300,
    description: 'Sees',
    cwd: join(board.path, 'here'),
    allowUnsandboxed: true,
  })
  await board.until(added.id!, 'its run', ({ status }) => status === 'failing')
  for (const args of [[card.cardId], []]) {
    const [id, cardId, status, exit, ran, every, command, description] = (await cli.ok(['monitors', 'list', ...args]))
      .trim()
      .split('\t')
    expect([id, cardId, status, exit, every, command, description]).toEqual([
      added.id,
      card.cardId,
      'failing',
      '3',
      '300 s',
      'echo seen; exit 3',
      'Sees',
    ])
    expect(ran).toMatch(/^\d{4}-.*Z$/)
  }
  expect(await cli.ok(['monitor', 'list', card.cardId, '--jq', '.[0].output'])).toBe('seen\n\n')
  expect((await cli.board(['monitors', 'delete', card.cardId, added.id!])).code).toBe(2)
  expect(await cli.ok(['monitors', 'delete', card.cardId, added.id!, '--yes'])).toBe(`${added.id}\tdeleted\n`)
  expect(await cli.ok(['monitors', 'list', card.cardId, '--json'])).toBe('[]\n')
})

test('a folder is resolved relative to the working folder', async () => {
  const { cwd } = JSON.parse(
    await cli.ok(
      ['monitors', 'add', card.cardId, 'true', '--every', '60', '--cwd', '.', '--allow-unsandboxed', '--json'],
      { cwd: board.path },
    ),
  )
  expect(cwd).toBe(board.path)
})

test('several are deleted at once, also from a pipe, and missing ones are reported', async () => {
  const ids = [(await add('true', '--every', '1h')).id!, (await add('true', '--every', '1h')).id!]
  const ran = await cli.board(['monitors', 'delete', card.cardId, '-', '999999', '--yes'], {
    input: `${ids.join('\n')}\n`,
  })
  expect(ran).toMatchObject({
    code: 1,
    stdout: ids.map(id => `${id}\tdeleted\n`).join(''),
    stderr: expect.stringContaining('999999: monitor not found'),
  })
  expect(await cli.board(['monitors', 'delete', card.cardId, '999999', '--yes'])).toMatchObject({
    code: 3,
    stderr: 'board: monitor not found: 999999\nsee: board monitors list\n',
  })
})

describe('invalid input is rejected with the reason', () => {
  const cases: Array<[string, string[], number, RegExp]> = [
    [
      'no leave to run unsandboxed',
      ['true', '--every', '60'],
      2,
      /server's own permissions.*\nto allow this: --allow-unsandboxed/,
    ],
    ['no interval', ['true', '--allow-unsandboxed'], 2, /--every/],
    ['no time', ['true', '--every', 'often', '--allow-unsandboxed'], 2, /must be a duration/],
    [
      'too often',
      ['true', '--every', '9', '--allow-unsandboxed'],
      2,
      /intervalSecs must be an integer from 10 to 86400/,
    ],
    ['too seldom', ['true', '--every', '2d', '--allow-unsandboxed'], 2, /intervalSecs must be/],
    ['no command', ['', '--every', '60', '--allow-unsandboxed'], 2, /command must have 1 to 4096/],
    ['a folder elsewhere', ['true', '--every', '60', '--cwd', '/', '--allow-unsandboxed'], 2, /cwd must be inside/],
  ]
  test.each(cases)('%s', async (_, args, code, says) => {
    const ran = await cli.board(['monitors', 'add', card.cardId, ...args])
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(says) })
  })

  test('a ninth monitor, and an unknown card', async () => {
    const full = await board.newCard()
    for (let count = 0; count < 8; count++) await board.create(full, 'true')
    expect(
      await cli.board(['monitors', 'add', full.cardId, 'true', '--every', '60', '--allow-unsandboxed']),
    ).toMatchObject({ code: 5, stderr: expect.stringContaining('at most 8 monitors') })
    expect(await cli.board(['monitors', 'list', '999999'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('card not found'),
    })
  })
})

test('the monitors of a card that is not active are listed and deleted by users, and none is added', async () => {
  const away = await board.newCard()
  const { id } = await board.create(away, 'true')
  await board.client.cards.move({ ...away.ref, columnId: board.columns.done })
  await board.until(id, 'the pause', ({ status }) => status === 'paused')
  expect(
    (await cli.json<Array<{ id: string; status: string }>>(['monitors', 'list', away.cardId])).map(each => [
      each.id,
      each.status,
    ]),
  ).toEqual([[id, 'paused']])
  expect(
    await cli.board(['monitors', 'add', away.cardId, 'true', '--every', '60', '--allow-unsandboxed']),
  ).toMatchObject({ code: 5, stderr: expect.stringContaining('not in an active column') })
  expect(await cli.board(['monitors', 'delete', away.cardId, '999999', '--yes'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('has no monitor 999999'),
  })
  expect(await cli.ok(['monitors', 'delete', away.cardId, id, '-y', '-q'])).toBe(`${id}\n`)
})

test('an agent uses the token in its environment', async () => {
  const own = await board.newCard()
  const agent = as({ BOARD_TOKEN: own.token, BOARD_PROJECT_ID: board.projectId, BOARD_CARD_ID: own.cardId })
  const { id } = await agent.json(['monitors', 'add', own.cardId, 'true', '--every', '60', '--allow-unsandboxed'])
  expect(await agent.ok(['monitors', 'list', own.cardId, '-q'])).toBe(`${id}\n`)
  expect(await agent.board(['monitors', 'list', card.cardId])).toMatchObject({ code: 4 })
  expect(await agent.board(['monitors', 'list', own.cardId], { env: { BOARD_PROJECT_ID: '' } })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('-P'),
  })
  expect(await agent.ok(['monitors', 'delete', own.cardId, id!, '--yes', '-q'])).toBe(`${id}\n`)
})

test('an API key can list monitors, but neither add nor delete them', async () => {
  const [{ key }, { id }] = await Promise.all([
    board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId: board.projectId,
      permissions: ['monitors.read', 'agents.run'],
    }),
    board.create(await board.newCard(), 'true'),
  ])
  const { cardId } = await board.monitor(id)
  const program = as({ BOARD_TOKEN: key, BOARD_PROJECT: board.projectId })
  expect(await program.ok(['monitors', 'list', cardId, '-q'])).toBe(`${id}\n`)
  expect((await program.ok(['monitors', 'list', '-q'])).split('\n')).toContain(id)
  for (const args of [
    ['add', cardId, 'true', '--every', '60', '--allow-unsandboxed'],
    ['delete', cardId, id, '--yes'],
  ])
    expect(await program.board(['monitors', ...args])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('the token is an API key'),
    })
})

test('watching redraws the list on each change, on a terminal only', async () => {
  const watched = await board.newCard()
  await board.create(watched, 'true', { description: 'There before' })
  const going = cli.start(['monitors', 'list', watched.cardId, '--watch'], { BOARD_FORCE_TTY: '120' })
  await eventually('the first drawing', () => going.stdout.includes('There before'), 10_000)
  let added = 0
  // The subscription can start after the first drawing.
  await eventually('a drawing with a new monitor', async () => {
    if (added < 7) await board.create(watched, 'true', { description: `Came later ${added++}` })
    return going.stdout.includes('Came later')
  })
  going.interrupt()
  await eventually('its end', () => going.code !== undefined)
  expect(await cli.board(['monitors', 'list', '--watch'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--watch requires a terminal'),
  })
})
