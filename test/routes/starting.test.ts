import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectPermissions, type Permission } from '../../src/contract/route.ts'
import { exampleOf, requestOf, rows } from '../support/contract/examples.ts'
import { seed, type Seed } from '../support/contract/seed.ts'
import {
  board,
  card,
  endAll,
  keyWith,
  made,
  moved,
  openSessions,
  place,
  posted,
  testApps,
  testKeys,
  useTrialBoard,
  type Way,
} from '../support/contract/startTrials.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

useTrialBoard()

const ways: Way[] = [
  {
    way: 'a create in an active column',
    ask: made({}),
    to: [
      [['cards.create'], 'defers'],
      [['cards.create', 'scripts.run'], 'defers'],
      [['cards.create', 'agents.run'], 'starts'],
    ],
  },
  {
    way: 'a create of a terminal card',
    ask: made({ kind: 'terminal', command: 'true' }),
    to: [
      [['cards.create'], 'refused'],
      [['cards.create', 'agents.run'], 'refused'],
      [['cards.create', 'scripts.run'], 'starts'],
    ],
  },
  {
    way: 'a create of a terminal card that another user can start later',
    ask: place => made({ kind: 'terminal', command: 'true', columnId: place.columnId })(place),
    to: [
      [['cards.create', 'agents.run'], 'refused'],
      [['cards.create', 'scripts.run'], 'leaves'],
    ],
  },
  {
    way: 'a create with auto mode',
    ask: place => made({ autoMode: true, columnId: place.columnId })(place),
    to: [
      [['cards.create'], 'refused'],
      [['cards.create', 'agents.run'], 'leaves'],
    ],
  },
  {
    way: 'an external create in an active column',
    ask: ({ projectId, activeColumnId }) => [
      'POST',
      `/api/external/projects/${projectId}/cards`,
      { title: 'Made', columnId: Number(activeColumnId) },
    ],
    to: [[[...projectPermissions], 'defers']],
  },
  {
    way: 'a move into an active column',
    from: 'backlog',
    ask: moved,
    to: [
      [['cards.move'], 'defers'],
      [['cards.move', 'pipelines.trigger', 'scripts.run'], 'defers'],
      [['cards.move', 'agents.run'], 'starts'],
    ],
  },
  {
    way: 'a move of a terminal card',
    kind: 'terminal',
    from: 'backlog',
    ask: moved,
    to: [
      [['cards.move'], 'refused'],
      [['cards.move', 'agents.run'], 'refused'],
      [['cards.move', 'scripts.run'], 'starts'],
    ],
  },
  {
    way: 'a move from one active column into another one',
    from: 'completed',
    ask: place => ['PATCH', card(place, '/move'), { columnId: place.reviewId }],
    to: [
      [['cards.move'], 'defers'],
      [['cards.move', 'agents.run'], 'starts'],
    ],
  },
  {
    way: 'an external move',
    from: 'backlog',
    ask: place => [
      'PATCH',
      `/api/external/projects/${place.projectId}/cards/${place.cardId}/move`,
      { targetColumnId: Number(place.activeColumnId), position: 0 },
    ],
    to: [[[...projectPermissions], 'defers']],
  },
  {
    way: 'completing a card',
    from: 'completed',
    ask: posted('/complete'),
    to: [[[...projectPermissions], 'leaves']],
  },
  {
    way: 'activating a deferred card',
    from: 'active',
    ask: posted('/activate'),
    to: [
      [['pipelines.trigger', 'cards.move', 'scripts.run'], 'refused'],
      [['agents.run'], 'starts'],
    ],
  },
  {
    way: 'activating a terminal card',
    kind: 'terminal',
    from: 'active',
    ask: posted('/activate'),
    to: [
      [['agents.run'], 'refused'],
      [['agents.run', 'scripts.run'], 'starts'],
    ],
  },
  {
    way: 'approving the next step',
    from: 'completed',
    ask: posted('/approve-auto'),
    to: [
      [['pipelines.trigger', 'cards.move'], 'refused'],
      [['agents.run'], 'starts'],
    ],
  },
  {
    way: 'approving the next step of a terminal card',
    kind: 'terminal',
    from: 'completed',
    ask: posted('/approve-auto'),
    to: [
      [['agents.run'], 'refused'],
      [['agents.run', 'scripts.run'], 'starts'],
    ],
  },
  {
    way: 'auto mode, which starts every step automatically',
    from: 'active',
    ask: place => ['PATCH', card(place, '/auto-mode'), { enabled: true }],
    to: [
      [['cards.update', 'pipelines.trigger'], 'refused'],
      [['agents.run'], 'leaves'],
    ],
  },
  {
    way: 'the steps of a card with auto mode, of which a manual one could be changed to automatic',
    from: 'auto',
    ask: place => ['PUT', card(place, '/pipeline'), { steps: [{ columnId: place.activeColumnId }] }],
    to: [
      [['cards.update'], 'refused'],
      [['cards.update', 'agents.run'], 'leaves'],
    ],
  },
  {
    way: 'the steps of a card without auto mode',
    from: 'active',
    ask: place => ['PUT', card(place, '/pipeline'), { steps: [{ columnId: place.activeColumnId }] }],
    to: [[['cards.update'], 'leaves']],
  },
  {
    way: 'a change of a card and its agent',
    from: 'active',
    ask: place => ['PATCH', card(place), { prompt: 'Do more', agent: 'fixture' }],
    to: [[['cards.update'], 'leaves']],
  },
  {
    way: 'a change of a terminal card, whose command stays',
    kind: 'terminal',
    from: 'active',
    ask: place => ['PATCH', card(place), { title: 'Other', prompt: 'true' }],
    to: [[['cards.update'], 'leaves']],
  },
  {
    way: 'restoring a deleted card',
    from: 'deleted',
    ask: posted('/restore'),
    to: [[[...projectPermissions], 'leaves']],
  },
  {
    way: 'unarchiving a card',
    from: 'archived',
    ask: posted('/unarchive'),
    to: [[[...projectPermissions], 'leaves']],
  },
  {
    way: 'a message',
    from: 'completed',
    ask: posted('/agent/message', { content: 'Go on' }),
    to: [
      [['cards.update', 'scripts.run'], 'refused'],
      [['agents.run'], 'starts'],
    ],
  },
  ...(['retry', 'relaunch'] as const).flatMap((verb): Way[] => [
    {
      way: verb,
      from: 'completed',
      ask: posted(`/agent/${verb}`),
      to: [
        [['pipelines.trigger', 'scripts.run'], 'refused'],
        [['agents.run'], 'starts'],
      ],
    },
    {
      way: `${verb} of a terminal card`,
      kind: 'terminal',
      from: 'completed',
      ask: posted(`/agent/${verb}`),
      to: [
        [['agents.run'], 'refused'],
        [['agents.run', 'scripts.run'], 'starts'],
      ],
    },
  ]),
  {
    way: 'refining a prompt',
    from: 'backlog',
    ask: ({ projectId, cardId }) => ['POST', `/api/projects/${projectId}/pre-session`, { cardId }],
    to: [
      [['cards.update', 'pipelines.trigger'], 'refused'],
      [['agents.run'], 'starts'],
    ],
  },
  {
    way: 'a message to the assistant',
    ask: ({ projectId }) => ['POST', `/api/projects/${projectId}/assistant/message`, { content: 'Hello' }],
    to: [
      [['cards.create', 'scripts.run'], 'refused'],
      [['agents.run'], 'starts'],
    ],
  },
  {
    way: 'a tool of MCP',
    ask: ({ projectId, activeColumnId }) => [
      'POST',
      '/api/mcp',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'create_card', arguments: { projectId, title: 'Made', columnId: activeColumnId } },
      },
    ],
    to: [
      [['cards.create'], 'defers'],
      [['cards.create', 'agents.run'], 'starts'],
    ],
  },
  {
    way: 'a new column of the active kind, and a prompt for one',
    from: 'active',
    ask: ({ projectId, activeColumnId }) => [
      'PATCH',
      `/api/projects/${projectId}/columns/${activeColumnId}`,
      { prompt: 'Do it', agent: 'fixture' },
    ],
    to: [[[...projectPermissions], 'leaves']],
  },
]
describe('an API key starts', () => {
  testKeys(ways)

  it('nothing by any route of the contract without agents.run and scripts.run', async () => {
    await endAll()
    const own = await seed(board)
    const key = await keyFor(
      own,
      projectPermissions.filter(permission => permission !== 'agents.run' && permission !== 'scripts.run'),
    )
    const started: string[] = []
    // Routes that delete come last, so that the others find their records.
    for (const row of rows.toSorted(
      (a, b) => Number(a.route.method === 'DELETE') - Number(b.route.method === 'DELETE'),
    )) {
      if (row.route.transfer === 'file' || row.route.transfer === 'raw') continue
      const { path, options } = requestOf(row.route, exampleOf(row, own))
      await board.request(row.route.method, path, { token: key, ...options })
      const scripts = await board.client.scripts.status({ projectId: own.projectId }).catch(() => [])
      if ((await openSessions()).length > 0 || scripts.some(({ status }) => status === 'running'))
        started.push(row.name)
      await endAll()
    }
    expect(started).toEqual([])
  })
})

describe('a connected app starts', () => {
  testApps(ways, ['work', 'run'])
})

const keyFor = async ({ projectId }: Seed, permissions: readonly Permission[]) =>
  (await board.client.keys.create({ name: 'k', scope: 'project', projectId, permissions: [...permissions] })).key

it('a card that a key left deferred states the reason, and a user starts it', async () => {
  await endAll()
  const { projectId, activeColumnId, columnId } = place
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Given', columnId })
  const moved = await board
    .as(await keyWith(['cards.move']))
    .cards.move({ projectId, cardId, columnId: activeColumnId })
  expect(moved).toMatchObject({ deferred: true, status: 'idle', lastAgentAction: { type: 'not_started' } })
  expect(moved.lastAgentAction!.detail).toBe(
    'The API key lacks the permission agents.run, which starting an agent requires.',
  )
  await board.client.cards.activate({ projectId, cardId })
  expect(await board.client.cards.get({ projectId, cardId })).toMatchObject({ deferred: false, status: 'queued' })
})

it('a key that can only create and move cards never runs a command', async () => {
  const running = await startBoard()
  try {
    const path = running.folder('project')
    const { id: projectId } = await running.client.projects.create({ name: 'P', path })
    const columns = await running.client.columns.list({ projectId })
    const active = columns.find(({ columnType }) => columnType === 'active')!.id
    const { key } = await running.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.create', 'cards.move', 'agents.run', 'scripts.write'],
    })
    const terminal = (file: string, columnId: string) => ({
      projectId,
      title: 'T',
      columnId,
      kind: 'terminal' as const,
      command: `touch ${file}`,
      useWorktree: false,
    })
    const refusal = { code: 'INSUFFICIENT_PERMISSIONS' }
    await expect(running.as(key).cards.create(terminal('by-key', active))).rejects.toMatchObject(refusal)
    const mine = await running.client.cards.create(terminal('by-person', columns[0]!.id))
    await expect(running.as(key).cards.move({ projectId, cardId: mine.id, columnId: active })).rejects.toMatchObject(
      refusal,
    )
    expect((await running.client.cards.get({ projectId, cardId: mine.id })).columnId).toBe(columns[0]!.id)
    await running.client.cards.move({ projectId, cardId: mine.id, columnId: active })
    await eventually('the command of the person', () => existsSync(join(path, 'by-person')))
    expect(existsSync(join(path, 'by-key'))).toBe(false)
  } finally {
    await running.close()
  }
})
