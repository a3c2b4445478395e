import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Reply, RequestOptions, TestBoard } from '../support/servers/testBoard.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests read any field of an export
export type Doc = Record<string, any>

/** A file as the body of an import. */
export function fileOf(content: string | Uint8Array | Doc, filename = 'file.json'): RequestOptions {
  const bytes =
    typeof content === 'string'
      ? Buffer.from(content)
      : content instanceof Uint8Array
        ? content
        : Buffer.from(JSON.stringify(content))
  const head = `--transfer-boundary\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: application/octet-stream\r\n\r\n`
  return {
    raw: Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--transfer-boundary--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=transfer-boundary' },
  }
}

/** Imports a file with the query's fields. */
export const importFile = (
  board: TestBoard,
  query: Record<string, string>,
  content: string | Uint8Array | Doc,
  options: RequestOptions & { filename?: string } = {},
): Promise<Reply> => {
  const file = fileOf(content, options.filename)
  return board.request('POST', `/api/import?${new URLSearchParams(query)}`, {
    ...file,
    ...options,
    headers: { ...file.headers, ...options.headers },
  })
}

/** Imports a valid file, and returns the created records. */
export async function imported(
  board: TestBoard,
  query: Record<string, string>,
  content: string | Uint8Array | Doc,
  options: RequestOptions & { filename?: string } = {},
): Promise<Doc> {
  const reply = await importFile(board, query, content, options)
  expect([reply.status, reply.text.slice(0, 2000)]).toEqual([201, expect.any(String)])
  return reply.body.data
}

/** A rejected import: the paths and rules of its faults. */
export async function faultsOf(
  board: TestBoard,
  query: Record<string, string>,
  content: string | Uint8Array | Doc,
): Promise<string[]> {
  const reply = await importFile(board, query, content)
  expect([reply.status, reply.body?.error?.code], reply.text).toEqual([400, 'INVALID_IMPORT'])
  return reply.body.error.details.map(({ path, message }: Doc) => `${path} ${message}`)
}

export async function exported(board: TestBoard, projectId: string): Promise<Doc> {
  const reply = await board.request('GET', `/api/projects/${projectId}/export`)
  expect([reply.status, reply.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(reply.text))])
  return reply.body
}

/**
 * The content of a document without its ids: each id is replaced by the position of its record in its part. Omits descriptive
 * text, and when and by which program it was written.
 */
export function normal(document: Doc): Doc {
  const ids = Object.fromEntries(
    ['projects', 'boards', 'columns', 'cards', 'sessions', 'attachments'].map(part => [
      part,
      new Map<number, number>((document[part] ?? []).map(({ id }: Doc, index: number) => [id, index])),
    ]),
  )
  const ref = (part: string, id: number | null) => (id === null ? null : ids[part]!.get(id))
  const owners: Record<string, string> = {
    projectId: 'projects',
    boardId: 'boards',
    columnId: 'columns',
    mergedColumnId: 'columns',
    closedColumnId: 'columns',
    cardId: 'cards',
    sessionId: 'sessions',
    waitingSessionId: 'sessions',
    attachmentId: 'attachments',
    parentId: 'cards',
    discoveredFromId: 'cards',
    baseCardId: 'cards',
  }
  const renumber = (part: string, record: Doc): Doc =>
    Object.fromEntries(
      Object.entries(record).map(([field, value]) => {
        if (field === 'id') return [field, ref(part, value)]
        if (field === 'changes')
          return [
            field,
            value.map((change: Doc) =>
              change.field === 'parentId' ? { ...change, to: ref('cards', change.to && Number(change.to)) } : change,
            ),
          ]
        if (field === 'pipeline')
          return [field, value.map((step: Doc) => ({ ...step, columnId: ref('columns', step.columnId) }))]
        if (field === 'template') return [field, { ...value, columnId: ref('columns', value.columnId ?? null) }]
        if (field === 'blockedBy') return [field, value.map((id: number) => ref('cards', id)).sort()]
        return [field, owners[field] ? ref(owners[field], value) : value]
      }),
    )
  const parts = [
    'templates',
    'projects',
    'boards',
    'columns',
    'gates',
    'scripts',
    'schedules',
    'cards',
    'dependencies',
    'issues',
    'sessions',
    'messages',
    'reviews',
    'comments',
    'activity',
    'attachments',
    'contents',
  ]
  return {
    format: document.format,
    version: document.version,
    organization: document.organization,
    ...Object.fromEntries(
      parts.map(part => [part, (document[part] ?? []).map((record: Doc) => renumber(part, record))]),
    ),
  }
}

/** A minimal valid file of a board, and changes of its parts. */
export const minimalDocument = (path: string, change: Doc = {}): Doc => ({
  format: 'board',
  version: 1,
  projects: [{ id: 1, name: 'Imported', path }],
  boards: [{ id: 1, projectId: 1, name: 'Board', position: 0 }],
  columns: [
    { id: 1, boardId: 1, name: 'Ideas', columnType: 'backlog', position: 0 },
    { id: 2, boardId: 1, name: 'Doing', columnType: 'active', position: 1 },
    { id: 3, boardId: 1, name: 'Old', columnType: 'archive', position: 2 },
  ],
  cards: [{ id: 1, columnId: 1, position: 0, title: 'First' }],
  ...change,
})

/** The attachments' files, and leftovers of exports and imports on the disk. */
export const stored = (board: TestBoard): string[] => readdirSync(join(board.dataDir, 'attachments'))
export const underWay = (board: TestBoard): string[] => readdirSync(join(board.dataDir, 'transfers'))

/** Tables that the server writes without a request. */
const ofItself = [
  'unindexed_cards',
  'unindexed_remarks',
  'project_days',
  'event_cursors',
  'daemons',
  'leases',
  'counters',
]

/** The number of rows of each table except those. */
export async function rowCounts(board: TestBoard): Promise<Record<string, number>> {
  const { db } = board.server.app
  const tables = (
    await db.all<{ name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'card_t%' AND name NOT IN (${ofItself.map(name => `'${name}'`).join()})`,
    )
  ).map(({ name }) => name)
  return Object.fromEntries(
    await Promise.all(
      tables.map(async name => [
        name,
        (await db.get<{ total: number }>(`SELECT count(*) AS total FROM ${name}`))!.total,
      ]),
    ),
  )
}
