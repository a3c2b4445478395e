import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditEntry } from '../../src/contract/server/audit.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startReceiver, type OtlpReceiver } from '../support/receivers/otlpReceiver.ts'

let board: TestBoard
let cli: CommandLine
let receiver: OtlpReceiver
beforeAll(async () => {
  board = await startBoard()
  receiver = await startReceiver()
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token })
  for (let number = 1; number <= 5; number++) log('info', `Plain ${number}`, { number })
  log('warn', 'A warning \u001b[31min red', { source: 'http', requestId: 'r-1', note: 'x\ty' })
  log('error', 'An error', { cause: 'Error: oh\n    at somewhere' })
})
afterAll(async () => {
  cli.close()
  await board.close()
  await receiver.close()
})

const log = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) =>
  board.server.app.logs.log(level, message, fields)
const fields = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => line.split('\t'))

describe('board logs', () => {
  test('prints tab-separated lines in a pipe, the newest last, with ISO times and no color', async () => {
    const lines = fields(await cli.ok(['logs', '--level', 'warn']))
    expect(
      lines.map(([, at, level, source, message, requestId]) => [
        /^\d{4}-.*Z$/.test(at!),
        level,
        source,
        message,
        requestId,
      ]),
    ).toEqual([
      [true, 'warn', 'http', 'A warning ␛[31min red', 'r-1'],
      [true, 'error', 'server', 'An error', ''],
    ])
    expect(JSON.parse(lines[0]!.at(-1)!)).toEqual({ note: 'x\ty' })
  })

  test('filters by level, words, time and number', async () => {
    const messages = async (...args: string[]) => fields(await cli.ok(['logs', ...args])).map(line => line[4])
    expect(await messages('--search', 'plain', '--limit', '2')).toEqual(['Plain 4', 'Plain 5'])
    expect(await messages('--search', '"plain 3"', '--since', '1h')).toEqual(['Plain 3'])
    expect(await cli.ok(['logs', '--search', 'plain', '--since', '2099-01-01'])).toBe('')
    expect((await cli.json<Array<{ level: string; message: string }>>(['logs', '--level', 'error']))[0]).toMatchObject({
      level: 'error',
      message: 'An error',
    })
    expect(await cli.ok(['logs', '--level', 'error', '--json', 'message'])).toBe('[{"message":"An error"}]\n')
    for (let number = 0; number < 1500; number++) log('info', `Many ${number}`)
    await eventually('them to be written', () => board.server.app.logs.figures().database.queued === 0)
    expect((await messages('--search', 'many', '--limit', '1400')).slice(0, 2)).toEqual(['Many 100', 'Many 101'])
  })

  test('is colored by level on a terminal, with the stack below an error, and sanitized', async () => {
    const shown = await cli.ok(['logs', '--level', 'warn'], {
      env: { BOARD_FORCE_TTY: '120', FORCE_COLOR: '1', PAGER: 'cat' },
    })
    expect(shown).toContain('\u001b[33mwarn \u001b[0m')
    expect(shown).toContain('\u001b[31merror\u001b[0m')
    expect(shown).toContain('A warning ␛[31min red')
    expect(shown).toMatch(/An error\n.*    Error: oh\n {8}at somewhere/)
    expect(await cli.ok(['logs', '--search', 'zzz'], { env: { BOARD_FORCE_TTY: '1' } })).toBe('')
  })

  test('reports invalid arguments', async () => {
    for (const args of [
      ['--level', 'debug'],
      ['--limit', '0'],
      ['--since', 'yesterday'],
    ])
      expect((await cli.board(['logs', ...args])).code, args.join(' ')).toBe(2)
    await board.as().auth.status()
    expect((await cli.board(['logs'], { env: { BOARD_TOKEN: 'svc_st_nonsense' } })).code).toBe(4)
  })

  test('-f follows new entries, and reconnects when the server is back', async () => {
    const dataDir = board.folder('followed')
    let followed = await startBoard({ dataDir })
    const { port } = new URL(followed.url)
    const going = cli.start(['logs', '-f', '--search', 'follow', '--limit', '1'], {
      BOARD_URL: followed.url,
      BOARD_TOKEN: followed.token,
    })
    const messages = () => fields(going.stdout).map(line => line[4])
    followed.server.app.logs.log('info', 'Followed 1')
    await eventually('the first entry', () => messages().includes('Followed 1'), 15_000)
    followed.server.app.logs.log('warn', 'Followed 2')
    followed.server.app.logs.log('warn', 'Not this')
    await eventually('the second', () => messages().includes('Followed 2'), 15_000)
    const { token } = await followed.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
    const second = cli.start(['logs', '-f', '--search', 'follow', '--limit', '1', '--json', 'message'], {
      BOARD_URL: followed.url,
      BOARD_TOKEN: token,
    })
    await eventually('the second follower', () => second.stdout.includes('Followed 2'), 15_000)
    await followed.close()
    await eventually('it to notice', () => second.stderr.includes('The connection to the server was lost'), 15_000)
    followed = await startBoard({ dataDir, port: Number(port) })
    followed.server.app.logs.log('info', 'Followed 3')
    await eventually('the third', () => second.stdout.includes('{"message":"Followed 3"}\n'), 20_000)
    expect([messages().filter(message => message === 'Not this'), second.stdout.match(/Followed 2/g)!.length]).toEqual([
      [],
      1,
    ])
    for (const each of [going, second]) each.interrupt()
    await eventually('its end', () => second.code !== undefined)
    expect(second.code).toBe(130)
    await followed.close()
  })
})

test('board serve writes its log to stderr as JSON or text, from the configured level on', async () => {
  const said = async (...args: string[]) => {
    const server = cli.start(['serve', '--port', '0', '--data-dir', join(cli.home, args.join('')), ...args], {
      BOARD_LOG_LEVEL: 'warn',
    })
    const url = await eventually('the server', () => /Listening on (\S+)/.exec(server.stdout)?.[1], 20_000)
    await fetch(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'eve@example.org', password: 'canary-password' }),
    })
    await fetch(`${url}/api/health?x=1`)
    server.interrupt()
    await eventually('its end', () => server.code !== undefined, 15_000)
    return server.stderr.trimEnd().split('\n')
  }
  const json = (await said('--log-format', 'json')).map(line => JSON.parse(line) as Record<string, unknown>)
  expect(json).toEqual([
    expect.objectContaining({
      level: 'warn',
      source: 'http',
      message: 'A sign-in failed.',
      status: 401,
      at: expect.stringMatching(/Z$/),
    }),
  ])
  const pretty = await said('--log-format', 'pretty', '--log-level', 'info')
  expect(pretty).toContainEqual(
    expect.stringMatching(/^\d\d:\d\d:\d\d info {2}http GET \/api\/health 200 requestId=\S+ ms=[\d.]+$/),
  )
  expect(pretty).toContainEqual(
    expect.stringMatching(/^\d\d:\d\d:\d\d warn {2}http A sign-in failed\. .*address=127\.0\.0\.1/),
  )
  expect(pretty.at(-1)).toMatch(/server The server has stopped\.$/)
})

describe('board settings log-export', () => {
  const secret = 'canary-of-the-command-line'
  test("sets, shows, tests and removes the target of the log, and never shows a header's value", async () => {
    expect((await cli.board(['settings', 'log-export', '--test'])).code).toBe(1)
    await cli.ok(['settings', 'log-export', '--endpoint', receiver.url, '--min-level', 'warn'])
    const { stdout, stderr } = await cli.board(['settings', 'log-export', '--on', '--header-stdin', 'X-Api-Key'], {
      input: `${secret}\n`,
    })
    expect(stdout).toContain('headers\tX-Api-Key\n')
    expect(
      stdout + stderr + (await cli.ok(['settings', 'log-export', '--json'])) + (await cli.ok(['settings', 'get'])),
    ).not.toContain(secret)
    expect(await cli.json(['settings', 'log-export', '--test'])).toEqual({
      ok: true,
      delivered: true,
      status: 200,
      error: null,
    })
    expect(receiver.requests.at(-1)!.headers['x-api-key']).toBe(secret)
    expect(await cli.json(['settings', 'get', 'log-export'])).toMatchObject({
      enabled: true,
      endpoint: receiver.url,
      minLevel: 'warn',
    })
    expect(
      await cli.json(['settings', 'log-export', '--off', '--remove-header', 'x-api-key', '--compression', 'gzip']),
    ).toMatchObject({ enabled: false, headers: {}, compression: 'gzip' })
  })

  test('reads headers from a file, and not from an argument', async () => {
    const file = join(cli.home, 'export.json')
    writeFileSync(file, JSON.stringify({ endpoint: receiver.url, headers: { authorization: `Bearer ${secret}` } }))
    expect(await cli.json(['settings', 'log-export', '-F', file])).toMatchObject({
      headers: { authorization: '********' },
    })
    expect((await cli.board(['settings', 'set', 'log-export', '-f', 'headers={}'])).code).toBe(2)
    await cli.ok(['settings', 'set', 'log-export', '-f', 'minLevel=error'])
    expect(await cli.json(['settings', 'log-export'])).toMatchObject({
      minLevel: 'error',
      headers: { authorization: '********' },
    })
    expect((await cli.board(['settings', 'log-export', '--test', '--on'])).code).toBe(2)
    expect((await cli.board(['settings', 'log-export', '--endpoint', 'nonsense'])).stderr).toContain('endpoint')
  })

  test('settings of all groups are shown to a user without access to these', async () => {
    await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
    const { token } = await board.as().auth.register({ email: 'ada@example.org', password: 'correct horse' })
    const mine = await cli.json<Record<string, unknown>>(['settings', 'get'], { env: { BOARD_TOKEN: token } })
    expect(Object.keys(mine).sort()).toEqual([
      'agent-slots',
      'agents',
      'context-relay',
      'notifications',
      'shortcuts',
      'user',
    ])
    expect((await cli.board(['settings', 'get', 'log-export'], { env: { BOARD_TOKEN: token } })).code).toBe(4)
    expect((await cli.board(['logs'], { env: { BOARD_TOKEN: token } })).code).toBe(4)
  })
})

describe('board logs --audit', () => {
  const entries = async (...args: string[]) => fields(await cli.ok(['logs', '--audit', ...args]))

  test('prints who did what to which object, with which rights and from where, the newest last', async () => {
    const { id } = await board.client.organizations.create({ name: 'Audited' })
    await cli.ok(['settings', 'auth', 'on', '--registration', 'off'])
    const lines = await entries('--limit', '2')
    expect(lines.map(line => line.slice(2))).toEqual([
      [expect.any(String), 'organizations.create', `organization ${id}`, 'local', '127.0.0.1', ''],
      [expect.any(String), 'auth.setSettings', 'settings auth', 'local', '127.0.0.1', expect.stringContaining('=')],
    ])
    const [entry] = await cli.json<AuditEntry[]>(['logs', '--audit', '--action', 'organizations'])
    expect(entry).toMatchObject({ action: 'organizations.create', target: { kind: 'organization', id }, outcome: 'ok' })
    expect(await cli.ok(['logs', '--audit', '--actor', 'nobody-of-that-name'])).toBe('')
    expect(await cli.ok(['logs', '--audit'], { env: { BOARD_FORCE_TTY: '160' } })).toMatch(
      /WHO.*WHAT.*ON.*BY.*FROM.*\n.*organizations\.create/s,
    )
  })

  test('follows with -f, and rejects conflicting options', async () => {
    const going = cli.start(['logs', '--audit', '-f', '--action', 'organizations', '--limit', '1', '--json', 'action'])
    await eventually('the first entry', () => going.stdout.includes('organizations.create'), 15_000)
    await board.client.organizations.create({ name: 'Followed' })
    await eventually('the next one', () => going.stdout.split('\n').length > 2, 15_000)
    going.interrupt()
    expect((await cli.board(['logs', '--audit', '--level', 'warn'])).stderr).toContain(
      '--level and --audit are mutually exclusive',
    )
    expect((await cli.board(['logs', '--actor', 'x'])).stderr).toContain('--actor requires --audit')
  })
})
