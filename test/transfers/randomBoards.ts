import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { isVisible } from '../../src/contract/fields.ts'
import type { Doc } from './files.ts'

const time = fc
  .date({ min: new Date('2020-01-01T00:00:00.000Z'), max: new Date('2030-01-01T00:00:00.000Z'), noInvalidDate: true })
  .map(date => date.toISOString())
const plain = (maxLength: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength })
    .map(text => text.replaceAll('\0', ''))
    .filter(text => isVisible(text) && text.length <= maxLength * 4)
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const commit = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 40, maxLength: 40 })
const agent = fc.constantFrom('claude', 'codex', 'a.b-c_1')
const choice = {
  agent: orNull(agent),
  profile: orNull(fc.constantFrom('gateway', 'b-2')),
  model: orNull(plain(20)),
  mode: orNull(plain(20)),
  effort: orNull(fc.constantFrom('low', 'high')),
}
const ended = fc.constantFrom('completed', 'failed', 'cancelled', 'interrupted')

const column = fc
  .record({
    name: plain(40),
    columnType: fc.constantFrom('backlog', 'active', 'done', 'archive'),
    prompt: fc.string({ unit: 'grapheme' }).map(text => text.replaceAll('\0', '')),
    wipLimit: fc.constantFrom(null, 1, 10_000),
    pull: fc.constant(false),
    merged: orNull(fc.nat()),
    closed: orNull(fc.nat()),
    ...choice,
  })
  // An archive column has no limit.
  .map(each => (each.columnType === 'archive' ? { ...each, wipLimit: null } : each))
const step = fc.record({
  column: fc.nat(),
  prompt: fc.constantFrom('', 'Do it "well" \\ \u2028'),
  approval: fc.constantFrom('auto', 'manual'),
})
const message = fc.oneof(
  fc.record({
    role: fc.constantFrom('user', 'agent', 'thought', 'plan', 'system'),
    callId: fc.constant(null),
    at: time,
    content: fc.string({ unit: 'grapheme' }),
    tool: fc.constant(null),
    waits: fc.boolean(),
  }),
  fc.record({
    role: fc.constant('tool'),
    callId: orNull(plain(20)),
    at: time,
    content: fc.string(),
    waits: fc.constant(false),
    tool: fc.record({
      name: plain(20),
      kind: fc.string({ maxLength: 20 }),
      status: fc.constantFrom('pending', 'in_progress', 'completed', 'failed'),
      input: fc.jsonValue({ maxDepth: 3 }),
      output: fc.jsonValue({ maxDepth: 3 }),
      locations: fc.array(fc.record({ path: fc.string(), line: orNull(fc.nat()) }), { maxLength: 2 }),
    }),
  }),
)
const session = fc.record({
  purpose: fc.constantFrom('work', 'pre', 'terminal'),
  agent,
  status: ended,
  statusReason: orNull(fc.constantFrom('crashed', 'timeout', 'server_restart')),
  detail: orNull(plain(30)),
  model: orNull(plain(10)),
  inputTokens: fc.nat(),
  outputTokens: fc.nat(),
  contextUsed: orNull(fc.nat()),
  contextSize: orNull(fc.nat()),
  costUsd: orNull(fc.double({ min: 0, max: 1000, noNaN: true }).map(Math.abs)),
  summary: orNull(plain(50)),
  prompt: fc.string({ unit: 'grapheme' }).map(text => text.replaceAll('\0', '')),
  baseCommit: orNull(commit),
  branch: orNull(fc.constantFrom('main', 'board/1-x')),
  messages: fc.nat(),
  toolCalls: fc.nat(),
  filesChanged: fc.nat(),
  createdAt: time,
  startedAt: orNull(time),
  endedAt: time,
  said: fc.array(message, { maxLength: 4 }),
})
const attachment = fc.record({
  filename: fc.constantFrom('a.txt', 'b "q" ü.md', 'noext'),
  bytes: fc.oneof(fc.uint8Array({ maxLength: 2000 }), fc.constant(new Uint8Array(800_000).fill(7))),
  createdAt: time,
})
const reviewComment = fc.record({
  path: plain(30),
  repository: fc.constant(''),
  side: fc.constantFrom('old', 'new'),
  startLine: fc.integer({ min: 1, max: 9 }),
  line: fc.integer({ min: 9, max: 99 }),
  text: plain(40),
  body: plain(40),
  answer: orNull(plain(30)),
  answeredAt: orNull(time),
  resolvedAt: orNull(time),
})
const review = fc.record({
  round: fc.integer({ min: 1, max: 9 }),
  verdict: fc.constantFrom('comment', 'request_changes', 'approve'),
  body: plain(60),
  authorName: plain(20),
  baseCommit: orNull(commit),
  headCommit: orNull(commit),
  comments: fc.array(reviewComment, { maxLength: 3 }),
  createdAt: time,
})
const comment = fc.record({
  authorName: plain(20),
  fromAgent: fc.boolean(),
  body: plain(60).map(text => `Said: ${text}`),
  createdAt: time,
  editedAt: orNull(time),
})
const changed = orNull(fc.oneof(plain(10), fc.integer(), fc.boolean(), fc.array(plain(5), { maxLength: 2 })))
const happened = fc.record({
  at: time,
  actorKind: fc.constantFrom('user', 'key', 'agent', 'schedule', 'system'),
  actorName: plain(20),
  action: fc.constantFrom('card.created', 'card.updated', 'run.ended', 'comment.created'),
  changes: fc.array(fc.record({ field: fc.constantFrom('title', 'labels'), from: changed, to: changed }), {
    maxLength: 2,
  }),
  /** Its parent, which is an earlier card. */
  parent: orNull(fc.nat()),
})
const card = fc.record({
  column: fc.nat(),
  kind: fc.constantFrom('kanban', 'kanban', 'kanban', 'terminal'),
  title: plain(60),
  prompt: fc.string({ unit: 'grapheme' }).map(text => text.replaceAll('\0', '')),
  labels: fc.array(plain(10), { maxLength: 4 }),
  assignees: fc.array(fc.record({ name: plain(10) }), { maxLength: 2 }),
  priority: fc.constantFrom('urgent', 'high', 'normal', 'low'),
  dueAt: orNull(time),
  startAt: orNull(time),
  estimate: orNull(fc.constantFrom(0, 0.25, 1.1, 40, 999_999.99)),
  groupId: orNull(plain(10)),
  steps: fc.array(step, { maxLength: 3 }),
  ...choice,
  status: fc.oneof(ended, fc.constant('idle')),
  statusReason: orNull(fc.constantFrom('crashed', 'refused')),
  reviewState: orNull(fc.constantFrom('pending', 'changes_requested', 'approved')),
  reviewRound: fc.nat({ max: 9 }),
  merge: orNull(fc.record({ mergedAt: time, mergedCommit: commit, mergedInto: fc.constantFrom('main', 'release/2') })),
  creatorName: orNull(plain(20)),
  unread: fc.boolean(),
  deferred: fc.boolean(),
  autoMode: fc.boolean(),
  useWorktree: fc.boolean(),
  base: orNull(fc.constantFrom('main', 'release/2')),
  gitBranch: orNull(fc.constantFrom('board/3-y', 'feature/ü')),
  baseCommit: orNull(commit),
  lastAgentAction: orNull(fc.record({ type: plain(10), at: time, detail: orNull(fc.string()) })),
  source: orNull(
    fc.record({ kind: fc.constantFrom('trello', 'github', 'markdown'), id: fc.uuid(), url: orNull(fc.webUrl()) }),
  ),
  createdAt: time,
  updatedAt: time,
  startedAt: orNull(time),
  endedAt: orNull(time),
  doneAt: time,
  blockers: fc.array(fc.nat(), { maxLength: 3 }),
  parent: orNull(fc.nat()),
  found: orNull(fc.nat()),
  based: orNull(fc.nat()),
  archived: fc.boolean(),
  archivedAt: time,
  version: fc.integer({ min: 1, max: 1000 }),
  place: fc.double({ noNaN: true }),
  sessions: fc.array(session, { maxLength: 2 }),
  reviews: fc.array(review, { maxLength: 2 }),
  comments: fc.array(comment, { maxLength: 3 }),
  activity: fc.array(happened, { maxLength: 3 }),
  attachments: fc.array(attachment, { maxLength: 1 }),
})
const schedule = fc.record({
  name: plain(20),
  when: fc.constantFrom({ cron: '15,45 2 * * 1-5', everySecs: null }, { cron: null, everySecs: 90_000 }),
  timeZone: fc.constantFrom('UTC', 'Australia/Lord_Howe'),
  template: fc.record({
    title: fc.constantFrom('Report {date}', 'x'),
    prompt: fc.constantFrom('', 'Do it "well" \\ \u2028'),
    labels: fc.array(plain(10), { maxLength: 2 }),
    useWorktree: fc.boolean(),
    autoMode: fc.boolean(),
    ...choice,
    priority: fc.constantFrom('normal', 'urgent'),
  }),
  column: orNull(fc.nat()),
  overlap: fc.constantFrom('skip', 'queue', 'add'),
  catchUp: fc.constantFrom('none', 'one'),
  createdAt: time,
})
const project = fc.record({
  name: plain(30),
  ...choice,
  onSilence: fc.constantFrom('wait', 'end'),
  agentSlots: fc.constantFrom(null, 3),
  sessionCards: fc.constantFrom(50, 7),
  gateRounds: fc.constantFrom(3, 0),
  afterMerge: fc.constantFrom({}, { moveToDone: true }, { moveToDone: true, removeWorktree: false }),
  // The repositories of a file are imported if they exist and the importer has access to them.
  repositories: fc.constant([]),
  copiedFiles: fc.array(plain(10), { maxLength: 2 }),
  // A file grants no permissions.
  approvalPolicy: fc.record({
    default: fc.constantFrom('ask', 'refuse'),
    allow: fc.constant([]),
    refuse: fc.array(fc.constantFrom('git push', 'rm')),
  }),
  createdAt: time,
  updatedAt: time,
  gates: fc.array(
    fc.oneof(
      fc.record({
        name: plain(20),
        kind: fc.constant('command'),
        command: plain(30),
        minutes: fc.integer({ min: 1, max: 60 }),
        place: fc.nat(9),
      }),
      fc.record({
        name: plain(20),
        kind: fc.constant('approval'),
        approvals: fc.integer({ min: 1, max: 20 }),
        approverRole: fc.constantFrom('member', 'admin'),
        place: fc.nat(9),
      }),
    ),
    {
      maxLength: 3,
    },
  ),
  scripts: fc.array(fc.record({ name: plain(20), command: plain(30) }), { maxLength: 3 }),
  schedules: fc.array(schedule, { maxLength: 2 }),
  boards: fc.array(
    fc.record({
      name: plain(20),
      createdAt: time,
      columns: fc.array(column, { minLength: 1, maxLength: 5 }),
      cards: fc.array(card, { maxLength: 8 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

/** Random projects as a complete and valid document, whose ids differ from those after an import. */
export const randomDocument = (path: string) =>
  fc
    .array(project, { minLength: 1, maxLength: 2 })
    .map((projects): Doc => JSON.parse(JSON.stringify(toDocument(projects, path))))

function toDocument(projects: Doc[], path: string): Doc {
  const parts: Record<string, Doc[]> = {
    templates: [],
    projects: [],
    members: [],
    boards: [],
    columns: [],
    gates: [],
    scripts: [],
    schedules: [],
    cards: [],
    dependencies: [],
    issues: [],
    sessions: [],
    messages: [],
    reviews: [],
    comments: [],
    activity: [],
    attachments: [],
    contents: [],
  }
  let last = 1000
  const add = (part: string, record: Doc): number => {
    parts[part]!.push({ id: (last += 3), ...record })
    return last
  }
  for (const { boards, gates, scripts, schedules, ...each } of projects) {
    const all: Doc[] = boards.flatMap((board: Doc) => board.cards.flatMap((card: Doc) => card.sessions))
    const projectId = add('projects', {
      ...each,
      path,
      tokens: {
        total: all.reduce((sum: number, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0),
        sessions: all.length,
      },
    })
    for (const script of scripts) parts.scripts!.push({ projectId, ...script })
    const columnIds: number[] = []
    for (const [position, { name, createdAt, columns, cards }] of boards.entries()) {
      const boardId = add('boards', { projectId, name, position, createdAt })
      const rows = columns.map(({ merged: _, closed: _closed, ...column }: Doc, at: number) => ({
        id: add('columns', { boardId, ...column, position: at }),
        type: column.columnType,
      }))
      for (const [at, { merged, closed }] of columns.entries()) {
        const others = rows.filter(({ type }: Doc, other: number) => other !== at && type !== 'active')
        const idAt = (place: number | null) => (place === null ? null : (others[place % others.length]?.id ?? null))
        const record = parts.columns!.find(({ id }: Doc) => id === rows[at].id)!
        Object.assign(record, { mergedColumnId: idAt(merged), closedColumnId: idAt(closed) })
      }
      columnIds.push(...rows.map(({ id }: { id: number }) => id))
      addCards(cards, rows, add, parts)
    }
    const workIds = parts.columns!.filter(
      ({ id, columnType }) => columnIds.includes(id) && ['backlog', 'active'].includes(columnType),
    )
    for (const { place, ...gate } of gates)
      parts.gates!.push({
        projectId,
        ...gate,
        columnId: place === 0 ? null : (workIds[place % workIds.length]?.id ?? null),
      })
    for (const { when, template, column, ...others } of schedules) {
      const columnId = column === null ? null : columnIds[column % columnIds.length]
      parts.schedules!.push({ projectId, ...others, ...when, template: { ...template, columnId } })
    }
  }
  return {
    format: 'board',
    version: 1,
    exportedAt: '2031-01-01T00:00:00.000Z',
    program: 'board test',
    organization: null,
    organizationMembers: [],
    ...parts,
  }
}

function addCards(
  cards: Doc[],
  columns: Array<{ id: number; type: string }>,
  add: (part: string, record: Doc) => number,
  parts: Record<string, Doc[]>,
): void {
  const made = cards.map(
    ({
      column,
      kind,
      steps,
      archived,
      archivedAt,
      place,
      sessions,
      reviews,
      comments,
      activity,
      attachments,
      ...given
    }) => {
      const { blockers, parent, found, based, doneAt, merge, ...card } = given
      const { id: columnId, type } = columns[column % columns.length]!
      const isArchived = archived || type === 'archive'
      const pipeline = [
        ...new Map(
          steps.map(({ column: at, ...step }: Doc) => [
            columns[at % columns.length]!.id,
            { columnId: columns[at % columns.length]!.id, ...step },
          ]),
        ).values(),
      ]
      const id = add('cards', {
        columnId,
        kind,
        position: null,
        ...card,
        ...(merge ?? { mergedAt: null, mergedCommit: null, mergedInto: null }),
        pipeline,
        command: kind === 'terminal' ? 'echo "hi"' : null,
        doneAt: type === 'done' || (type === 'archive' && archived) ? doneAt : null,
        archivedAt: isArchived ? archivedAt : null,
      })
      return {
        id,
        blockers,
        parent,
        found,
        based: card.base === null ? based : null,
        columnId,
        place,
        isOrdered: kind === 'kanban' && (!isArchived || type === 'archive'),
        sessions,
        reviews,
        comments,
        activity,
        attachments,
      }
    },
  )
  addDependencies(made, parts)
  const counts = new Map<number, number>()
  for (const { id, columnId, isOrdered } of [...made].sort((a, b) => a.place - b.place)) {
    if (!isOrdered) continue
    parts.cards!.find(card => card.id === id)!.position = counts.get(columnId) ?? 0
    counts.set(columnId, (counts.get(columnId) ?? 0) + 1)
  }
  for (const [at, { id: cardId, sessions, reviews, comments, activity, attachments }] of made.entries()) {
    for (const each of reviews) parts.reviews!.push({ cardId, ...each })
    for (const each of comments) parts.comments!.push({ cardId, ...each })
    for (const { parent, changes, ...each } of activity) {
      const to = parent === null || at === 0 ? null : String(made[parent % at]!.id)
      parts.activity!.push({ cardId, ...each, changes: [...changes, { field: 'parentId', from: null, to }] })
    }
    for (const { said, ...session } of sessions) {
      const sessionId = add('sessions', { cardId, ...session })
      for (const { waits, ...message } of said)
        parts.messages!.push({ sessionId, ...message, waitingSessionId: waits ? sessionId : null })
    }
    for (const { filename, bytes, createdAt } of attachments)
      addAttachment(cardId, filename, bytes, createdAt, add, parts)
  }
}

/** A card waits for, and is a part of, earlier cards only, so there are no cycles. */
function addDependencies(made: Doc[], parts: Record<string, Doc[]>): void {
  for (const [at, { id: cardId, blockers, parent, found, based }] of made.entries()) {
    const before = (index: number | null): number | null => (index === null || at === 0 ? null : made[index % at]!.id)
    const blockedBy = [...new Set(blockers.flatMap((index: number) => before(index) ?? []))].sort(
      (a, b) => (a as number) - (b as number),
    )
    const relatives = { parentId: before(parent), discoveredFromId: before(found), baseCardId: before(based) }
    if (blockedBy.length > 0 || Object.values(relatives).some(id => id !== null))
      parts.dependencies!.push({ cardId, blockedBy, ...relatives })
  }
}

function addAttachment(
  cardId: number,
  filename: string,
  bytes: Uint8Array,
  createdAt: string,
  add: (part: string, record: Doc) => number,
  parts: Record<string, Doc[]>,
): void {
  const attachmentId = add('attachments', {
    cardId,
    filename,
    contentType: '',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    createdAt,
  })
  for (let at = 0; at < bytes.length; at += 786_432)
    parts.contents!.push({ attachmentId, content: Buffer.from(bytes.subarray(at, at + 786_432)).toString('base64') })
}
