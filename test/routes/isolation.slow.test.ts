import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectPermissions } from '../../src/contract/route.ts'
import { exampleOf, requestOf, rows, type Row } from '../support/contract/examples.ts'
import type { Reply, TestBoard } from '../support/servers/testBoard.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'

/** The fields of a request that hold an id. Board templates are not among them because every user can read them. */
const kinds = [
  'projectId',
  'boardId',
  'otherBoardId',
  'columnId',
  'activeColumnId',
  'doneColumnId',
  'emptyColumnId',
  'cardId',
  'archivedCardId',
  'deletedCardId',
  'attachmentId',
  'keyId',
  'organizationId',
  'sessionId',
] as const
type Kind = (typeof kinds)[number]
const missing = '999999'
const nothing = Object.fromEntries(kinds.map(kind => [kind, missing])) as Record<Kind, string>

/** Inputs in addition to the examples, which name more ids. */
const more: Record<string, Array<(seed: Seed) => Record<string, unknown>>> = {
  'projects.update': [({ projectId, organizationId }) => ({ id: projectId, organizationId })],
  'keys.create': [
    ({ organizationId }) => ({ name: 'k', scope: 'organization', organizationId, permissions: ['cards.read'] }),
  ],
  'cards.list': [
    ({ projectId, columnId }) => ({ projectId, columnId, offset: 0 }),
    ({ projectId, boardId }) => ({ projectId, boardId }),
  ],
  'columns.reorder': [({ projectId, columnId }) => ({ projectId, ids: [columnId] })],
  'boards.reorder': [({ projectId, boardId }) => ({ projectId, ids: [boardId] })],
}

let board: TestBoard
let own: Seed
let ownOther: Seed
let foreign: Seed
let serverKey: string
let powerlessKey: string
beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  const { token } = await board.as().auth.register({ email: 'own@example.org', password: 'own password' })
  own = await seed(board, token)
  ownOther = await seed(board, token)
  foreign = await seed(
    board,
    (await board.as().auth.register({ email: 'foreign@example.org', password: 'foreign password' })).token,
  )
  serverKey = (await board.as(token).keys.create({ name: 'k', scope: 'server', permissions: [...projectPermissions] }))
    .key
  powerlessKey = (await board.as(token).keys.create({ name: 'k', scope: 'server', permissions: ['cards.create'] })).key
})
afterAll(() => board.close())

const isAboutAProject = ({ route }: Row) => route.who.kind === 'member' || route.who.kind === 'key'
const inputsOf = (row: Row, seed: Seed) => [exampleOf(row, seed), ...(more[row.name] ?? []).map(make => make(seed))]

/** All parts of a response that a caller can see, except the request's id and the time. Omits text that repeats the id of the request. */
function visible({ status, headers, text }: Reply, row: Row, id: string): unknown {
  const repeats = row.name === 'panelStates.set'
  const shown = [...headers].filter(
    ([name]) => name !== 'x-request-id' && name !== 'date' && !(repeats && name === 'content-length'),
  )
  return {
    status,
    headers: shown,
    text: repeats ? text.replaceAll(`"${id}`, '"#').replaceAll(`"path":"${id}"`, '#') : text,
  }
}

const ask = async (row: Row, input: Record<string, unknown>, token: string): Promise<Reply> => {
  const { path, options } = requestOf(row.route, input)
  return board.request(row.route.method, path, { token, ...options })
}

/** Sends each id of other users instead of the caller's, then an id that does not exist, and counts the pairs. */
async function compare(row: Row, token: string, others: Seed): Promise<number> {
  let pairs = 0
  const inputs = inputsOf(row, own)
  const sets: Array<{ theirs: Partial<Seed>; none: Partial<Seed>; id: string }> = kinds.map(kind => ({
    theirs: { [kind]: others[kind] },
    none: { [kind]: missing },
    id: others[kind],
  }))
  sets.push({ theirs: Object.fromEntries(kinds.map(kind => [kind, others[kind]])), none: nothing, id: others.cardId })
  for (const { theirs, none, id } of sets)
    for (const [at, input] of inputs.entries()) {
      const there = inputsOf(row, { ...own, ...theirs })[at]!
      if (JSON.stringify(there) === JSON.stringify(input)) continue
      const reply = await ask(row, there, token)
      const expected = await ask(row, inputsOf(row, { ...own, ...none })[at]!, token)
      expect(visible(reply, row, id), JSON.stringify(there)).toEqual(visible(expected, row, missing))
      expect(reply.text).not.toContain('OTHER_PROJECT')
      pairs++
    }
  return pairs
}

/** Everything that its owner sees of a project. */
async function stateOf({ token, projectId, cardId, archivedCardId, organizationId }: Seed): Promise<unknown> {
  const client = board.as(token)
  return Promise.all([
    client.projects.list(),
    client.boards.list({ projectId }),
    client.columns.list({ projectId }),
    client.cards.list({ projectId }),
    client.cards.list({ projectId, archived: true }),
    client.cards.get({ projectId, cardId }),
    client.cards.get({ projectId, cardId: archivedCardId }),
    client.cards.getPipeline({ projectId, cardId }),
    client.attachments.list({ projectId, cardId }),
    client.panelStates.get({ projectId }),
    client.organizations.get({ id: organizationId }),
    client.keys.list().then(keys => keys.map(({ lastUsedAt: _, ...key }) => key)),
    client.templates.list(),
    client.settings.getUser(),
  ])
}

const states = new Map<Seed, unknown>()
/** Expects that after some requests, as after all earlier ones, the owner of a project sees its records unchanged. */
async function expectUntouched(seed: Seed, ask: () => Promise<void>): Promise<void> {
  const before = states.get(seed) ?? (await stateOf(seed))
  await ask()
  expect(await stateOf(seed)).toEqual(before)
  states.set(seed, before)
}

/** A placeholder for a seed while the rows are selected. */
const sample = Object.fromEntries(
  [...kinds, 'templateId', 'path', 'worktree'].map(name => [name, '1']),
) as unknown as Seed

describe('responses for objects of others equal those for missing objects, byte for byte', () => {
  const naming = rows.filter(
    row =>
      row.route.who.kind !== 'public' &&
      kinds.some(
        kind => JSON.stringify(inputsOf(row, { ...sample, [kind]: missing })) !== JSON.stringify(inputsOf(row, sample)),
      ),
  )

  it.each(naming)('$name', async row => {
    const tokens = isAboutAProject(row)
      ? [serverKey, own.apiKey, ...(row.route.who.kind === 'key' ? [] : [own.token])]
      : [own.token]
    await expectUntouched(foreign, async () => {
      for (const token of tokens) expect(await compare(row, token, foreign)).toBeGreaterThan(0)
    })
  })

  it.each(naming.filter(isAboutAProject))(
    '$name, for a key of one project, also for other projects of its owner',
    row => expectUntouched(ownOther, async () => expect(await compare(row, own.apiKey, ownOther)).toBeGreaterThan(0)),
  )

  it.each(naming.filter(row => isAboutAProject(row) && !row.name.endsWith('create')))(
    '$name, for a key without the permission, also for its own records',
    async row => {
      const replies = await Promise.all(
        [own, foreign, { ...own, ...nothing }].map(async seed =>
          visible(await ask(row, exampleOf(row, seed), powerlessKey), row, ''),
        ),
      )
      expect(replies[0]).toMatchObject({ status: 403 })
      expect(replies[1]).toEqual(replies[0])
      expect(replies[2]).toEqual(replies[0])
    },
  )
})

it('without a token no response reveals what exists', async () => {
  for (const row of rows.filter(({ route }) => route.who.kind !== 'public' && route.who.kind !== 'local')) {
    const { path, options } = requestOf(row.route, exampleOf(row, foreign))
    const other = requestOf(row.route, exampleOf(row, { ...foreign, ...nothing }))
    const [there, none] = [
      await board.request(row.route.method, path, { ...options, token: null }),
      await board.request(row.route.method, other.path, { ...other.options, token: null }),
    ]
    expect(visible(there, row, '')).toEqual(visible(none, row, ''))
    expect(there.status).toBe(401)
  }
})
