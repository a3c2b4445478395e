import type { Permission } from '../../../src/contract/route.ts'
import { fileBody } from './seed.ts'
import { board, card, cardAt, endAll, moved, posted, type Place, type Way } from './startTrials.ts'

/** The kinds of edits of a card that can start automatically. */
const edits: Array<[what: string, body: (place: Place) => object]> = [
  ['title', () => ({ title: 'Other' })],
  ['prompt', () => ({ prompt: 'Other' })],
  ['agent', () => ({ agent: 'fixture' })],
  ['model', () => ({ model: null })],
  ['base', () => ({ base: 'main' })],
  ['blockers', ({ otherId }) => ({ blockedBy: [otherId] })],
  ['parent', ({ otherId }) => ({ parentId: otherId })],
  ['start time', () => ({ startAt: '2100-01-01T00:00:00.000Z' })],
]
/** The way in which a card starts without a request for it. */
const automatic: Array<[how: string, given: (place: Place) => Promise<Place>]> = [
  ['in auto mode', place => blocked(place, { autoMode: true })],
  ['with a start time', place => blocked(place, { startAt: '2099-01-01T00:00:00.000Z' })],
  ['that the next column pulls', async place => blocked(await pulling(place), {})],
  ['in a queue', async place => ({ ...place, cardId: (await add(place, { columnId: place.activeColumnId })).id })],
]
const updates = (permissions: Permission[], starts: 'starts' | 'leaves' = 'leaves'): Way['to'] => [
  [permissions, 'refused'],
  [[...permissions, 'agents.run'], starts],
]
const removals: Array<[what: string, ask: Way['ask'], permission: Permission]> = [
  ['completing', posted('/complete'), 'cards.move'],
  ['moving', place => ['PATCH', card(place, '/move'), { columnId: place.columnId }], 'cards.move'],
  ['archiving', posted('/archive'), 'agents.archive'],
  ['deleting', place => ['DELETE', card(place)], 'cards.delete'],
]
const column = (place: Place, columnId: string) => `/api/projects/${place.projectId}/columns/${columnId}`
const onCard = ({ projectId, cardId }: Place) => ({ projectId, cardId })

/** Requests about cards that start without a request for it. */
export const automaticWays: readonly Way[] = [
  ...automatic.flatMap(([how, given]) =>
    edits.map(([what, body]): Way => ({
      way: `an edit of the ${what} of a card ${how}`,
      given,
      ask: place => ['PATCH', card(place), body(place)],
      to:
        how === 'in a queue'
          ? [
              [['cards.update'], 'refused'],
              [['cards.update', 'agents.run'], 'started'],
            ]
          : updates(['cards.update']),
    })),
  ),
  ...automatic.slice(0, 3).flatMap(([how, given]): Way[] => [
    { way: `a check of a card ${how}`, given, ask: posted('/proofs'), to: updates(['scripts.run']) },
    {
      way: `other fields of a card ${how}`,
      given,
      ask: place => ['PATCH', card(place), { labels: ['x'], priority: 'high', dueAt: null, estimate: 2 }],
      to: [[['cards.update'], 'leaves']],
    },
    {
      way: `the steps of a card ${how}`,
      given,
      ask: place => ['PUT', card(place, '/pipeline'), { steps: [{ columnId: place.activeColumnId, prompt: 'Other' }] }],
      to: updates(['cards.update']),
    },
    {
      way: `a file for a card ${how}`,
      given,
      ask: posted('/attachments'),
      to: updates(['cards.update']),
    },
    {
      way: `deleting a file of a card ${how}`,
      given: async place => {
        const made = await given(place)
        const attached = await board.request('POST', card(made, '/attachments'), fileBody())
        return { ...made, attachmentId: attached.body.data.id }
      },
      ask: ({ attachmentId }) => ['DELETE', `/api/attachments/${attachmentId}`],
      to: updates(['cards.update']),
    },
  ]),
  ...(['in auto mode', 'that the next column pulls'] as const).flatMap((how): Way[] => {
    const given = automatic.find(([name]) => name === how)![1]
    return [
      {
        way: `taking the last blocker from a card ${how}`,
        given,
        ask: place => ['PATCH', card(place), { blockedBy: [] }],
        to: updates(['cards.update'], 'starts'),
      },
      {
        way: `completing the last blocker of a card ${how}`,
        given,
        ask: place => ['POST', card({ ...place, cardId: place.otherId }, '/complete')],
        to: updates(['cards.move'], 'starts'),
      },
      {
        way: `moving the last blocker of a card ${how} to done`,
        given,
        ask: place => ['PATCH', card({ ...place, cardId: place.otherId }, '/move'), { columnId: place.doneColumnId }],
        to: updates(['cards.move'], 'starts'),
      },
      {
        way: `an external move of the last blocker of a card ${how} to done`,
        given,
        ask: ({ projectId, otherId, doneColumnId }) => [
          'PATCH',
          `/api/external/projects/${projectId}/cards/${otherId}/move`,
          { targetColumnId: Number(doneColumnId), position: 0 },
        ],
        to: updates(['cards.move'], 'starts'),
      },
    ]
  }),
  {
    way: 'completing a blocker of a card without automation',
    given: place => blocked(place, {}),
    ask: place => ['POST', card({ ...place, cardId: place.otherId }, '/complete')],
    to: [[['cards.move'], 'leaves']],
  },
  {
    way: 'bringing a deleted card in auto mode back whose blockers are done',
    given: async place => {
      const made = await blocked(place, { autoMode: true })
      await board.client.cards.delete(onCard(made))
      await board.client.cards.complete({ projectId: made.projectId, cardId: made.otherId })
      return made
    },
    ask: posted('/restore'),
    to: updates(['cards.delete'], 'starts'),
  },
  {
    way: 'bringing an archived card in auto mode back whose blockers are done',
    given: async place => {
      const made = await blocked(place, { autoMode: true })
      await board.client.cards.archive(onCard(made))
      await board.client.cards.complete({ projectId: made.projectId, cardId: made.otherId })
      return made
    },
    ask: posted('/unarchive'),
    to: updates(['agents.archive'], 'starts'),
  },
  ...removals.flatMap(([what, ask, permission]): Way[] => [
    {
      way: `${what} a card that takes the last place of a column that pulls`,
      given: full,
      ask,
      to: updates([permission], 'starts'),
    },
    {
      way: `${what} a card of a column with places`,
      from: 'completed',
      ask,
      to: [[[permission], 'leaves']],
    },
  ]),
  {
    way: 'clearing a full column that pulls',
    given: full,
    ask: place => ['POST', `${column(place, place.activeColumnId)}/clean-all`],
    to: updates(['cards.delete'], 'starts'),
  },
  {
    way: 'an approval after which the next column pulls the card',
    given: async place => reviewed(await pulling(place, 'review')),
    ask: posted('/reviews', { verdict: 'approve', body: 'Good.' }),
    to: updates(['cards.update'], 'starts'),
  },
  {
    way: 'an approval of a card that waits for a person',
    given: async place => reviewed(await onBoard(place)),
    ask: posted('/reviews', { verdict: 'approve', body: 'Good.' }),
    to: [[['cards.update'], 'leaves']],
  },
  ...(['prompt', 'agent'] as const).flatMap((field): Way[] => [
    {
      way: `the ${field} of an active column`,
      ask: place => ['PATCH', column(place, place.activeColumnId), { [field]: field === 'agent' ? 'fixture' : 'More' }],
      to: updates(['boards.write']),
    },
    {
      way: `the ${field} of a column without agents`,
      ask: place => ['PATCH', column(place, place.columnId), { [field]: field === 'agent' ? 'fixture' : 'More' }],
      to: [[['boards.write'], 'leaves']],
    },
  ]),
  {
    way: 'the name of an active column',
    ask: place => ['PATCH', column(place, place.reviewId), { name: 'Review it' }],
    to: [[['boards.write'], 'leaves']],
  },
  {
    way: 'a new active column with a prompt',
    given: onBoard,
    ask: ({ projectId, boardId }) => [
      'POST',
      `/api/projects/${projectId}/columns`,
      { boardId, name: 'New', columnType: 'active', prompt: 'Do it' },
    ],
    to: updates(['boards.write']),
  },
  {
    way: 'a new active column without a prompt',
    given: onBoard,
    ask: ({ projectId, boardId }) => [
      'POST',
      `/api/projects/${projectId}/columns`,
      { boardId, name: 'New', columnType: 'active' },
    ],
    to: [[['boards.write'], 'leaves']],
  },
  {
    way: 'deleting the empty column before one that pulls',
    given: async place => {
      const made = await full(place)
      const { projectId, boardId } = made
      const { id } = await board.client.columns.create({ projectId, boardId, name: 'Between', columnType: 'backlog' })
      const ids = [made.columnId, id, made.activeColumnId, made.doneColumnId]
      await board.client.columns.reorder({ projectId: made.projectId, ids })
      return { ...made, emptyColumnId: id }
    },
    ask: place => ['DELETE', column(place, place.emptyColumnId)],
    to: updates(['boards.write']),
  },
  {
    way: 'sending cards of merged pull requests to the column before one that pulls',
    given: place => pulling(place),
    ask: place => ['PATCH', column(place, place.doneColumnId), { mergedColumnId: place.columnId }],
    to: updates(['boards.write']),
  },
  {
    way: 'a limit that gives a waiting card its place',
    given: async place => {
      const made = await full(place)
      await board.client.columns.update({ projectId: made.projectId, columnId: made.activeColumnId, pull: false })
      const { id: cardId } = await add(made, { autoMode: true, blockedBy: [made.cardId] })
      await board.client.cards.update({ projectId: made.projectId, cardId, blockedBy: [] })
      return made
    },
    ask: place => ['PATCH', column(place, place.activeColumnId), { wipLimit: 5 }],
    to: updates(['boards.write'], 'starts'),
  },
  {
    way: 'a check of an agent',
    ask: () => ['POST', '/api/agents/fixture/check', {}],
    to: [
      [['agents.read', 'cards.update', 'scripts.run'], 'refused'],
      [['agents.run'], 'full'],
    ],
  },
]

/** A separate board, on which only the request has effects. */
async function onBoard(place: Place): Promise<Place> {
  const { projectId } = place
  const { id: boardId } = await board.client.boards.create({ projectId, name: 'Own' })
  const [columnId, activeColumnId, doneColumnId] = (await board.client.columns.list({ projectId, boardId })).map(
    ({ id }) => id,
  ) as [string, string, string]
  return { ...place, boardId, columnId, activeColumnId, doneColumnId }
}
/** A board whose active column, or a second one after it, pulls. */
async function pulling(place: Place, which: 'active' | 'review' = 'active'): Promise<Place> {
  const made = await onBoard(place)
  const { projectId, boardId, columnId, activeColumnId, doneColumnId } = made
  const pull = { projectId, wipLimit: 1, pull: true }
  if (which === 'active') {
    await board.client.columns.update({ ...pull, columnId: activeColumnId })
    return made
  }
  const { id } = await board.client.columns.create({ ...pull, boardId, name: 'Review', columnType: 'active' })
  await board.client.columns.reorder({ projectId, ids: [columnId, activeColumnId, id, doneColumnId] })
  return made
}
const add = ({ projectId, columnId }: Place, more: object = {}) =>
  board.client.cards.create({ projectId, title: 'Given', agent: 'fixture', columnId, ...more })
/** A card that waits for another one. */
async function blocked(place: Place, more: object): Promise<Place> {
  const { id: otherId } = await add({ ...place, columnId: place.doneColumnId })
  await board.client.cards.move({ projectId: place.projectId, cardId: otherId, columnId: place.reviewId, position: 0 })
  await endAll()
  const { id: cardId } = await add(place, { blockedBy: [otherId], ...more })
  return { ...place, cardId, otherId }
}
/** A column that pulls with its only card, and one that is ready in the previous column. */
async function full(place: Place): Promise<Place> {
  const made = await pulling(place)
  const { id: cardId } = await add(made, { columnId: made.activeColumnId, deferred: true })
  const { id: otherId } = await add(made)
  return { ...made, cardId, otherId }
}
/** A card whose agent has completed its step and whose review is open. */
async function reviewed(place: Place): Promise<Place> {
  const cardId = await cardAt({ way: '', ask: moved, to: [], from: 'completed' }, place)
  await board.server.app.db.transaction(async tx => {
    const { updateCard } = await import('../../../src/store/cards/cards.ts')
    await updateCard(tx, Number(cardId), { reviewState: 'pending' })
  })
  return { ...place, cardId }
}
