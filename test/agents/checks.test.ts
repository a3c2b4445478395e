import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtIn } from '../../src/agents/providers/builtInProviders.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({
    offering: {
      fixture: 'offering',
      env: { GATEWAY_KEY: 'sk-gateway-secret' },
      credentials: { custom: { key: 'OWN_KEY' } },
    },
    'signed-out': { fixture: 'wants-sign-in' },
    forever: { fixture: 'forever' },
    dead: { fixture: 'dies-before-initialize' },
  })
})
afterAll(() => board.close())

const agent = async (id: string) => (await board.client.agents.providers()).find(each => each.id === id)!
const checked = async (id: string, request: { greet?: boolean; profile?: string; credentialId?: string } = {}) => {
  expect(await board.client.agents.check({ agent: id, ...request })).toMatchObject({ status: 'running' })
  return eventually(`the end of a check of ${id}`, async () => {
    const found = await agent(id)
    return found.check?.status === 'running' ? undefined : found
  })
}

test('a check returns version, models, modes and efforts of an agent, and sends nothing to its model', async () => {
  expect(await agent('offering')).toMatchObject({ models: [], seenAt: null, check: null })
  const found = await checked('offering')
  expect(found.models.map(({ id }) => id)).toEqual(['small', 'middle', 'big'])
  expect(found.modes.map(({ id }) => id)).toContain('plan')
  expect(found.efforts.map(({ id }) => id)).toEqual(['low', 'middle', 'high'])
  expect(found.check).toMatchObject({ status: 'ok', greeted: false, detail: null, inputTokens: null })
  expect(found).toMatchObject({ version: '1.2.3', signedIn: null, seenAt: expect.any(String) })
  await board.untilNoneRuns()
})

test("a check with a greeting returns the agent's response without its secrets, and its cost", async () => {
  const found = await checked('offering', { greet: true })
  expect(found.check).toMatchObject({ status: 'ok', greeted: true, inputTokens: 7, outputTokens: 3 })
  expect(found.check!.detail).toContain('the key is ***')
  expect(found.signedIn).toBe(true)
})

test('a check of an agent that is not signed in, or does not start, reports it', async () => {
  expect(await checked('signed-out')).toMatchObject({
    signedIn: false,
    check: { status: 'failed', detail: expect.stringContaining('not signed in') },
  })
  expect((await checked('dead')).check).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining('exit code'),
  })
})

test('one check per agent runs at a time, for existing agents and their profiles only', async () => {
  const { client } = board
  await client.agents.check({ agent: 'forever', greet: true })
  await expect(client.agents.check({ agent: 'forever' })).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(client.agents.check({ agent: 'nobody' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
  await expect(client.agents.check({ agent: 'offering', profile: 'nothing' })).rejects.toMatchObject({
    details: [{ path: 'profile', message: 'must be a profile of offering' }],
  })
})

test('a check needs a free slot: 409 if all are taken, and a card waits for its end', async () => {
  const small = await startFolderBoard(
    { forever: { fixture: 'forever' }, well: { fixture: 'well-behaved' } },
    { agentSlots: 1 },
  )
  try {
    const { client, projectId } = small
    const first = await small.start('forever')
    await small.untilStatus(first.id, 'running')
    await expect(client.agents.check({ agent: 'well' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'No slot is free: the machine has one.',
    })
    await client.agents.cancel({ projectId, cardId: first.id })
    await small.untilNoneRuns()
    await eventually('a free slot', () =>
      client.agents.check({ agent: 'forever', greet: true }).then(
        () => true,
        () => false,
      ),
    )
    const second = await small.start('well')
    await eventually('the process of the check', () => small.processes().length > 0)
    expect(await small.card(second.id)).toMatchObject({ status: 'queued' })
  } finally {
    await small.close()
  }
})

test("the server's slots include checks", async () => {
  const { client } = board
  const running = await board.start('forever')
  await board.untilStatus(running.id, 'running')
  await client.settings.setAgentSlots({ server: 1 })
  await expect(client.agents.check({ agent: 'offering' })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'No slot is free: the server has one.',
  })
  await client.agents.cancel({ projectId: board.projectId, cardId: running.id })
  await client.settings.setAgentSlots({ server: null })
})

test('a check with a credential counts on its budgets, and is rejected with 409 above them', async () => {
  const { client } = board
  const { id: credentialId } = await client.credentials.create({
    name: 'Own',
    provider: 'custom',
    baseUrl: 'http://127.0.0.1:1',
    apiKey: 'sk-own-0123456789',
  })
  const { id } = await client.budgets.create({
    scope: 'credential',
    scopeId: credentialId,
    unit: 'runs',
    limit: 1,
    period: 'day',
  })
  await checked('offering', { greet: true, credentialId })
  expect((await client.budgets.list({ credentialId })).find(each => each.id === id)).toMatchObject({
    spent: 1,
    state: 'exhausted',
  })
  expect(await client.credentials.usage({ id: credentialId })).toMatchObject({
    sessions: 1,
    inputTokens: 7,
    outputTokens: 3,
  })
  await expect(client.agents.check({ agent: 'offering', credentialId })).rejects.toMatchObject({
    code: 'BUDGET_EXHAUSTED',
  })
  await client.budgets.delete({ id })
  await checked('offering', { credentialId })
})

test('the tested versions in the list are those of the tests', () => {
  const { dependencies } = JSON.parse(readFileSync('test/agents-real/package.json', 'utf8'))
  expect(builtIn.flatMap(({ tried }) => tried ?? []).sort()).toEqual(Object.values(dependencies).sort())
})
