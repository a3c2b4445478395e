import LibsqlDatabase from 'libsql'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { insertCard, listCards, listExternalJson, readCard, updateCard, type CardRow } from '../../src/store/cards.ts'
import { externalCard } from '../../src/views/cards.ts'
import { serveParent, type Job, type Sample, type WorkKind } from './ipc.ts'
import { placeholder, statementOf, type Statement } from './statements.ts'
import { pageSize } from './works.ts'

/**
 * The bare servers: node:http, one connection to a copy of the board's database with the same durability, and the one
 * statement of the store that the work cannot do without. They check nothing and know nothing else.
 */
type Make = (job: Job, sample: Sample) => Promise<RequestListener>

const { databaseFile } = JSON.parse(process.argv[2]!) as { databaseFile: string }
const database = new LibsqlDatabase(databaseFile)
for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'cache_size = -16000', 'temp_store = MEMORY']) database.exec(`PRAGMA ${pragma}`)

const cardId = placeholder('card') as unknown as number

const raw: Make = async ({ kind }, sample) => (request, response) => {
  if (kind === 'get' || kind === 'list') return answer(response, sample, sample.body)
  request.resume().on('end', () => answer(response, sample, sample.body))
}

const get: Make = async ({ projectId }, sample) => {
  const { statement, bind } = prepare(await statementOf(db => readCard(db, projectId, cardId)))
  return (request, response) => {
    const row = statement.get(bind({ card: lastNumber(request.url!, '/') })) as CardRow
    answer(response, sample, `{"data":${JSON.stringify(externalCard(row))}}`)
  }
}

/** The page as the database writes it. */
const list: Make = async ({ projectId }, sample) => {
  const { statement, bind } = prepare(await statementOf(db => listExternalJson(db, { projectId, limit: pageSize, cursor: cardId })))
  return (request, response) => {
    const { items, lastId } = statement.get(bind({ card: lastNumber(request.url!, '=') })) as { items: string; lastId: number }
    answer(response, sample, `{"data":{"items":[${items}],"nextCursor":${lastId}}}`)
  }
}

/** The page as rows that become objects and then text. */
const listOfObjects: Make = async ({ projectId }, sample) => {
  const { statement, bind } = prepare(await statementOf(db => listCards(db, { projectId, limit: pageSize, cursor: cardId })))
  return (request, response) => {
    const rows = statement.all(bind({ card: lastNumber(request.url!, '=') })) as CardRow[]
    const items = rows.map(row => ({ ...externalCard(row), locks: undefined, sessions: undefined }))
    answer(response, sample, JSON.stringify({ data: { items, nextCursor: items.at(-1)!.id } }))
  }
}

const create: Make = async (job, sample) => {
  const card = { ...job, kind: 'kanban' as const, title: placeholder('title'), prompt: placeholder('prompt'), labels: '[]', pipeline: '[]', groupId: null, archivedAt: null, lastAgentAction: null, deferred: true, autoMode: false, useWorktree: true, unread: true }
  const { statement, bind } = prepare(await statementOf(tx => insertCard(tx, card)))
  const { data } = JSON.parse(sample.body) as { data: Record<string, unknown> }
  return (request, response) => readBody<{ title: string; prompt: string }>(request, ({ title, prompt }) => {
    const { lastInsertRowid } = statement.run(bind({ title, prompt }))
    answer(response, sample, `{"data":${JSON.stringify({ ...data, id: Number(lastInsertRowid), title, prompt })}}`)
  })
}

const move: Make = async ({ boardId }, sample) => {
  const { statement, bind } = prepare(await statementOf(tx => updateCard(tx, cardId, { columnId: placeholder('column'), boardId, archivedAt: null })))
  const { data } = JSON.parse(sample.body) as { data: Record<string, unknown> }
  return (request, response) => readBody<{ targetColumnId: number; position: number }>(request, ({ targetColumnId, position }) => {
    const card = Number(request.url!.split('/').at(-2))
    statement.run(bind({ card, column: targetColumnId }))
    answer(response, sample, `{"data":${JSON.stringify({ ...data, id: card, columnId: targetColumnId, position })}}`)
  })
}

const kinds: Record<WorkKind, Make> = { get, list, create, move }

function prepare({ sql, bind }: Statement) {
  return { statement: database.prepare(sql), bind }
}

const lastNumber = (url: string, after: string) => Number(url.slice(url.lastIndexOf(after) + 1))

function readBody<T>(request: IncomingMessage, use: (body: T) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => use(JSON.parse(Buffer.concat(chunks).toString()) as T))
}

/** With the headers that the board sends. */
function answer(response: Parameters<RequestListener>[1], { status, headers }: Sample, body: string): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}

const made = new Map<string, RequestListener>()
let listener: RequestListener = (_, response) => response.end()
const server = createServer((request, response) => listener(request, response))
server.listen(0, '127.0.0.1', () => serveParent((server.address() as AddressInfo).port, {
  use: async (job, sample) => {
    const key = JSON.stringify(job)
    listener = made.get(key) ?? await (job.floor === 'raw' ? raw : job.floor === 'objects' ? listOfObjects : kinds[job.kind])(job, sample)
    made.set(key, listener)
  },
  stop: () => { database.close() },
}))
