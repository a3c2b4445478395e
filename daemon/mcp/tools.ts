import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import type { App } from '../../src/app.ts'
import type { BoardToolName } from '../../src/contract/agents/boardTools.ts'
import { CardOrder } from '../../src/contract/cards/cardOrder.ts'
import { Plan, PlanFilter, type Assignee } from '../../src/contract/cards/cardPlan.ts'
import { contract } from '../../src/contract/index.ts'
import { invalid, Problem } from '../../src/contract/errors.ts'
import { CardStatus, integer, Labels, Prompt, queryInteger, refTo, text, Title } from '../../src/contract/fields.ts'
import { noteAction } from '../../src/domain/agents/agentActions.ts'
import { saveFile } from '../../src/files/attachmentFiles.ts'
import * as attachments from '../../src/domain/cards/attachments.ts'
import * as cards from '../../src/domain/cards/cards.ts'
import * as reviews from '../../src/cardWork/reviews.ts'
import * as schedules from '../../src/domain/automation/schedules.ts'
import { listCards, listSorted, type CardRow } from '../../src/store/cards/cards.ts'
import { listProjectColumns } from '../../src/store/boards/columns.ts'
import { attachment } from '../../src/views/attachments.ts'
import { cardDetail } from '../../src/views/cards.ts'
import { answeredComment } from '../../src/views/reviews.ts'
import { schedule } from '../../src/views/schedules.ts'
import { askPerson } from './askPerson.ts'
import { budgetTools } from './budgetTools.ts'
import { commentTools } from './commentTools.ts'
import { monitorTools } from './monitorTools.ts'
import { submitReview } from './submitReview.ts'
import { defineTool, json, type Content, type Tool } from './tool.ts'

/** The largest file in a message, which has at most 1 MiB. */
const maxFileBytes = 512 * 1024

const getCard = defineTool({
  name: 'get_card',
  card: 'any',
  entries: {},
  description:
    'Get a card: title, prompt, labels, status, column, and the list of its attachments. For its comments, use list_comments.',
  run: async (app, ref) => {
    const { locks: _, sessions: _sessions, ...card } = cardDetail(await cards.find(app.db, ref))
    return json({ ...card, attachments: (await attachments.list(app.db, ref)).map(attachment) })
  },
})

const listCardsTool = defineTool({
  name: 'list_cards',
  description:
    "List the project's cards by ID, without their prompts. With ready, list the cards that can start, in the order in which they should start. nextCursor, if any, is the cursor of the next page.",
  entries: {
    columnId: v.optional(refTo('COLUMN_NOT_FOUND')),
    status: v.optional(CardStatus),
    label: v.optional(text(1, 100)),
    search: v.optional(v.pipe(text(1, 200), v.description('Part of the title.'))),
    ready: v.optional(v.pipe(v.boolean(), v.description('Only cards that can start now.')), false),
    blocked: v.optional(v.pipe(v.boolean(), v.description('Only cards that are blocked by other cards.')), false),
    ...PlanFilter,
    limit: v.optional(integer(1, 100), 50),
    cursor: v.optional(queryInteger(1)),
  },
  run: async (app, { projectId }, filter) => {
    const isById = filter.sort === undefined && !filter.ready
    const { cursor = 0, ...others } = filter
    const found = isById
      ? await listCards(app.db, { ...filter, projectId })
      : await listSorted(app.db, { ...others, projectId, offset: cursor })
    const next = isById ? found.at(-1)?.id : cursor + found.length
    return json({ cards: found.map(briefCard), nextCursor: found.length === filter.limit ? String(next) : null })
  },
})

const listColumns = defineTool({
  name: 'list_columns',
  entries: {},
  description:
    "List the columns of the project's boards in order. The first board is the default board. A column rejects cards beyond its wipLimit.",
  run: async (app, { projectId }) =>
    json(
      (await listProjectColumns(app.db, projectId)).map(
        ({ id, boardId, name, columnType, cardCount, wipLimit, pull }) => ({
          id: String(id),
          boardId: String(boardId),
          name,
          columnType,
          cardCount,
          wipLimit,
          pull: pull === 1,
        }),
      ),
    ),
})

const listSchedules = defineTool({
  name: 'list_schedules',
  entries: {},
  description:
    'List the schedules of the project, which create cards at set times: their last and next runs, and the templates of their cards.',
  run: async (app, { projectId }) => json((await schedules.list(app.db, projectId)).map(schedule)),
})

const reportProgress = defineTool({
  name: 'report_progress',
  card: 'own',
  description:
    'Report in one sentence what you are doing on the card now, or what you are waiting for. The report replaces your previous one.',
  entries: { detail: text(1, 500) },
  run: async (app, ref, { detail }) =>
    json(lastAction(await app.db.transaction(tx => noteAction(tx, ref, { type: 'progress', detail })))),
})

const answerComment = defineTool({
  name: 'answer_comment',
  card: 'own',
  description:
    'Answer a comment from a review of the card: describe briefly what you changed, or why you did not. resolved: the requested change is complete.',
  entries: {
    commentId: refTo('REVIEW_COMMENT_NOT_FOUND'),
    answer: text(1, 16_384),
    resolved: v.optional(v.boolean(), false),
  },
  run: async (app, ref, given) => json(answeredComment(await app.db.transaction(tx => reviews.answer(tx, ref, given)))),
})

const createCard = defineTool({
  name: 'create_card',
  description:
    'Create a card for other work, at the end of a column of the default board, by default the first. Its agent does not start until a user starts it. blockedBy: the cards that block it; parentId: its parent card; startAt: the earliest time of its start. The new card automatically refers to your card.',
  entries: {
    title: Title,
    prompt: v.optional(Prompt, ''),
    columnId: v.optional(refTo('COLUMN_NOT_FOUND')),
    labels: v.optional(Labels, []),
    useWorktree: v.optional(v.boolean(), true),
    ...CardOrder,
    ...Plan,
  },
  run: async (app, { projectId }, input, caller) =>
    json(
      briefCard(
        await app.db.transaction(tx => cards.create(tx, app.supervisor, { ...input, projectId, caller }, true)),
      ),
    ),
})

const attachFile = defineTool({
  name: 'attach_file',
  forPeople: { row: contract.attachments.create, group: 'change' },
  card: 'own',
  at: 'machine',
  description: 'Attach a file of at most 512 KiB to the card, for users: text as text, any other content as base64.',
  entries: { filename: text(1, 255), text: v.optional(v.string()), base64: v.optional(v.string()) },
  run: async (app, ref, { filename, ...content }, caller) =>
    json(await attachBytes(app, { ...ref, caller }, filename, bytesOf(content))),
})

const readAttachment = defineTool({
  name: 'read_attachment',
  forPeople: { row: contract.attachments.download, group: 'find' },
  at: 'machine',
  entries: { attachmentId: refTo('ATTACHMENT_NOT_FOUND') },
  description: 'Read an attachment of a card of the project, of at most 512 KiB: an image, text, or base64.',
  run: async (app, { projectId }, { attachmentId }) => {
    const row = await attachments.find(app.db, attachmentId)
    if (row.projectId !== projectId) throw new Problem('ATTACHMENT_NOT_FOUND')
    if (row.size > maxFileBytes)
      throw new Problem('CONFLICT', `The attachment has ${row.size} bytes. The maximum is ${maxFileBytes} bytes.`)
    return fileContent(
      row,
      await readFile(join(app.attachmentFiles.folder, row.storedAs)).catch(() => {
        throw new Problem('ATTACHMENT_NOT_FOUND')
      }),
    )
  },
})

/** Every tool of an agent on its card, by its name. People and keys have the tools of the contract's rows, and some of these. */
export const tools = new Map<string, Tool>(
  Object.entries({
    get_card: getCard,
    list_cards: listCardsTool,
    list_columns: listColumns,
    list_schedules: listSchedules,
    report_progress: reportProgress,
    ask_person: askPerson,
    submit_review: submitReview,
    answer_comment: answerComment,
    ...commentTools,
    create_card: createCard,
    attach_file: attachFile,
    read_attachment: readAttachment,
    ...monitorTools,
    ...budgetTools,
  } satisfies Record<BoardToolName, Tool>),
)

const briefCard = (card: CardRow) => ({
  id: String(card.id),
  title: card.title,
  columnId: String(card.columnId),
  columnName: card.columnName,
  columnType: card.columnType,
  status: card.status,
  labels: JSON.parse(card.labels) as string[],
  deferred: card.deferred === 1,
  priority: card.priority,
  dueAt: card.dueAt,
  assignees: JSON.parse(card.assignees) as Assignee[],
})
const lastAction = (card: CardRow): unknown => JSON.parse(card.lastAgentAction!)

async function attachBytes(
  app: Pick<App, 'attachmentFiles' | 'db'>,
  ref: cards.StartRef,
  filename: string,
  bytes: Buffer,
) {
  await attachments.requireRoom(app.db, ref)
  const file = await saveFile(app.attachmentFiles.folder, onceOf(bytes), filename)
  try {
    return attachment(await app.db.transaction(tx => attachments.add(tx, ref, file)))
  } catch (error) {
    await app.attachmentFiles.remove(file.storedAs)
    throw error
  }
}

async function* onceOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

function bytesOf({ text, base64 }: { text?: string; base64?: string }): Buffer {
  if ((text === undefined) === (base64 === undefined)) throw invalid('text', 'or base64 is required, but not both')
  if (base64 !== undefined && !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) throw invalid('base64', 'must be base64')
  const bytes = text === undefined ? Buffer.from(base64!, 'base64') : Buffer.from(text)
  if (bytes.length > maxFileBytes)
    throw new Problem('BODY_TOO_LARGE', `The maximum file size is ${maxFileBytes} bytes.`)
  return bytes
}

function fileContent({ filename, contentType }: { filename: string; contentType: string }, bytes: Buffer): Content[] {
  if (/^image\/(png|jpeg|gif|webp)$/.test(contentType))
    return [{ type: 'image', data: bytes.toString('base64'), mimeType: contentType }]
  const text = bytes.toString('utf8')
  return json(
    Buffer.from(text).equals(bytes)
      ? { filename, contentType, text }
      : { filename, contentType, base64: bytes.toString('base64') },
  )
}
