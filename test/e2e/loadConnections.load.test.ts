import { mkdtempSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hideAgents } from '../support/servers/testBoard.ts'
import { figuresOf } from '../support/run/writtenFigures.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { expectQuick, memoryMiB, percentile, shownAnswers, startProbe, watchMemory } from './measure.ts'

/** BOARD_TEST_CONNECTIONS=500 for the full load, with files of the default maximum size. */
const isLong = process.env.BOARD_TEST_CONNECTIONS !== undefined
const connections = Number(process.env.BOARD_TEST_CONNECTIONS ?? 150)
const bodies = 20
const bodyBytes = 2 ** 30
const maxMoreMiB = 50
const quickMs = 100
const goneWithinMs = 15_000
/** The pause between two new connections. */
const everyMs = 2

const root = mkdtempSync(join(tmpdir(), 'board-load-connections-'))
const board = boardProcess(
  join(root, 'data'),
  { HOME: root },
  isLong ? [] : ['--max-attachment', '4M', '--max-import', '8M'],
)
let cardPath: string
const moreMiB: number[] = []
const note = figuresOf('test/e2e/loadConnections.load.test.ts', {
  BOARD_TEST_CONNECTIONS: process.env.BOARD_TEST_CONNECTIONS,
})

beforeAll(async () => {
  hideAgents(join(root, 'data'))
  await board.start()
  const { id: projectId } = await board.client.projects.create({ name: 'Load', path: root })
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Load' })
  cardPath = `/api/projects/${projectId}/cards/${cardId}`
})
afterAll(() => clearAway(board, root))

const chunk = Buffer.alloc(65_536, 'x')
const part = Buffer.from(
  '--x\r\nContent-Disposition: form-data; name="file"; filename="x.bin"\r\nContent-Type: application/octet-stream\r\n\r\n',
)

/** Sends a body of 1 GiB as a stream, until the response. Resolves to status, code and the number of sent bytes; rejects if the connection breaks without a response. */
function sendLarge(
  method: string,
  path: string,
  contentType: string,
  isChunked: boolean,
): Promise<{ status: number; code: string; sentBytes: number }> {
  return new Promise((resolve, reject) => {
    let sentBytes = 0
    const sent = request(board.url + path, {
      method,
      agent: false,
      headers: {
        authorization: `Bearer ${board.token}`,
        'content-type': contentType,
        ...(!isChunked && { 'content-length': bodyBytes }),
      },
    })
    const send = () => {
      while (sentBytes < bodyBytes && !sent.destroyed) {
        const piece =
          sentBytes === 0 && contentType.startsWith('multipart')
            ? Buffer.concat([part, chunk]).subarray(0, chunk.length)
            : chunk
        sentBytes += piece.length
        if (!sent.write(piece)) return void sent.once('drain', send)
      }
      sent.end()
    }
    sent.on('error', reject).on('response', answer => {
      let text = ''
      answer
        .setEncoding('utf8')
        .on('data', more => {
          text += more
        })
        .on('error', reject)
        .on('end', () => {
          resolve({ status: answer.statusCode!, code: JSON.parse(text).error.code, sentBytes })
          sent.destroy()
        })
    })
    send()
  })
}

/** The name, method and path of a case, and the kind of its body. */
const kinds = [
  ['JSON', 'POST', () => '/api/cards', 'application/json'],
  ["a stranger's JSON", 'POST', () => '/api/auth/login', 'application/json'],
  ['an attachment', 'POST', () => `${cardPath}/attachments`, 'multipart/form-data; boundary=x'],
  ['an import', 'POST', () => '/api/import?format=board', 'multipart/form-data; boundary=x'],
] as const

const all = kinds.flatMap(([name, ...kind]) => [
  { name: `${name}, with their length`, kind, isChunked: false },
  { name: `${name}, in chunks`, kind, isChunked: true },
])
test.each(all)(
  'twenty concurrent bodies of 1 GB of $name, get 413 and use no memory',
  async ({ name, kind: [method, path, contentType], isChunked }) => {
    const before = memoryMiB(board.pid)
    const [endWatch, probe, began] = [watchMemory(board.pid), await startProbe(board), performance.now()]
    const answers = await Promise.all(
      Array.from({ length: bodies }, () => sendLarge(method, path(), contentType, isChunked)),
    )
    const tookMs = performance.now() - began
    const [most, quick] = [endWatch(), await probe.end()]
    process.stdout.write(
      `${bodies} bodies of 1 GB, ${name}: ${tookMs.toFixed(0)} ms, ${(Math.max(...answers.map(({ sentBytes }) => sentBytes)) / 2 ** 20).toFixed(0)} MiB sent at most each; ${(most - before).toFixed(0)} MiB more memory, aim ${maxMoreMiB}; ${shownAnswers(quick)}\n`,
    )
    expect(answers.map(({ status, code }) => [status, code])).toEqual(answers.map(() => [413, 'BODY_TOO_LARGE']))
    expect(most - before).toBeLessThan(maxMoreMiB)
    moreMiB.push(most - before)
  },
  isLong ? 400_000 : 60_000,
)

/** A slow client: the part that it sends immediately, and the part that it sends byte by byte. */
interface Slow {
  socket: Socket
  received: string
  goneAfterMs: number | undefined
}

function openSlow(first: string, piece: string, pieceEveryMs: number): Slow {
  const began = performance.now()
  const socket = connect(Number(new URL(board.url).port), '127.0.0.1')
  const slow: Slow = { socket, received: '', goneAfterMs: undefined }
  const timer = setInterval(() => {
    if (socket.writable) socket.write(piece)
  }, pieceEveryMs)
  socket
    .on('data', data => {
      slow.received += String(data)
    })
    .on('error', () => {
      /* The server can drop it. */
    })
    .on('close', () => {
      clearInterval(timer)
      slow.goneAfterMs = performance.now() - began
    })
  if (first !== '') socket.write(first)
  return slow
}

const head = (method: string, path: string, headers = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
const authorization = () => `Authorization: Bearer ${board.token}\r\n`
const json = 'Content-Type: application/json\r\nContent-Length: 100000\r\n'

/** The slow clients: the immediate part, and the slow one. */
const ways: Array<[string, () => string, string]> = [
  ['that send nothing', () => '', ''],
  ['whose head is slow', () => 'GET /api/health HTTP/1.1\r\nHost: localhost\r\n', 'X-A: b\r\n'],
  [
    'whose second head is slow',
    () => `${head('GET', '/api/health')}GET /api/health HTTP/1.1\r\nHost: localhost\r\n`,
    'X-A: b\r\n',
  ],
  ['without authentication whose body is slow', () => head('POST', '/api/auth/login', json), ' '],
  ['whose JSON is slow', () => head('POST', '/api/cards', authorization() + json), ' '],
  ['whose body is slow after a rejection', () => head('POST', '/api/cards', json), ' '],
  ['whose body is slow on a route without input', () => head('GET', '/api/health', json), ' '],
  ['whose body is slow on a missing route', () => head('POST', '/nowhere', json), ' '],
]

test(`${connections} slow connections are closed within ${goneWithinMs / 1000} s, and other requests get quick responses in that time`, async () => {
  const before = memoryMiB(board.pid)
  const kept = openSlow(head('GET', '/api/health'), '', 500)
  const probe = await startProbe(board)
  const began = performance.now()
  const slow = await Promise.all(
    Array.from({ length: connections }, async (_, at) => {
      const [way, first, piece] = ways[at % ways.length]!
      await delay(at * everyMs)
      return { way, client: openSlow(first(), piece, 500) }
    }),
  )
  await eventually(
    'the end of all',
    () => slow.every(({ client }) => client.goneAfterMs !== undefined),
    isLong ? 60_000 : 30_000,
  ).catch(() => {
    /* Reported below. */
  })
  const tookMs = performance.now() - began
  const answers = await probe.end()
  const longest = ways.map(
    ([way]) =>
      [
        way,
        Math.max(...slow.filter(each => each.way === way).map(({ client }) => client.goneAfterMs ?? Infinity)),
      ] as const,
  )
  process.stdout.write(
    `${connections} slow connections gone after ${tookMs.toFixed(0)} ms: ${longest.map(([way, ms]) => `${way} ${ms.toFixed(0)}`).join(', ')}; ${(memoryMiB(board.pid) - before).toFixed(0)} MiB more; ${shownAnswers(answers)}\n`,
  )
  for (const { client } of slow) client.socket.destroy()
  kept.socket.write(head('GET', '/api/health', 'Connection: close\r\n'))
  await eventually('the end of a connection that was kept open', () => kept.goneAfterMs)
  expect(kept.received.match(/HTTP\/1\.1 200 /g)).toHaveLength(2)
  expect(longest.filter(([, ms]) => ms > goneWithinMs)).toEqual([])
  expectQuick(answers, quickMs)
  note(
    `${bodies} bodies of 1 GB at once, rejected: maximum growth of memory, ${moreMiB.length} kinds`,
    Math.max(...moreMiB),
    'MiB',
    { atMost: maxMoreMiB },
  )
  note(`${connections} slow connections: all are closed after`, tookMs, 'ms', {
    atMost: goneWithinMs + connections * everyMs,
  })
  const beside = percentile(answers.machine, 0.99)
  note('… other responses in that time, p99', percentile(answers.reads, 0.99), 'ms', { atMost: quickMs, beside })
  note('… those of a server that does nothing, p99', beside, 'ms')
})
