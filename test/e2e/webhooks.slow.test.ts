import { mkdirSync, mkdtempSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Unreachable } from '../../src/client/index.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startReceiver, verified, type Received, type Receiver } from '../support/receivers/webhookReceiver.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { bundled } from './bundled.ts'
import { createDice } from './dice.ts'

/** For a longer run: BOARD_TEST_DELIVERIES=10000, and the seed of a failure as BOARD_TEST_SEED. */
const deliveries = Number(process.env.BOARD_TEST_DELIVERIES ?? 400)
const seed = Number(process.env.BOARD_TEST_SEED ?? Date.now() % 1_000_000)
const kills = 5
const projectCount = 4
const writers = 8

const root = mkdtempSync(join(tmpdir(), 'board-webhooks-'))
const dataDir = join(root, 'data')
const dice = createDice(seed)
let board: BoardProcess
let receiver: Receiver

beforeAll(async () => {
  hideAgents(dataDir)
  mkdirSync(join(root, 'program'))
  board = boardProcess(dataDir, {}, [], await bundled('test/e2e/hastyServer.ts', join(root, 'program')))
  receiver = await startReceiver(failNowAndThen)
  await board.start()
})
afterAll(async () => {
  await clearAway(board, root)
  await receiver.close()
})

/** Fails one request in five: with an error status, without a response, or with half of one. */
function failNowAndThen(_: Received, response: ServerResponse): void {
  if (!dice.chance(0.2)) response.writeHead(200).end('ok')
  else if (dice.chance(0.7)) response.writeHead(dice.pick([500, 429, 302])).end('not now')
  else if (dice.chance(0.9)) response.destroy()
  else setTimeout(() => response.destroy(), 2500)
}

interface Hooked {
  projectId: string
  webhookId: string
  secret: string
  path: string
}

async function hook(at: number): Promise<Hooked> {
  const { id: projectId } = await board.client.projects.create({ name: `Project ${at}`, path: root })
  const { id: webhookId, secret } = await board.client.webhooks.create({
    projectId,
    url: `${receiver.url}/${projectId}`,
    events: ['card.created'],
  })
  return { projectId, webhookId, secret, path: `/${projectId}` }
}

/** Adds cards until there are enough, even if the server ends in between. */
async function write(projects: readonly Hooked[], next: () => number): Promise<void> {
  for (let at = next(); at < deliveries; at = next()) {
    for (let isDone = false; !isDone;) {
      isDone = await board.client.cards
        .create(
          { projectId: projects[at % projectCount]!.projectId, title: `Card ${at}` },
          { idempotencyKey: `card-${at}` },
        )
        .then(
          () => true,
          async error => {
            if (!(error instanceof Unreachable)) throw error
            await new Promise(resolve => setTimeout(resolve, 20))
            return false
          },
        )
    }
  }
}

async function killNowAndThen(): Promise<void> {
  for (let kill = 1; kill <= kills; kill++) {
    await eventually(
      `message ${(kill * deliveries) / (kills + 1)}`,
      () => receiver.received.length >= (kill * deliveries) / (kills + 1),
      120_000,
    )
    await board.end('SIGKILL')
    await board.start()
  }
}

it(
  `${deliveries} messages arrive at a receiver that fails one in five, at any time of a kill (seed ${seed})`,
  async () => {
    const began = performance.now()
    const projects = await Promise.all(Array.from({ length: projectCount }, (_, at) => hook(at)))
    let written = 0
    await Promise.all([killNowAndThen(), ...Array.from({ length: writers }, () => write(projects, () => written++))])
    const pending = async () =>
      (
        await Promise.all(
          projects.map(({ projectId, webhookId }) =>
            board.client.webhooks.deliveries({ projectId, webhookId, status: 'pending', limit: 1 }),
          ),
        )
      ).some(({ items }) => items.length > 0)
    await eventually(
      'every message to be taken',
      async () => receiver.received.length >= deliveries && !(await pending()),
      30_000 + deliveries * 20,
    )
    for (const project of projects) await expectTold(project)
    const cards = new Set(receiver.received.map(({ message }) => message.data.id))
    if (process.env.BOARD_TEST_DELIVERIES)
      console.log(
        `${deliveries} messages in ${receiver.received.length} requests, ${cards.size} of them told, ${kills} kills, ${Math.round((performance.now() - began) / 1000)} s`,
      )
    expect(cards.size).toBe(deliveries)
  },
  300_000 + deliveries * 30,
)

/** Checks the deliveries of a project against its cards: each at least once, with one id, signed, and first attempts in the order of their events. */
async function expectTold({ projectId, webhookId, secret, path }: Hooked): Promise<void> {
  const received = receiver.at(path)
  for (const each of received) expect(verified(secret, each)).toEqual(each.message)
  const ids = new Map<number, Set<string>>()
  for (const { id, message } of received) ids.set(message.seq!, (ids.get(message.seq!) ?? new Set()).add(id))
  expect([...ids.values()].every(each => each.size === 1)).toBe(true)
  expect(new Set([...ids.values()].map(([id]) => id)).size).toBe(ids.size)
  expect([...ids.keys()]).toEqual([...ids.keys()].sort((a, b) => a - b))
  const told = new Set(received.map(({ message }) => message.data.id))
  for (
    let after = 0, cards;
    (cards = await board.client.cards.list({ projectId, cursor: after })).length > 0;
    after = Number(cards.at(-1)!.id)
  ) {
    expect(cards.filter(({ id }) => !told.has(id)).map(({ id }) => id)).toEqual([])
  }
  const failed = await board.client.webhooks.deliveries({ projectId, webhookId, status: 'failed' })
  expect(failed.items).toEqual([])
}
