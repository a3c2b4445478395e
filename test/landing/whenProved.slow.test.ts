import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeRepository, startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { gitIn } from '../support/git/gitIn.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let projectId: string
let path: string
let columns: { active: string; done: string }
let count = 0

beforeAll(async () => {
  // The agent writes a file with the name of its card. A prompt with "bad" adds the file bad, which its second turn removes.
  const turn =
    'echo turn >> log-$BOARD_CARD_ID; case "$1" in *"could not be merged"*) rm -f bad;; *bad*) touch bad;; esac'
  const worker = { command: ['sh', '-c', turn, 'worker', '{prompt}'], protocol: 'command' as const }
  board = await startAgentBoard({ worker }, hasBubblewrap ? { sandbox: 'require' } : {})
})
afterAll(() => board.close())
beforeEach(async () => {
  path = makeRepository(join(dirname(board.path), `proved-${++count}`))
  ;({ id: projectId } = await board.client.projects.create({ name: 'Proved', path }))
  await board.client.projects.update({ id: projectId, land: 'when_proved' })
  const all = await board.client.columns.list({ projectId })
  const idOf = (type: string) => all.find(({ columnType }) => columnType === type)!.id
  columns = { active: idOf('active'), done: idOf('done') }
})

/** Starts a card in auto mode. */
const start = async (prompt: string): Promise<string> =>
  (
    await board.client.cards.create({
      projectId,
      title: 'Work',
      prompt,
      columnId: columns.active,
      agent: 'worker',
      useWorktree: true,
      autoMode: true,
    })
  ).id
const until = (cardId: string, what: string, holds: (card: Card) => boolean) =>
  eventually(
    `${what} of card ${cardId}`,
    async () => {
      const card = await board.client.cards.get({ projectId, cardId })
      return holds(card) ? card : undefined
    },
    60_000,
  )
const isDone = ({ columnId }: Card) => columnId === columns.done
const entries = async () => (await board.client.landings.list({ projectId })).entries
const hasFile = (name: string) => existsSync(join(path, name))

describe('with land: when_proved, a card in auto mode', () => {
  test('is merged after its agent has ended, and only then moves to the done column', async () => {
    await board.client.gates.create({ projectId, name: 'tests', command: 'test -f "log-$BOARD_CARD_ID"' })
    const [one, two] = [await start('good'), await start('good')]
    for (const id of [one, two]) {
      const card = await until(id, 'the move', isDone)
      expect(card).toMatchObject({ mergedInto: 'main', statusReason: null })
      expect(gitIn(path, 'merge-base', '--is-ancestor', card.mergedCommit!, 'main')).toBe('')
      expect(hasFile(`log-${id}`)).toBe(true)
    }
    expect((await entries()).map(({ status, requestedBy }) => [status, requestedBy])).toEqual([
      ['landed', 'the board'],
      ['landed', 'the board'],
    ])
  })

  test('goes back to its agent when a gate fails on the merge, and lands when it has fixed the cause', async () => {
    await board.client.gates.create({ projectId, name: 'tests', command: 'test ! -e bad' })
    const id = await start('bad')
    await until(id, 'the move', isDone)
    expect(hasFile('bad')).toBe(false)
    const told = (await board.client.agents.messages({ projectId, cardId: id })).map(({ content }) => content)
    expect(told.filter(content => content.startsWith('Your work could not be merged into main'))).toHaveLength(1)
    expect(await entries()).toMatchObject([{ status: 'landed' }])
  })

  test('waits for people when its agent has no round left, and is not added again', async () => {
    await board.client.projects.update({ id: projectId, gateRounds: 0 })
    await board.client.gates.create({ projectId, name: 'tests', command: 'test ! -e bad' })
    const id = await start('bad')
    const card = await until(id, 'the wait', ({ statusReason }) => statusReason === 'gate')
    expect(card).toMatchObject({ columnId: columns.active, missingGate: 'tests', mergedAt: null })
    expect(card.lastAgentAction!.detail).toContain('The work could not be merged. The gate tests failed')
    expect(await entries()).toMatchObject([{ status: 'rejected', withAgent: false }])
    expect(hasFile('bad')).toBe(false)
  })

  test('lands only after the approval that the merge needs', async () => {
    await board.client.gates.create({ projectId, name: 'people', kind: 'approval' })
    const id = await start('good')
    const card = await until(id, 'the wait', ({ statusReason }) => statusReason === 'gate')
    expect(card.missingGate).toBe('people')
    expect(await entries()).toEqual([])
    await board.client.reviews.create({ projectId, cardId: id, verdict: 'approve' })
    expect((await until(id, 'the move', isDone)).mergedInto).toBe('main')
  })

  test('that a person removes from the queue stays in its column', async () => {
    await board.client.landings.pause({ projectId })
    const id = await start('good')
    const [entry] = await eventually('the entry', async () => {
      const all = await entries()
      return all.length > 0 ? all : undefined
    })
    expect((await board.client.cards.get({ projectId, cardId: id })).statusReason).toBe('landing')
    await board.client.landings.cancel({ projectId, landingId: entry!.id })
    await board.client.landings.resume({ projectId })
    const card = await until(id, 'the end of the wait', ({ statusReason }) => statusReason === null)
    expect(card).toMatchObject({ columnId: columns.active, mergedAt: null })
    expect(await entries()).toMatchObject([{ status: 'cancelled' }])
  })
})
