import type LibsqlDatabase from 'libsql'
import type { IncomingMessage, RequestListener } from 'node:http'
import { CardItem } from '../../src/contract/cards/cardRecords.ts'
import { cardFields } from '../../src/store/cards/cardFields.ts'
import {
  insertCard,
  listCards,
  listExternalJson,
  readCard,
  updateCard,
  type CardRow,
} from '../../src/store/cards/cards.ts'
import { cardFor, externalCard, hasActiveAgent } from '../../src/views/cards.ts'
import { viewOf } from '../../src/views/view.ts'
import type { Job, Sample, WorkKind } from './ipc.ts'
import { placeholder, statementOf, type Statement } from './statements.ts'
import { pageSize } from './works.ts'

/** Creates the work of a bare server for a request: the one statement of the store that is indispensable. It validates nothing. */
type Make = (job: Job, sample: Sample) => Promise<RequestListener>

const cardItem = viewOf(cardFields, CardItem, 'text', (card: CardRow) => ({
  hasActiveAgent: hasActiveAgent(card),
  children: { total: card.childrenTotal, done: card.childrenDone },
}))
const cardId = placeholder('card') as unknown as number

export function floorWorks(database: LibsqlDatabase.Database): (job: Job, sample: Sample) => Promise<RequestListener> {
  const prepare = ({ sql, bind }: Statement) => ({ statement: database.prepare(sql), bind })

  const get: Make = async ({ projectId, via }, sample) => {
    const { statement, bind } = prepare(await statementOf(db => readCard(db, projectId, cardId)))
    const view = via === 'key' ? externalCard : cardFor({ userId: 0 })
    return (request, response) => {
      const row = statement.get(bind({ card: lastNumber(request.url!, '/') })) as CardRow
      answer(response, sample, `{"data":${JSON.stringify(view(row))}}`)
    }
  }

  /** The page as JSON from the database. */
  const list: Make = async ({ projectId }, sample) => {
    const { statement, bind } = prepare(
      await statementOf(db => listExternalJson(db, { projectId, limit: pageSize, cursor: cardId })),
    )
    return (request, response) => {
      const { json } = statement.get(bind({ card: lastNumber(request.url!, '=') })) as { json: string }
      answer(response, sample, `{"data":${json}}`)
    }
  }

  /** The page as rows that are converted to objects and then to text. */
  const listOfObjects: Make = async ({ projectId, via }, sample) => {
    const { statement, bind } = prepare(
      await statementOf(db => listCards(db, { projectId, limit: pageSize, cursor: cardId })),
    )
    return (request, response) => {
      const rows = statement.all(bind({ card: lastNumber(request.url!, '=') })) as CardRow[]
      if (via === 'sign-in') return answer(response, sample, JSON.stringify({ data: rows.map(cardItem) }))
      const items = rows.map(row => ({
        ...externalCard(row),
        locks: undefined,
        sessions: undefined,
      }))
      answer(response, sample, JSON.stringify({ data: { items, nextCursor: items.at(-1)!.id } }))
    }
  }

  const create: Make = async (job, sample) => {
    const signedIn = job.via === 'sign-in'
    const card = {
      ...job,
      kind: 'kanban' as const,
      title: placeholder('title'),
      prompt: placeholder('prompt'),
      labels: '[]',
      pipeline: '[]',
      groupId: null,
      archivedAt: null,
      lastAgentAction: null,
      deferred: !signedIn,
      autoMode: false,
      useWorktree: true,
      unread: !signedIn,
    }
    const { statement, bind } = prepare(await statementOf(tx => insertCard(tx, card)))
    const { data } = JSON.parse(sample.body) as { data: Record<string, unknown> }
    return (request, response) =>
      readBody<{ title: string; prompt: string }>(request, ({ title, prompt }) => {
        const { lastInsertRowid } = statement.run(bind({ title, prompt }))
        answer(
          response,
          sample,
          `{"data":${JSON.stringify({ ...data, id: signedIn ? String(lastInsertRowid) : Number(lastInsertRowid), title, prompt })}}`,
        )
      })
  }

  const move: Make = async ({ via }, sample) => {
    const { statement, bind } = prepare(await statementOf(tx => updateCard(tx, cardId, {})))
    const { data } = JSON.parse(sample.body) as { data: Record<string, unknown> }
    return (request, response) =>
      readBody<{ targetColumnId: number; columnId: string; position: number }>(
        request,
        ({ targetColumnId, columnId, position }) => {
          const card = Number(request.url!.split('/').at(-2))
          statement.run(bind({ card }))
          answer(
            response,
            sample,
            `{"data":${JSON.stringify({ ...data, id: via === 'key' ? card : String(card), columnId: targetColumnId ?? columnId, position })}}`,
          )
        },
      )
  }

  const kinds: Partial<Record<WorkKind, Make>> = { get, list, create, move }
  return (job, sample) =>
    (job.floor === 'raw' ? raw : job.floor === 'objects' ? listOfObjects : kinds[job.kind]!)(job, sample)
}

const raw: Make =
  async ({ kind }, sample) =>
  (request, response) => {
    if (kind !== 'create' && kind !== 'move') return answer(response, sample, sample.body)
    request.resume().on('end', () => answer(response, sample, sample.body))
  }

const lastNumber = (url: string, after: string) => Number(url.slice(url.lastIndexOf(after) + 1))

export function readBody<T>(request: IncomingMessage, use: (body: T) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => use(JSON.parse(Buffer.concat(chunks).toString()) as T))
}

/** With the headers that the board sends. */
function answer(response: Parameters<RequestListener>[1], { status, headers }: Sample, body: string): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}
