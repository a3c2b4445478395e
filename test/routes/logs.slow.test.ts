import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { reply, startReceiver, type OtlpReceiver } from '../support/receivers/otlpReceiver.ts'

let board: TestBoard
let receiver: OtlpReceiver
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  receiver = await startReceiver()
  projectId = (await board.client.projects.create({ name: 'Logged', path: board.folder('logged') })).id
})
afterAll(async () => {
  await board.close()
  await receiver.close()
})

type Query = Parameters<TestBoard['client']['logs']['list']>[0]
const list = (query: Query = {}) => board.client.logs.list(query)
const messages = async (query: Query = {}) => (await list(query)).map(({ message }) => message)
const log = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) =>
  board.server.app.logs.log(level, message, fields)

describe('the log reports', () => {
  test('the start of the server, and changes with their caller and route', async () => {
    expect((await list({ search: 'started' }))[0]).toMatchObject({
      level: 'info',
      source: 'server',
      fields: { url: board.url },
    })
    const made = await board.request('POST', '/api/cards', { body: { projectId, title: 'Logged card' } })
    expect((await list({ search: made.headers.get('x-request-id')! }))[0]).toMatchObject({
      level: 'info',
      source: 'http',
      message: 'POST /api/cards 201',
      requestId: made.headers.get('x-request-id'),
      fields: { method: 'POST', route: '/api/cards', status: 201, ms: expect.any(Number), caller: 'local 0' },
    })
  })

  test('jobs that are slow or fail, and not successful ones', async () => {
    const { webhooks } = board.server.app
    const { sendDue } = webhooks
    const entryOf = async (message: string) =>
      (await list({ search: 'periodic' })).find(each => each.message === message)
    webhooks.sendDue = () => delay(1100)
    const long = 'A periodic job was slow: send due webhook deliveries.'
    await eventually('a long job', async () => (await entryOf(long)) !== undefined)
    webhooks.sendDue = async () => {
      throw new Error('no luck today')
    }
    const failed = 'A periodic job failed: send due webhook deliveries.'
    await eventually('a failed job', async () => (await entryOf(failed)) !== undefined)
    webhooks.sendDue = sendDue
    expect(await entryOf(failed)).toMatchObject({
      level: 'error',
      source: 'timetable',
      fields: { cause: expect.stringMatching(/^Error: no luck today\n/) },
    })
    expect((await entryOf(long))!.level).toBe('info')
    for (const { level, fields } of await list({ search: 'periodic' }))
      if (level === 'info') expect(fields?.ms).toBeGreaterThanOrEqual(1000)
  })

  test('no successful reads', async () => {
    await board.client.projects.get({ id: projectId })
    expect(await messages({ search: '"GET"' })).toEqual([])
  })

  test('failures with their code and address, by route and not by path', async () => {
    await board.request('GET', '/api/projects/99999?token=x')
    await board.request('GET', '/nowhere/at/all?x=1')
    const [nowhere, unknown] = await list({ search: '404' })
    expect(unknown).toMatchObject({
      level: 'info',
      message: 'GET /api/projects/{id} 404 PROJECT_NOT_FOUND',
      fields: { code: 'PROJECT_NOT_FOUND', address: '127.0.0.1' },
    })
    expect(nowhere).toMatchObject({ message: 'GET (no route) 404 NOT_FOUND', fields: { route: null } })
    expect(JSON.stringify(await list())).not.toMatch(/99999|nowhere|token=/)
  })

  test('failed sign-ins as warnings, without the address of the account or the password', async () => {
    await board.request('POST', '/api/auth/login', {
      token: null,
      body: { email: 'eve@example.org', password: 'canary-password' },
    })
    expect((await list({ level: 'warn' }))[0]).toMatchObject({
      level: 'warn',
      message: 'A sign-in failed.',
      fields: { route: '/api/auth/login', status: 401, code: 'INVALID_CREDENTIALS', address: '127.0.0.1' },
    })
    expect(JSON.stringify(await list())).not.toMatch(/eve@|canary-password/)
  })

  test('errors with their stack', async () => {
    const { db } = board.server.app
    const { get } = db
    db.get = () => {
      throw new Error('the disk failed for this test')
    }
    const failed = await board.request('GET', `/api/projects/${projectId}`)
    db.get = get
    expect(failed.status).toBe(500)
    expect(failed.text).not.toContain('cheese')
    const [entry] = await list({ level: 'error' })
    expect(entry).toMatchObject({
      level: 'error',
      requestId: failed.headers.get('x-request-id'),
      message: 'GET /api/projects/{id} 500 INTERNAL',
      fields: { cause: expect.stringMatching(/^Error: the disk failed for this test\n +at /) },
    })
    await eventually('the file', () =>
      readFileSync(join(board.dataDir, 'logs', 'board.log'), 'utf8').includes('the disk failed for this test'),
    )
  })
})

describe('the list', () => {
  test('starts with the newest, with pages by id in both directions', async () => {
    for (let number = 0; number < 250; number++) log('info', `Paged entry ${number}`)
    const newest = await list({ search: 'paged' })
    expect(newest.map(({ message }) => message)).toEqual(
      Array.from({ length: 100 }, (_, at) => `Paged entry ${249 - at}`),
    )
    const last = Number(newest.at(-1)!.id)
    expect(await messages({ search: 'paged', before: last, limit: 2 })).toEqual(['Paged entry 149', 'Paged entry 148'])
    expect(await messages({ search: 'paged', after: last, limit: 2 })).toEqual(['Paged entry 151', 'Paged entry 152'])
    expect(await messages({ after: Number(newest[0]!.id) })).toEqual([])
    expect((await list({ limit: 5000 })).length).toBeLessThanOrEqual(1000)
  })

  test('filters entries by minimum level and by time', async () => {
    log('info', 'Levelled one')
    log('warn', 'Levelled two')
    log('error', 'Levelled three')
    expect(await messages({ level: 'warn', search: 'levelled' })).toEqual(['Levelled three', 'Levelled two'])
    expect(await messages({ level: 'error', limit: 1 })).toEqual(['Levelled three'])
    const [entry] = await list({ level: 'error', limit: 1 })
    expect(await messages({ since: entry!.at, level: 'error' })).toEqual(['Levelled three'])
    expect(await messages({ since: '2099-01-01T00:00:00.000Z' })).toEqual([])
  })

  test('is searched by the beginnings of words in any order, and by quoted words verbatim', async () => {
    log('info', 'The quick brown fox jumps', { animal: 'Vulpes', status: 500 })
    for (const search of [
      'quick',
      'qui',
      'FOX quick',
      'jumps brown',
      '"quick brown"',
      'vulpes',
      'animal',
      '"status 500"',
      'quick -fox',
      'the…quick',
    ])
      expect(await messages({ search }), search).toContain('The quick brown fox jumps')
    for (const search of ['uick', '"brown quick"', 'quick zebra', '"quick br"'])
      expect(await messages({ search }), search).toEqual([])
  })

  test('treats no text of a search as an operator or SQL', async () => {
    log('info', 'Hostile search')
    const hostile = [
      '"',
      '""',
      '"""',
      '*',
      'hostile*',
      '^hostile',
      'hostile AND',
      'hostile OR nothing',
      'NOT hostile',
      'NEAR(hostile search)',
      'hostile NEAR/2 search',
      'words:hostile',
      '{words} : hostile',
      '-words:hostile',
      '(hostile',
      'hostile)',
      "'; DROP TABLE entries; --",
      'a"b"c',
      '"unclosed',
      '%_%',
      '\\',
      '+',
      'hostile + search',
      '�',
      '\u200b',
      '日本',
      'é',
      '{}',
      '[]',
      ':',
      '. . .',
      'x'.repeat(500),
      '"'.repeat(500),
      '( '.repeat(200),
    ]
    for (const search of hostile)
      expect((await board.request('GET', `/api/logs?${new URLSearchParams({ search })}`)).status, search).toBe(200)
    expect(await messages({ search: 'hostile OR nothing' })).toEqual([])
    expect(await messages({ search: 'hostile*' })).toContain('Hostile search')
  })

  test('finds entries among thousands within milliseconds', async () => {
    for (let number = 0; number < 4000; number++) log('info', `Bulk entry ${number} of many`)
    await eventually('them to be written', () => board.server.app.logs.figures().database.queued === 0)
    const startedAtMs = performance.now()
    expect(await messages({ search: 'bulk 3999' })).toEqual(['Bulk entry 3999 of many'])
    expect(performance.now() - startedAtMs).toBeLessThan(500 * slowdown())
  })
})

describe('the export', () => {
  const header = 'Bearer canary-of-the-receiver'
  const settings = {
    enabled: false,
    endpoint: null,
    protocol: 'otlp-http',
    headers: {},
    minLevel: 'info',
    compression: 'none',
  }
  const set = (change: Parameters<TestBoard['client']['logs']['setExport']>[0]) => board.client.logs.setExport(change)
  const put = async (body: unknown) =>
    (await board.request('PUT', '/api/settings/log-export', { body })).body.error?.message

  test('is disabled by default, and a test reports that', async () => {
    expect(await board.client.logs.getExport()).toEqual(settings)
    expect(await board.client.logs.testExport()).toEqual({
      ok: false,
      delivered: false,
      status: null,
      error: 'No endpoint is set.',
    })
  })

  test('keeps header values sealed, returns a mask, and keeps masked and omitted values', async () => {
    const shown = {
      ...settings,
      endpoint: receiver.url,
      headers: { authorization: '********', 'X-Tenant': '********' },
    }
    expect(await set({ endpoint: receiver.url, headers: { authorization: header, 'X-Tenant': 'one' } })).toEqual(shown)
    expect(await set({ minLevel: 'warn' })).toEqual({ ...shown, minLevel: 'warn' })
    expect(await set({ minLevel: 'info', headers: { authorization: '********' } })).toEqual({
      ...shown,
      headers: { authorization: '********' },
    })
    const stored = JSON.stringify(await board.server.app.db.all('SELECT value FROM server_settings'))
    expect(stored).toContain(receiver.url)
    expect(stored).not.toContain('canary-of-the-receiver')
    expect(await board.client.logs.testExport()).toEqual({ ok: true, delivered: true, status: 200, error: null })
    expect(receiver.requests.at(-1)!.headers).toMatchObject({ authorization: header })
    expect(receiver.requests.at(-1)!.headers).not.toHaveProperty('x-tenant')
  })

  test('sends header values to no other address', async () => {
    expect(await put({ endpoint: 'http://127.0.0.1:9' })).toBe(
      'headers.authorization must be specified again, because the endpoint has another origin',
    )
    expect(await put({ endpoint: `${receiver.url}/other/path` })).toBeUndefined()
    expect((await set({ endpoint: 'http://127.0.0.1:9', headers: { authorization: header } })).endpoint).toBe(
      'http://127.0.0.1:9',
    )
    await set({ endpoint: receiver.url, headers: { authorization: header } })
  })

  test('rejects invalid settings and changes nothing', async () => {
    const before = await board.client.logs.getExport()
    const bad: Array<[object, string]> = [
      [{ endpoint: null, headers: {}, enabled: true }, 'endpoint'],
      [{ endpoint: null }, 'endpoint'],
      [{ endpoint: 'ftp://x' }, 'endpoint'],
      [{ endpoint: 'nonsense' }, 'endpoint'],
      [{ endpoint: 'http://u:p@h' }, 'endpoint'],
      [{ endpoint: 'http://h/?key=x' }, 'endpoint'],
      [{ endpoint: 'http://h/#x' }, 'endpoint'],
      [{ headers: { 'Content-Type': 'x' } }, 'headers'],
      [{ headers: { host: 'x' } }, 'headers'],
      [{ headers: { 'a b': 'x' } }, 'headers'],
      [{ headers: { a: 'x\r\ny: z' } }, 'headers'],
      [{ headers: { a: 'ü' } }, 'headers'],
      [{ headers: { a: '1', A: '2' } }, 'headers'],
      [{ headers: { unknown: '********' } }, 'headers'],
      [{ protocol: 'otlp-grpc' }, 'protocol'],
      [{ minLevel: 'debug' }, 'minLevel'],
      [{ enabled: 'yes' }, 'enabled'],
      [{ compression: 'br' }, 'compression'],
      [{ other: 1 }, 'other'],
      [{ headers: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`h${at}`, 'x'])) }, 'headers'],
    ]
    for (const [body, field] of bad) {
      const { status, body: answer } = await board.request('PUT', '/api/settings/log-export', { body })
      expect([status, answer.error.code, answer.error.message.includes(field)], JSON.stringify(body)).toEqual([
        400,
        'VALIDATION_FAILED',
        true,
      ])
    }
    expect(await board.client.logs.getExport()).toEqual(before)
  })

  test('sends later entries completely and without a loop, until it is disabled', async () => {
    receiver.requests.length = 0
    await set({ enabled: true })
    log('warn', 'Exported warning', { status: 503, source: 'http' })
    await board.request('POST', '/api/cards', { body: { projectId, title: 'Exported card' } })
    await eventually('the entries', () =>
      ['Exported warning', 'POST /api/cards 201'].every(wanted =>
        receiver.records().some(({ message }) => message === wanted),
      ),
    )
    expect(receiver.misfits).toEqual([])
    expect(receiver.records().find(({ message }) => message === 'Exported warning')).toMatchObject({
      severityNumber: 13,
      attributes: { 'board.source': 'http', 'http.response.status_code': 503 },
    })
    const requests = receiver.requests.length
    await new Promise(resolve => {
      setTimeout(resolve, 1500)
    })
    expect(receiver.requests.length).toBeLessThanOrEqual(requests + 1)
    await set({ enabled: false })
    log('error', 'Not exported')
    await new Promise(resolve => {
      setTimeout(resolve, 1200)
    })
    expect(receiver.records().map(({ message }) => message)).not.toContain('Not exported')
  })

  test('continues after a restart of the server, with its headers', async () => {
    const dataDir = board.folder('restarted')
    const first = await startBoard({ dataDir })
    await first.client.logs.setExport({
      enabled: true,
      endpoint: receiver.url,
      headers: { authorization: 'Bearer of-the-restarted' },
    })
    await first.close()
    const second = await startBoard({ dataDir })
    await eventually('an entry with the header', () =>
      receiver.requests.some(
        ({ headers, text }) =>
          headers.authorization === 'Bearer of-the-restarted' && text.includes('The server has started.'),
      ),
    )
    await second.close()
  })

  test('a test reports the response without the sent data', async () => {
    const tested = async (status: number, body: unknown) => {
      receiver.answer = response => reply(response, status, body)
      const result = await board.client.logs.testExport()
      receiver.answer = undefined
      return result
    }
    expect(await tested(401, { message: `${header} is not known here` })).toEqual({
      ok: false,
      delivered: false,
      status: 401,
      error: 'it answered 401: [redacted] is not known here',
    })
    expect(
      await tested(200, { partialSuccess: { rejectedLogRecords: 1, errorMessage: 'canary-of-the-receiver' } }),
    ).toEqual({ ok: false, delivered: false, status: 200, error: '[redacted]' })
    expect(await tested(503, 'nonsense')).toMatchObject({ ok: false, delivered: false, status: 503 })
    await set({ endpoint: 'http://127.0.0.1:1', headers: {} })
    expect(await board.client.logs.testExport()).toEqual({
      ok: false,
      delivered: false,
      status: null,
      error: 'ECONNREFUSED',
    })
  })
})
