import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
let [cardId, scheduleId] = ['', '']
beforeAll(async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' } })
  cardId = (await board.client.cards.create({ ...project(), title: 'Card' })).id
  scheduleId = (await board.client.schedules.create({ ...project(), name: 'Daily', everySecs: 86_400, template })).id
})
afterAll(() => board.close())

const template = { title: 'Scheduled' }
const project = () => ({ projectId: board.projectId })
const column = () => ({ ...project(), columnId: board.columns.backlog })

/** The places that name an agent: how it is set, another change there, and the stored rows. */
const places: Record<
  string,
  { choose: (agent: string) => Promise<unknown>; edit?: () => Promise<unknown>; field?: string }
> = {
  'a new card': { choose: agent => board.client.cards.create({ ...project(), title: 'New', agent }) },
  'a card': {
    choose: agent => board.client.cards.update({ ...project(), cardId, agent }),
    edit: () => board.client.cards.update({ ...project(), cardId, title: 'Other', model: null }),
  },
  'a new column': {
    choose: async agent => {
      const { boardId } = (await board.client.columns.list(project()))[0]!
      return board.client.columns.create({ ...project(), boardId, name: `Of ${agent}`, columnType: 'backlog', agent })
    },
  },
  'a column': {
    choose: agent => board.client.columns.update({ ...column(), agent }),
    edit: () => board.client.columns.update({ ...column(), name: 'Later' }),
  },
  'a project': {
    choose: agent => board.client.projects.update({ id: board.projectId, agent }),
    edit: () => board.client.projects.update({ id: board.projectId, name: 'Other' }),
  },
  'a replacement at a usage limit': {
    choose: agent =>
      board.client.projects.update({ id: board.projectId, usageLimits: { onLimit: 'next', next: [{ agent }] } }),
    edit: () => board.client.projects.update({ id: board.projectId, sessionCards: 5 }),
    field: 'usageLimits',
  },
  'a new schedule': {
    choose: agent =>
      board.client.schedules.create({
        ...project(),
        name: `Of ${agent}`,
        everySecs: 86_400,
        template: { ...template, agent },
      }),
  },
  'a schedule': {
    choose: agent => board.client.schedules.update({ ...project(), scheduleId, template: { agent } }),
    edit: () => board.client.schedules.update({ ...project(), scheduleId, template: { title: 'Other' } }),
  },
  "the server's settings": {
    choose: agent => board.client.settings.setAgents({ agent }),
    edit: () => board.client.settings.setAgents({ mode: null }),
  },
  'the slots of agents': {
    choose: agent => board.client.settings.setAgentSlots({ agents: { [agent]: 2 } }),
    edit: () => board.client.settings.setAgentSlots({ server: 8 }),
    field: 'agents.ghost',
  },
}
const editable = Object.keys(places).filter(place => places[place]!.edit)

describe.each(Object.keys(places))('an unknown agent on %s', place => {
  test('returns 400 with the known ones', async () => {
    await expect(places[place]!.choose('ghost')).rejects.toMatchObject({
      status: 400,
      code: 'VALIDATION_FAILED',
      details: [
        {
          path: places[place]!.field ?? 'agent',
          message: expect.stringMatching(/^must be one of the known agents: .*claude.*well/),
        },
      ],
    })
  })
})

test.each(Object.keys(places))(
  '%s accepts a configured agent and a built-in one that is not installed',
  async place => {
    await places[place]!.choose('well')
    await places[place]!.choose('gemini')
  },
)

test.each([
  [
    'that another machine has started',
    "INSERT INTO agent_offers (host, agent, profile) VALUES ('elsewhere', 'ghost', '')",
    'agent_offers',
  ],
  [
    'that a profile names',
    "INSERT INTO agent_profiles (name, agent, created_at, updated_at) VALUES ('spirit', 'ghost', '2026-01-01', '2026-01-01')",
    'agent_profiles',
  ],
])('an agent %s is known', async (_, insert, table) => {
  const run = (sql: string) => board.server.app.db.transaction(async tx => tx.run(sql, []))
  await run(insert)
  await board.client.cards.update({ ...project(), cardId, agent: 'ghost' })
  await run(`DELETE FROM ${table} WHERE agent = 'ghost'`)
  await board.client.cards.update({ ...project(), cardId, agent: null })
})

describe('a stored agent that is no longer known', () => {
  beforeAll(async () => {
    await board.server.app.db.transaction(async tx => {
      for (const table of ['cards', 'columns', 'projects']) await tx.run(`UPDATE ${table} SET agent = 'ghost'`, [])
      await tx.run(
        `UPDATE projects SET usage_limits = '{"onLimit":"next","next":[{"agent":"ghost","profile":null,"credentialId":null}]}'`,
        [],
      )
      await tx.run(`UPDATE schedules SET template = json_set(template, '$.agent', 'ghost')`, [])
      await tx.run(
        `INSERT OR REPLACE INTO server_settings (name, value) VALUES ('agents', '{"agent":"ghost"}'), ('agentSlots', '{"agents":{"ghost":1}}')`,
        [],
      )
    })
  })

  test.each(editable)('allows other changes of %s', async place => {
    await places[place]!.edit!()
  })
  test.each(editable)('can be set again on %s', async place => {
    await places[place]!.choose('ghost')
  })
})
