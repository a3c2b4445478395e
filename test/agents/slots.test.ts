import { afterEach, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
afterEach(() => board.close())

const agents = { forever: { fixture: 'forever' }, other: { fixture: 'forever' } }
const at = ({ id, projectId }: Card) => ({ projectId, cardId: id })
const cancel = (card: Card) => board.client.agents.cancel(at(card))
const isRunning = async (card: Card) => (await board.client.cards.get(at(card))).status === 'running'
const untilRunning = (...cards: Card[]) =>
  eventually(`${cards.length} running`, async () => (await Promise.all(cards.map(isRunning))).every(Boolean))
const untilWaiting = (card: Card, detail: string) =>
  eventually(`card ${card.id}: ${detail}`, async () => {
    const { status, statusReason, lastAgentAction } = await board.client.cards.get(at(card))
    return status === 'queued' && statusReason === 'slots' && lastAgentAction?.detail === detail
  })
async function inOtherProject(agent = 'forever'): Promise<Card> {
  const { id: projectId } = await board.client.projects.create({ name: 'Other', path: board.folder('other') })
  const [, active] = await board.client.columns.list({ projectId })
  return board.client.cards.create({ projectId, title: 'Other', columnId: active!.id, agent })
}

test("a project's slots limit its agents only, and waiting ones start in order when one is free", async () => {
  board = await startFolderBoard(agents)
  const { client, projectId } = board
  await client.projects.update({ id: projectId, agentSlots: 1 })
  const [first, second, third] = [
    await board.start('forever'),
    await board.start('forever'),
    await board.start('other'),
  ]
  const elsewhere = await inOtherProject()
  await untilRunning(first, elsewhere)
  for (const card of [second, third]) await untilWaiting(card, 'Waiting for a slot: the project has one.')
  expect(await client.agents.get(at(second))).toMatchObject({ status: 'queued', statusReason: 'slots' })
  await cancel(first)
  await untilRunning(second)
  expect(await client.cards.get(at(second))).toMatchObject({ statusReason: null })
  await untilWaiting(third, 'Waiting for a slot: the project has one.')
  await client.projects.update({ id: projectId, agentSlots: null })
  await untilRunning(third)
  await client.projects.update({ id: projectId, agentSlots: 1 })
  const fourth = await board.start('forever')
  await untilWaiting(fourth, 'Waiting for a slot: the project has one.')
  expect(await Promise.all([second, third].map(isRunning))).toEqual([true, true])
  await cancel(second)
  await untilWaiting(fourth, 'Waiting for a slot: the project has one.')
  await cancel(third)
  await untilRunning(fourth)
})

test('an agent, a credential and the server also have slots, and a card without one does not delay others', async () => {
  // More than this machine allows by default: a card that waits for a machine slot reports no other reason.
  const keyed = { fixture: 'forever', credentials: { openai: { key: 'OPENAI_API_KEY' } } }
  board = await startFolderBoard({ ...agents, keyed }, { agentSlots: 10 })
  const { client } = board
  await client.settings.setAgentSlots({ agents: { forever: 1 } })
  const [first, second, third] = [
    await board.start('forever'),
    await board.start('forever'),
    await board.start('other'),
  ]
  await untilRunning(first, third)
  await untilWaiting(second, 'Waiting for a slot: the agent forever has one.')
  expect(await client.settings.setAgentSlots({ server: 2, agents: { forever: null } })).toEqual({
    server: 2,
    agents: {},
  })
  await untilWaiting(second, 'Waiting for a slot: the server has 2.')
  await client.settings.setAgentSlots({ server: null })
  await untilRunning(second)

  const credential = await client.credentials.create({ name: 'one', provider: 'openai', apiKey: 'sk-0123456789abcdef' })
  await client.credentials.update({ id: credential.id, agentSlots: 1 })
  expect(await client.credentials.get({ id: credential.id })).toMatchObject({ agentSlots: 1 })
  await client.credentials.choose({ projectId: board.projectId, credentialId: Number(credential.id) })
  const [fourth, fifth] = [await board.start('keyed'), await board.start('keyed')]
  await untilRunning(fourth)
  await untilWaiting(fifth, 'Waiting for a slot: the credential has one.')
  await cancel(fourth)
  await untilRunning(fifth)
  for (const unknown of [{ nobody: 1 }, { forever: 0 }] as Array<Record<string, number>>)
    await expect(client.settings.setAgentSlots({ agents: unknown })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
})

test('a queued card reports only the slot that it waits for', async () => {
  board = await startFolderBoard(agents, { agentSlots: 1 })
  const { client, projectId } = board
  await client.projects.update({ id: projectId, agentSlots: 1 })
  const [first, second] = [await board.start('forever'), await board.start('forever')]
  await untilRunning(first)
  // Without a slot on this machine, the card does not wait for one of the project.
  expect(await client.cards.get(at(second))).toMatchObject({ status: 'queued', statusReason: null })
  await cancel(first)
  await untilRunning(second)
})
