import { afterEach, beforeEach, expect, test } from 'vitest'
import { toEntry } from '../../src/logs/entry.ts'
import { createExporter, exportLimits, type Exporter, type Target } from '../../src/logs/exporter.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { reply, startReceiver, type OtlpReceiver } from '../support/receivers/otlpReceiver.ts'

const quick = { ...exportLimits, delayMs: 5, firstRetryMs: 20, maxRetryMs: 80 }
const token = 'Bearer canary-of-the-exporter'
let receiver: OtlpReceiver
let exporter: Exporter
let said: Array<{ level: string; message: string; fields: any }>
beforeEach(async () => {
  receiver = await startReceiver()
  said = []
})
afterEach(async () => {
  await exporter.close()
  await receiver.close()
})

function start(limits: Partial<typeof exportLimits> = {}, target: Partial<Target> = {}): void {
  exporter = createExporter((level, message, fields) => said.push({ level, message, fields }), { ...quick, ...limits })
  exporter.use({
    endpoint: receiver.url,
    headers: { authorization: token },
    minLevel: 'info',
    compression: 'none',
    ...target,
  })
}
const say = (count: number, from = 0) => {
  for (let number = from; number < from + count; number++) exporter.add(toEntry('info', `Entry ${number}`, { number }))
}
const received = () => receiver.records().map(({ attributes }) => attributes.number)
const counting = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at)
const idle = () =>
  eventually('the queue to be sent', () => exporter.figures().queued === 0 && exporter.figures().sent > 0)

test('a record has its time, its severity and typed attributes, in the encoding of the published schema', async () => {
  start()
  exporter.add(
    toEntry(
      'info',
      'GET /api/projects 200',
      { source: 'http', requestId: 'r-1', method: 'GET', route: '/api/projects', status: 200, ms: 1.25 },
      '2026-01-02T03:04:05.678Z',
    ),
  )
  exporter.add(
    toEntry('warn', 'Odd', { ok: true, list: ['a', 1], nested: { deep: { n: -4 } }, gone: null, text: 'ünïcode' }),
  )
  exporter.add(toEntry('error', 'Broken', { cause: 'Error: x\n    at y' }))
  await idle()
  expect(receiver.misfits).toEqual([])
  expect(receiver.records()).toEqual([
    {
      message: 'GET /api/projects 200',
      severityNumber: 9,
      attributes: {
        'board.source': 'http',
        'board.request_id': 'r-1',
        'http.request.method': 'GET',
        'http.route': '/api/projects',
        'http.response.status_code': 200,
        ms: 1.25,
      },
    },
    {
      message: 'Odd',
      severityNumber: 13,
      attributes: { 'board.source': 'server', ok: true, list: ['a', 1], nested: { deep: { n: -4 } }, text: 'ünïcode' },
    },
    {
      message: 'Broken',
      severityNumber: 17,
      attributes: { 'board.source': 'server', 'exception.stacktrace': 'Error: x\n    at y' },
    },
  ])
  const [first] = receiver.requests
  expect(first!.body!.resourceLogs[0]!.scopeLogs[0]!.logRecords[0]).toMatchObject({
    timeUnixNano: '1767323045678000000',
    severityText: 'INFO',
  })
  expect(receiver.resource()).toMatchObject({
    'service.name': 'board',
    'service.version': expect.stringMatching(/^\d/),
  })
  expect(first).toMatchObject({
    path: 'POST /v1/logs',
    headers: { authorization: token, 'content-type': 'application/json' },
  })
})

test('many entries are sent in few requests, in order, and compressed with gzip if configured', async () => {
  start({}, { compression: 'gzip', endpoint: `${receiver.url}/own/path` })
  say(1200)
  await idle()
  expect(received()).toEqual(counting(1200))
  expect(receiver.requests.length).toBeLessThanOrEqual(4)
  expect(receiver.requests[0]).toMatchObject({ path: 'POST /own/path', headers: { 'content-encoding': 'gzip' } })
  expect(receiver.requests[0]!.bytes.length).toBeLessThan(receiver.requests[0]!.text.length / 4)
})

test('only entries of the minimum level and above are sent', async () => {
  start({}, { minLevel: 'warn' })
  exporter.add(toEntry('info', 'no'))
  exporter.add(toEntry('warn', 'yes'))
  exporter.add(toEntry('error', 'yes'))
  await idle()
  expect(receiver.records().map(({ message }) => message)).toEqual(['yes', 'yes'])
})

test.each([429, 502, 503, 504])('a batch that gets %i is sent again, in order and once', async status => {
  start()
  let refusals = 2
  receiver.answer = response => {
    if (--refusals === 0) receiver.answer = undefined
    reply(response, status, { message: 'Later.' })
  }
  say(3)
  await idle()
  expect(received()).toEqual([0, 1, 2])
  expect(said.map(({ level, message }) => `${level} ${message}`)).toEqual([
    'warn The log export does not work.',
    'info The log export works again.',
  ])
})

test('entries are sent again if a response does not end', async () => {
  start()
  receiver.answer = response => {
    receiver.answer = undefined
    response.on('drain', () => response.write('x'.repeat(65_536)))
    response.writeHead(200).write('x'.repeat(1024 * 1024))
  }
  say(3)
  await idle()
  expect(received()).toEqual([0, 1, 2])
  expect(said[0]!.fields).toEqual({ why: 'its response is larger than 256 KiB', willRetry: true })
})

test('it waits for the time in Retry-After', async () => {
  start()
  receiver.answer = response => {
    receiver.answer = undefined
    reply(response, 503, {}, { 'retry-after': '1' })
  }
  say(1)
  await idle()
  const [first, second] = receiver.requests
  expect(second!.atMs - first!.atMs).toBeGreaterThan(950)
})

test('a permanently rejected batch is dropped and counted, and later ones are sent', async () => {
  start()
  receiver.answer = response => {
    receiver.answer = undefined
    reply(response, 400, { message: `Go away, ${token}` })
  }
  say(5)
  await eventually('the refusal', () => exporter.figures().dropped === 5)
  say(2, 5)
  await idle()
  expect(received()).toEqual([5, 6])
  expect(exporter.figures()).toEqual({ queued: 0, dropped: 5, sent: 2 })
  expect(said[0]!.fields).toEqual({ why: 'it answered 400: Go away, [redacted]', willRetry: false })
})

test('a partially accepted batch is not sent again, and its rejected entries are counted', async () => {
  start()
  receiver.answer = response => {
    receiver.answer = undefined
    reply(response, 200, { partialSuccess: { rejectedLogRecords: '3', errorMessage: 'too old' } })
  }
  say(5)
  await eventually('the answer', () => exporter.figures().sent === 2)
  expect(exporter.figures()).toEqual({ queued: 0, dropped: 3, sent: 2 })
  expect(receiver.requests).toHaveLength(1)
  expect(said[0]!.fields.why).toBe('it rejected 3 entries: too old')
})

test('a redirect is not followed, so that the headers of a request stay with their target', async () => {
  const other = await startReceiver()
  start()
  receiver.answer = response => {
    response.writeHead(307, { location: `${other.url}/v1/logs` }).end()
  }
  say(1)
  await eventually('the refusal', () => exporter.figures().dropped === 1)
  expect(other.requests).toEqual([])
  await other.close()
})

test('an offline receiver only fills a bounded queue, which loses its oldest entries; when it is back it gets the rest', async () => {
  const { port } = new URL(receiver.url)
  await receiver.close()
  start({ maxQueued: 100, maxConcurrent: 30 })
  for (let round = 0; round < 10; round++) {
    say(100, round * 100)
    await new Promise(resolve => {
      setTimeout(resolve, 10)
    })
    expect(exporter.figures().queued).toBeLessThanOrEqual(100)
  }
  await eventually('two tries at least', () => said.length > 0)
  receiver = await startReceiver(Number(port))
  await eventually('it to catch up', () => received().includes(999))
  await idle()
  const numbers = received() as number[]
  // Entries in flight at the overflow are older than the entries that were lost then.
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
  expect(numbers.slice(-70)).toEqual(counting(70, 930))
  expect(numbers.length + exporter.figures().dropped).toBe(1000)
  expect(said.map(({ message }) => message)).toEqual(['The log export does not work.', 'The log export works again.'])
})

test('a receiver that never responds blocks neither the server nor its stop', async () => {
  start()
  receiver.answer = () => {
    /* It hangs. */
  }
  say(3)
  await eventually('the request', () => receiver.requests.length === 1)
  say(10_000, 3)
  expect(exporter.figures().queued).toBeLessThanOrEqual(exportLimits.maxQueued)
  const startedAtMs = performance.now()
  await exporter.close()
  expect(performance.now() - startedAtMs).toBeLessThan(4000 * slowdown())
})

test('queued entries are sent at the stop, and to the new receiver after a change', async () => {
  const other = await startReceiver()
  start({ delayMs: 60_000 })
  say(2)
  exporter.use({ endpoint: other.url, headers: {}, minLevel: 'info', compression: 'none' })
  await eventually('the entries at the new receiver', () => other.records().length === 2)
  say(2, 2)
  await exporter.close()
  expect(other.records().map(({ attributes }) => attributes.number)).toEqual([0, 1, 2, 3])
  expect(receiver.requests).toEqual([])
  await other.close()
})
