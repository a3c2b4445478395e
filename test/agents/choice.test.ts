import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({
    offering: { fixture: 'offering' },
    other: { fixture: 'offering' },
    keyed: { fixture: 'offering', credentials: { openai: { key: 'OPENAI_API_KEY', model: 'OPENAI_MODEL' } } },
    plain: { protocol: 'command', command: ['true'] },
  })
})
afterAll(() => board.close())

const session = async (cardId: string) => board.client.agents.get({ projectId: board.projectId, cardId })
const setServer = (choice: object) => board.client.settings.setAgents(choice)
const setProject = (choice: object) => board.client.projects.update({ id: board.projectId, ...choice })
const setColumn = (choice: object) =>
  board.client.columns.update({ projectId: board.projectId, columnId: board.columns.active, ...choice })
const none = { agent: null, profile: null, model: null, mode: null, effort: null }

test('the nearest level decides model, mode and effort separately, and only for its agent', async () => {
  await setServer({ agent: 'offering', model: 'small', mode: 'careful', effort: 'low' })
  const byServer = await board.start('offering', { agent: null })
  await board.untilStatus(byServer.id, 'completed')
  expect(await session(byServer.id)).toMatchObject({
    agent: 'offering',
    model: 'small',
    mode: 'careful',
    effort: 'low',
  })
  await setProject({ model: 'big' })
  await setColumn({ effort: 'high' })
  const nearer = await board.start('offering', { agent: null, mode: 'bold' })
  await board.untilStatus(nearer.id, 'completed')
  expect(await session(nearer.id)).toMatchObject({ model: 'big', mode: 'bold', effort: 'high' })
  const elsewhere = await board.start('other')
  await board.untilStatus(elsewhere.id, 'completed')
  expect(await session(elsewhere.id)).toMatchObject({
    agent: 'other',
    model: 'middle',
    mode: 'usual',
    effort: 'middle',
  })
  await Promise.all([setServer(none), setProject(none), setColumn(none)])
})

test('a model that the agent does not offer fails the start, and cannot be selected once the offer is known', async () => {
  const unknown = await board.start('plain', { model: 'big' })
  const failed = await board.untilStatus(unknown.id, 'failed')
  expect(failed.lastAgentAction?.detail).toBe('The agent is a plain command and does not support the model big.')
  const cardOf = (choice: object) => board.start('offering', { columnId: board.columns.backlog, ...choice })
  await expect(cardOf({ model: 'huge' })).rejects.toMatchObject({
    status: 400,
    code: 'VALIDATION_FAILED',
    details: [{ path: 'model', message: 'must be one of the values that the agent offers: small, middle, big' }],
  })
  await expect(setColumn({ agent: 'offering', effort: 'endless' })).rejects.toMatchObject({
    details: [{ path: 'effort' }],
  })
  await expect(setServer({ agent: 'offering', mode: 'wild' })).rejects.toMatchObject({ details: [{ path: 'mode' }] })
})

test('a card that changes its agent keeps no model, mode, effort or profile of the previous one', async () => {
  const { client, projectId } = board
  const { id } = await client.agentProfiles.create({ name: 'fine', agent: 'offering', model: 'big' })
  const choice = { model: 'small', mode: 'careful', effort: 'high' }
  const card = await board.start('offering', { columnId: board.columns.backlog, profile: 'fine', ...choice })
  const place = { projectId, cardId: card.id }
  const change = (changed: object) => client.cards.update({ ...place, ...changed })
  const kept = { agent: 'offering', profile: 'fine', ...choice }
  expect(await change({ agent: 'offering', title: 'The same agent' })).toMatchObject(kept)
  expect(await change({ agent: null })).toMatchObject({ ...kept, agent: null })
  expect(await change({ agent: 'plain' })).toMatchObject({ ...none, agent: 'plain' })
  await client.cards.move({ ...place, columnId: board.columns.active })
  await board.untilStatus(card.id, 'completed')
  expect(await change({ agent: 'other', effort: 'low' })).toMatchObject({ ...none, agent: 'other', effort: 'low' })
  expect(await change({ agent: 'offering', mode: 'bold' })).toMatchObject({ ...none, agent: 'offering', mode: 'bold' })
  expect(await change({ agent: null, profile: 'fine' })).toMatchObject({ ...none, profile: 'fine', mode: 'bold' })
  await client.agentProfiles.delete({ id })
})

test('a project and a column that change their agent keep no setting of the previous one either', async () => {
  await setProject({ agent: 'offering', model: 'small' })
  await setColumn({ agent: 'offering', effort: 'low' })
  await Promise.all([setProject({ agent: 'other' }), setColumn({ agent: 'plain' })])
  const { client, projectId } = board
  expect(await client.projects.get({ id: projectId })).toMatchObject({ ...none, agent: 'other' })
  expect(await setColumn({})).toMatchObject({ ...none, agent: 'plain' })
  await Promise.all([setProject(none), setColumn(none)])
})

test('a profile gives its agent a program, arguments, a sealed environment and a model, and hides its secret', async () => {
  const { client, projectId } = board
  const profile = await client.agentProfiles.create({
    name: 'gateway',
    agent: 'offering',
    args: ['--said'],
    environment: { GATEWAY_KEY: 'sk-gateway-secret' },
    model: 'small',
  })
  expect(profile).toMatchObject({ environment: ['GATEWAY_KEY'], args: ['--said'] })
  const card = await board.start('offering', { agent: null, profile: 'gateway', effort: 'high' })
  await board.untilStatus(card.id, 'completed')
  expect(await session(card.id)).toMatchObject({
    agent: 'offering',
    profile: 'gateway',
    model: 'small',
    effort: 'high',
  })
  const said = (await board.messages(card.id)).map(({ content }) => content).join('\n')
  expect(said).toContain('arguments: --said')
  expect(said).toContain('the key is ***')
  const everything = JSON.stringify([await session(card.id), await board.card(card.id), said, board.socket.messages])
  expect(everything).not.toContain('gateway-secret')
  await client.agentProfiles.update({ id: profile.id, environment: { GATEWAY_KEY: null, OTHER: 'x' } })
  expect(await client.agentProfiles.list()).toMatchObject([{ name: 'gateway', environment: ['OTHER'] }])
  await client.agentProfiles.delete({ id: profile.id })
  const gone = await board.start('offering', { agent: null, profile: null, columnId: board.columns.backlog })
  await expect(client.cards.update({ projectId, cardId: gone.id, profile: 'gateway' })).rejects.toMatchObject({
    details: [
      {
        path: 'profile',
        message: 'must be an existing profile, which gateway is not. To list the profiles, run: board agents profiles',
      },
    ],
  })
  await expect(client.agents.relaunch({ projectId, cardId: card.id })).rejects.toMatchObject({
    code: 'AGENT_UNAVAILABLE',
    message: 'There is no agent profile gateway.',
  })
})

test('a credential is passed only to agents that accept it, and no other agent starts instead', async () => {
  const { client, projectId } = board
  const { id: credentialId } = await client.credentials.create({
    name: 'Gateway',
    provider: 'custom',
    apiKey: 'sk-custom-secret',
    baseUrl: 'http://127.0.0.1:9',
  })
  const card = await board.start('offering', { columnId: board.columns.backlog })
  await expect(client.credentials.chooseForCard({ projectId, cardId: card.id, credentialId })).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/^credentialId offering does not support credentials of custom\. These agents do: /),
  })
  const free = await board.start('offering', { agent: null, columnId: board.columns.backlog })
  await client.credentials.chooseForCard({ projectId, cardId: free.id, credentialId })
  await expect(client.cards.update({ projectId, cardId: free.id, agent: 'offering' })).rejects.toMatchObject({
    details: [{ path: 'agent' }],
  })
})

test('models of a credential can be selected in addition to those of the agent, on every level that uses it', async () => {
  const { client, projectId } = board
  const { id: credentialId } = await client.credentials.create({
    name: 'Own models',
    provider: 'openai',
    apiKey: 'sk-own-models',
    baseUrl: 'http://127.0.0.1:9',
    models: ['own-1', 'own-2'],
  })
  const card = await board.start('keyed', { columnId: board.columns.backlog })
  const change = (model: string) => client.cards.update({ projectId, cardId: card.id, model })
  const refused = { details: [{ path: 'model' }] }
  await board.client.cards.move({ projectId, cardId: card.id, columnId: board.columns.active })
  await board.untilStatus(card.id, 'completed')
  await expect(change('own-1')).rejects.toMatchObject(refused)
  await client.credentials.chooseForCard({ projectId, cardId: card.id, credentialId })
  expect(await change('own-1')).toMatchObject({ model: 'own-1' })
  await client.agents.relaunch({ projectId, cardId: card.id })
  await board.untilStatus(card.id, 'completed')
  await expect(change('own-3')).rejects.toMatchObject({
    details: [{ message: 'must be one of the values that the agent offers: own-1, own-2, small, middle, big' }],
  })
  await expect(setProject({ agent: 'keyed', model: 'own-2' })).rejects.toMatchObject(refused)
  await client.credentials.choose({ projectId, credentialId })
  await setProject({ agent: 'keyed', model: 'own-2' })
  await setColumn({ model: 'own-1' })
  const made = await board.start('keyed', { columnId: board.columns.backlog, model: 'own-2' })
  expect(made.model).toBe('own-2')
  await client.credentials.choose({ projectId, credentialId: null })
  const profile = { name: 'house', agent: 'keyed', model: 'own-1' }
  await expect(client.agentProfiles.create(profile)).rejects.toMatchObject(refused)
  const { id } = await client.agentProfiles.create({ ...profile, credentialId })
  await client.agentProfiles.update({ id, model: 'own-2' })
  await client.agentProfiles.delete({ id })
  await Promise.all([setProject(none), setColumn(none)])
})
