import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triedVersions } from '../../src/agents/providers/triedVersions.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({
    offering: { fixture: 'offering', env: { GATEWAY_KEY: 'sk-gateway-secret' } },
    'signed-out': { fixture: 'wants-sign-in' },
    forever: { fixture: 'forever' },
    dead: { fixture: 'dies-before-initialize' },
  })
})
afterAll(() => board.close())

const agent = async (id: string) => (await board.client.agents.providers()).find(each => each.id === id)!
const checked = async (id: string, request: { greet?: boolean; profile?: string } = {}) => {
  expect(await board.client.agents.check({ agent: id, ...request })).toMatchObject({ status: 'running' })
  return eventually(`the end of a check of ${id}`, async () => {
    const found = await agent(id)
    return found.check?.status === 'running' ? undefined : found
  })
}

test('a check tells version, models, modes and efforts of an agent, and asks its model nothing', async () => {
  expect(await agent('offering')).toMatchObject({ models: [], seenAt: null, check: null })
  const found = await checked('offering')
  expect(found.models.map(({ id }) => id)).toEqual(['small', 'middle', 'big'])
  expect(found.modes.map(({ id }) => id)).toContain('plan')
  expect(found.efforts.map(({ id }) => id)).toEqual(['low', 'middle', 'high'])
  expect(found.check).toMatchObject({ status: 'ok', greeted: false, detail: null, inputTokens: null })
  expect(found).toMatchObject({ version: '1.2.3', signedIn: null, seenAt: expect.any(String) })
  await board.untilNoneRuns()
})

test('a check that greets tells what the agent answered, without its secrets, and what it cost', async () => {
  const found = await checked('offering', { greet: true })
  expect(found.check).toMatchObject({ status: 'ok', greeted: true, inputTokens: 7, outputTokens: 3 })
  expect(found.check!.detail).toContain('the key is ***')
  expect(found.signedIn).toBe(true)
})

test('a check of an agent that is not signed in, or does not start, says so', async () => {
  expect(await checked('signed-out')).toMatchObject({
    signedIn: false,
    check: { status: 'failed', detail: expect.stringContaining('not signed in') },
  })
  expect((await checked('dead')).check).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining('exit code'),
  })
})

test('one check of an agent runs at a time, of agents that there are, with a profile of theirs', async () => {
  const { client } = board
  await client.agents.check({ agent: 'forever', greet: true })
  await expect(client.agents.check({ agent: 'forever' })).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(client.agents.check({ agent: 'nobody' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
  await expect(client.agents.check({ agent: 'offering', profile: 'nothing' })).rejects.toMatchObject({
    details: [{ path: 'profile', message: 'must be a profile of offering' }],
  })
})

test('the versions that the board is tried with are those of its tests', () => {
  const { dependencies } = JSON.parse(readFileSync('test/agents-real/package.json', 'utf8'))
  expect(Object.values(triedVersions).sort()).toEqual(Object.values(dependencies).sort())
})
