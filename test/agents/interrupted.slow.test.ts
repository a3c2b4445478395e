import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient, type Client } from '../../src/client/index.ts'
import { databaseOptions, onLibsqlServer, testSandbox, untilOnDuty } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { configure, fixtureState, makeRepository } from '../support/agents/agentBoard.ts'

const root = mkdtempSync(join(tmpdir(), 'board-interrupted-'))
const dataDir = join(root, 'data')
const mark = randomUUID()
let server: ChildProcess | undefined
let client: Client
let projectId: string
let columnId: string

/** Runs the built program as a server on the data folder. */
async function start(): Promise<void> {
  rmSync(join(dataDir, 'daemon.json'), { force: true })
  const child = (server = spawn(
    process.execPath,
    [
      resolve('bin/board.js'),
      'serve',
      '--port',
      '0',
      '--data-dir',
      dataDir,
      '--agent-slots',
      '3',
      ...(await databaseOptions(dataDir)),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env.PATH, HOME: root, BOARD_SANDBOX: testSandbox } },
  ))
  await eventually('daemon.json', () => existsSync(join(dataDir, 'daemon.json')) || child.exitCode !== null, 20_000)
  const { url, token } = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
  client = createClient({ url, token })
  await untilOnDuty(url, token)
}

async function end(signal: NodeJS.Signals): Promise<{ code: number | null; tookMs: number }> {
  const began = performance.now()
  const exited = once(server!, 'exit')
  server!.kill(signal)
  const [code] = (await exited) as [number | null]
  server = undefined
  return { code, tookMs: performance.now() - began }
}

const create = (agent: string) =>
  client.cards.create({ projectId, title: agent, prompt: 'First thing.', columnId, agent })
const card = (cardId: string) => client.cards.get({ projectId, cardId })
const untilStatus = (cardId: string, status: string) =>
  eventually(`the status ${status}`, async () => (await card(cardId)).status === status, 15_000)
const spoken = (cardId: string) =>
  eventually(
    'a word of the agent',
    async () => (await client.agents.messages({ projectId, cardId })).some(({ role }) => role === 'agent'),
    15_000,
  )

beforeAll(async () => {
  configure(
    dataDir,
    {
      forever: { fixture: 'forever' },
      deaf: { fixture: 'ignores-term' },
      setsid: { fixture: 'setsid-grandchild' },
      asking: { fixture: 'permission-first' },
      questioning: { fixture: 'asking-people' },
      looking: { fixture: 'blocks', env: { FIXTURE_LOADS: '1' } },
      resumable: { fixture: 'resumable' },
      forgetful: { fixture: 'resumable', env: { FIXTURE_RESUME: 'never', FIXTURE_STILL: 'Be still\\.$' } },
    },
    mark,
  )
  await start()
  projectId = (await client.projects.create({ name: 'Interrupted', path: makeRepository(join(root, 'repository')) })).id
  columnId = (await client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!.id
})
afterEach(async () => {
  const cards = await client.cards.list({ projectId })
  for (const { id } of cards) await client.cards.delete({ projectId, cardId: id, force: true })
})
afterAll(async () => {
  if (server) await end('SIGTERM')
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

test('stopping the server ends its agents within 15 seconds, and reports the sessions as interrupted', async () => {
  const cards = [await create('forever'), await create('deaf'), await create('setsid'), await create('forever')]
  for (const { id } of cards.slice(0, 3)) await spoken(id)
  expect((await card(cards[3]!.id)).status).toBe('queued')
  const { code, tookMs } = await end('SIGTERM')
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(15_000 * slowdown())
  expect(processesWith(mark)).toEqual([])
  await start()
  for (const { id } of cards)
    expect(await card(id)).toMatchObject({
      status: 'interrupted',
      statusReason: 'server_restart',
      unread: true,
      hasActiveAgent: false,
      locks: [],
      lastAgentAction: { type: 'interrupted' },
    })
})

test('ten seconds after a restart, no process of a killed server is left, and its open sessions are interrupted', async () => {
  const cards = [await create('deaf'), await create('setsid'), await create('asking'), await create('forever')]
  for (const { id } of cards.slice(0, 2)) await spoken(id)
  await untilStatus(cards[2]!.id, 'waiting')
  await end('SIGKILL')
  const began = performance.now()
  await start()
  await eventually('the end of every process', () => processesWith(mark).length === 0, 10_000)
  expect(performance.now() - began).toBeLessThan(10_000 * slowdown())
  // A card that waits at a shared database starts now: another client might have requested it while the server was offline.
  if (onLibsqlServer) await spoken(cards.pop()!.id)
  for (const { id } of cards) {
    await untilStatus(id, 'interrupted')
    expect(await card(id)).toMatchObject({ statusReason: 'server_restart', hasActiveAgent: false })
    expect(await client.agents.get({ projectId, cardId: id })).toMatchObject({
      status: 'interrupted',
      statusReason: 'server_restart',
      endedAt: expect.any(String),
    })
  }
})

test.each(['SIGTERM', 'SIGKILL'] as const)('a queued card that got a blocker still waits after %s', async signal => {
  const [running, blocker] = [
    [await create('forever'), await create('forever'), await create('forever')],
    await client.cards.create({ projectId, title: 'First', prompt: 'First.', deferred: true }),
  ]
  const { id } = await create('resumable')
  await client.cards.update({ projectId, cardId: id, blockedBy: [blocker.id] })
  await eventually('the wait', async () => (await card(id)).statusReason === 'blocked')
  await end(signal)
  await start()
  await untilStatus(running[0]!.id, 'interrupted')
  expect(await card(id)).toMatchObject({ status: 'queued', statusReason: 'blocked' })
  await client.cards.complete({ projectId, cardId: blocker.id })
  await untilStatus(id, 'completed')
})

test('an interrupted session continues on request', async () => {
  const { id } = await create('resumable')
  await untilStatus(id, 'completed')
  const asking = await create('asking')
  await untilStatus(asking.id, 'waiting')
  await client.agents.send({ projectId, cardId: asking.id, content: 'Hurry.' })
  await end('SIGKILL')
  await start()
  await client.agents.send({ projectId, cardId: id, content: 'Second thing.' })
  await eventually(
    'the answer',
    async () =>
      (await client.agents.messages({ projectId, cardId: id })).some(({ content }) =>
        content.includes('You said 2 things'),
      ),
    15_000,
  )
  await client.agents.retry({ projectId, cardId: asking.id })
  await untilStatus(asking.id, 'waiting')
  expect((await card(asking.id)).sessions.map(({ status }) => status)).toEqual(['interrupted', 'waiting'])
})

test('a file of a pending message is sent after a kill, and leftover copies are removed', async () => {
  const prompt = 'Hold on.'
  const { id } = await client.cards.create({ projectId, title: 'Look', prompt, agent: 'looking', deferred: true })
  const place = { projectId, cardId: id }
  const attach = async (name: string, text: string) => {
    writeFileSync(join(root, name), text)
    return (await client.attachments.create({ ...place, file: { path: join(root, name) } })).id
  }
  const copies = () =>
    readdirSync(join(dataDir, 'agents', 'none', 'tmp')).filter(name => name.startsWith('board-attachments-'))
  await attach('own.txt', 'In its first turn.')
  await client.cards.move({ ...place, columnId, position: 0 })
  await spoken(id)
  await client.agents.send({ ...place, content: 'Look.', attachmentIds: [await attach('given.txt', 'Still there.')] })
  await end('SIGKILL')
  expect(copies()).not.toEqual([])
  await start()
  await eventually('the end of the copies', () => copies().length === 0, 10_000)
  await untilStatus(id, 'interrupted')
  await client.agents.retry(place)
  await untilStatus(id, 'completed')
  const turns = (await client.agents.messages(place)).filter(({ role }) => role === 'agent')
  expect(JSON.parse(turns.at(-1)!.content)).toMatchObject([
    { type: 'text', text: 'Look.' },
    { type: 'resource_link', name: 'given.txt', file: 'Still there.' },
  ])
  await eventually('the end of the copies', () => copies().length === 0)
})

test('an agent receives the unanswered message again after its server was killed', async () => {
  const { id } = await create('resumable')
  const place = { projectId, cardId: id }
  await untilStatus(id, 'completed')
  await client.agents.send({ ...place, content: 'Be still.' })
  const state = fixtureState(dataDir)
  await eventually('the message at the agent', () => existsSync(join(state, 'still')))
  await end('SIGKILL')
  await start()
  await untilStatus(id, 'interrupted')
  await client.agents.retry(place)
  await untilStatus(id, 'completed')
  const told = readdirSync(state)
    .filter(name => name.endsWith('.json'))
    .flatMap(name => JSON.parse(readFileSync(join(state, name), 'utf8')) as string[])
  expect(told).toContain(
    'Continue your task where you left off. In case you did not receive it, this is the last message to you:\n\nBe still.',
  )
})

const askCard = async () => {
  const ask = [{ question: 'Which database?', options: ['Postgres', 'SQLite'] }]
  const { id } = await client.cards.create({
    projectId,
    title: 'Asks',
    prompt: JSON.stringify({ ask }),
    columnId,
    agent: 'questioning',
  })
  const open = () => client.agents.get({ projectId, cardId: id })
  await eventually('the question', async () => (await open()).questions.length === 1, 15_000)
  return { id, open, answer: () => client.agents.approvePlan({ projectId, cardId: id, approved: true, optionId: '2' }) }
}
const lastMessage = async (cardId: string) => (await client.agents.messages({ projectId, cardId })).at(-1)!.content

test('a question of ask_person stays open after a kill, and its answer continues the session', async () => {
  const { id, open, answer } = await askCard()
  await end('SIGKILL')
  await start()
  expect(await open()).toMatchObject({
    status: 'waiting',
    statusReason: 'question',
    questions: [{ title: 'Which database?', options: [{ name: 'Postgres' }, { name: 'SQLite' }] }],
  })
  expect((await client.agents.messages({ projectId, cardId: id })).slice(-2).map(({ content }) => content)).toEqual([
    'The server stopped while the agent was working.',
    'The question to people stays open. Its answer continues the session.',
  ])
  // A second kill changes nothing.
  await end('SIGKILL')
  await start()
  await answer()
  await untilStatus(id, 'completed')
  expect(await lastMessage(id)).toBe('I received: The answer to your question "Which database?":\n\nSQLite')
})

test('a question of ask_person survives a sleep of the machine', async () => {
  const { id, open, answer } = await askCard()
  const pids = [server!.pid!, ...processesWith(mark)]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  const waiting = open()
  for (const pid of pids.toReversed()) process.kill(pid, 'SIGCONT')
  expect((await waiting).questions).toHaveLength(1)
  await answer()
  await untilStatus(id, 'completed')
  expect(await lastMessage(id)).toBe('{"answered":true,"answer":"SQLite","comment":""}\nDone.')
})

test('an agent that cannot resume receives its last message again after its server was killed, also repeatedly', async () => {
  const { id } = await create('forgetful')
  const place = { projectId, cardId: id }
  await untilStatus(id, 'completed')
  const still = join(fixtureState(dataDir), 'still')
  rmSync(still, { force: true })
  await client.agents.send({ ...place, content: 'Be still.' })
  for (const _ of [1, 2]) {
    await eventually('the message at the agent', () => existsSync(still), 15_000)
    rmSync(still)
    await end('SIGKILL')
    await start()
    await untilStatus(id, 'interrupted')
    await client.agents.retry(place)
  }
  await eventually('the message at the agent', () => existsSync(still), 15_000)
  const { sessions } = await card(id)
  const told = await Promise.all(
    sessions.map(
      async ({ id: sessionId }) =>
        (await client.agents.messages({ ...place, sessionId })).filter(({ content }) => content === 'Be still.').length,
    ),
  )
  expect(told).toEqual([0, 1, 1, 1])
})
