import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Permission } from '../../src/contract/route.ts'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let projectId: string
/** The columns Build, Review and Done. */
let columns: { build: string; review: string; done: string }

// The worker writes the first word of the card's prompt, and "good" once a review requests changes.
const command = [
  'sh',
  '-c',
  'case "$1" in *"requests changes"*) echo good;; *bad*) echo bad;; *silent*) echo silent;; *slow*) echo slow;; *) echo good;; esac > work',
  'worker',
  '{prompt}',
]

beforeAll(async () => {
  const agents = {
    worker: { command, protocol: 'command' as const },
    reviewer: { fixture: 'gate-reviewer' },
    writer: { fixture: 'gate-reviewer', env: { FIXTURE_WRITES: 'work' } },
    persuaded: { fixture: 'gate-reviewer', env: { FIXTURE_ALWAYS: '1' } },
  }
  board = await startAgentBoard(agents, hasBubblewrap ? { sandbox: 'require' } : {})
})
afterAll(() => board.close())
beforeEach(async () => {
  ;({ id: projectId } = await board.client.projects.create({ name: 'Reviewed', path: board.path }))
  const { id: templateId } = await board.client.templates.create({
    name: `Reviewed ${projectId}`,
    columns: [
      { name: 'Build', columnType: 'active' },
      { name: 'Review', columnType: 'backlog' },
      { name: 'Done', columnType: 'done' },
    ],
  })
  const { id: boardId } = await board.client.boards.create({ projectId, name: 'Reviewed', templateId })
  const [build, review, done] = (await board.client.columns.list({ projectId, boardId })).map(({ id }) => id)
  columns = { build: build!, review: review!, done: done! }
})

type Gate = Partial<Parameters<typeof board.client.gates.create>[0]>
const addGate = (gate: Gate = {}) =>
  board.client.gates.create({
    projectId,
    name: 'review',
    kind: 'review',
    agent: 'reviewer',
    columnId: columns.build,
    ...gate,
  })
const read = (cardId: string) => board.client.cards.get({ projectId, cardId })
const until = (cardId: string, what: string, holds: (card: Card) => boolean) =>
  eventually(`${what} of card ${cardId}`, async () => {
    const card = await read(cardId)
    return holds(card) ? card : undefined
  })
/** A card whose agent has written the file `work` in its worktree. */
async function worked(prompt: string, autoMode = false): Promise<Card> {
  const { id } = await board.client.cards.create({
    projectId,
    title: 'Work',
    prompt,
    columnId: columns.build,
    agent: 'worker',
    useWorktree: true,
    autoMode,
  })
  return until(id, 'the end of the agent', ({ status }) => status === 'completed')
}
const gatesOf = (cardId: string) => board.client.proofs.list({ projectId, cardId })
const ended = (cardId: string) =>
  eventually(`the gates of card ${cardId}`, async () => {
    const gates = await gatesOf(cardId)
    return gates.some(({ proof }) => proof?.status === 'queued' || proof?.status === 'running') ? undefined : gates
  })
async function check(cardId: string) {
  await board.client.proofs.check({ projectId, cardId })
  return ended(cardId)
}
const outputOf = async (cardId: string, proofId: string) =>
  (await board.client.proofs.get({ projectId, cardId, proofId })).output
const move = (cardId: string) => board.client.cards.move({ projectId, cardId, columnId: columns.review })
const workOf = (cardId: string) => join(board.dataDir, 'worktrees', projectId, cardId, 'work')

describe('a review by an agent', () => {
  test('that approves is a proof of exactly the reviewed files', async () => {
    await addGate()
    const { id } = await worked('good')
    await expect(move(id)).rejects.toMatchObject({ code: 'GATE_NOT_PASSED' })
    const [gate] = await check(id)
    expect(gate).toMatchObject({
      passed: true,
      proof: { status: 'passed', summary: 'Approved: It is good.', agent: 'reviewer', exitCode: null },
    })
    writeFileSync(workOf(id), 'other\n')
    await expect(move(id)).rejects.toMatchObject({ code: 'GATE_NOT_PASSED' })
    writeFileSync(workOf(id), 'good\n')
    expect((await move(id)).columnId).toBe(columns.review)
  })

  test('is a review of the card by that agent, and leaves the status and the review state of the card', async () => {
    await addGate()
    const before = await worked('bad')
    const { outbox } = board.server.app
    const seq = await outbox.lastSeq()
    const [gate] = await check(before.id)
    const types = (await outbox.replay(Number(projectId), seq, 100)).map(({ type }) => type)
    expect(types).toContain('proof.updated')
    expect(types.filter(type => type.startsWith('agent.'))).toEqual([])
    expect(gate).toMatchObject({ passed: false, reason: 'It failed: Requests changes: It is bad.' })
    expect(await board.client.reviews.list({ projectId, cardId: before.id })).toMatchObject([
      {
        verdict: 'request_changes',
        body: 'It is bad.',
        author: { userId: null, displayName: 'reviewer' },
        comments: [{ path: 'work', line: 1, text: 'bad', body: 'Write good.' }],
      },
    ])
    const { status, reviewState, sessions } = await read(before.id)
    expect({ status, reviewState, sessions }).toEqual({
      status: 'completed',
      reviewState: before.reviewState,
      sessions: before.sessions,
    })
  })

  test('can only read: it has no tool that changes the board, cannot write a file, and submits once', async () => {
    await addGate({ agent: 'writer' })
    const { id } = await worked('good')
    const [gate] = await check(id)
    const output = await outputOf(id, gate!.proof!.id)
    expect(output).toContain('Card: {')
    expect(output).not.toContain('Card: "created"')
    expect(/^Tools: (.*)$/m.exec(output)![1]!.split(' ')).toEqual(
      expect.arrayContaining(['get_card', 'list_comments', 'submit_review']),
    )
    expect(output).not.toMatch(/Tools: .*(create_card|add_comment|ask_person|add_monitor|attach_file)/)
    expect(output).toContain('You have already submitted your review. End your turn.')
    if (hasBubblewrap) {
      expect(output).toContain('Write: EROFS')
      expect(gate!.passed).toBe(true)
    } else {
      // Without a sandbox, the change is noticed.
      expect(gate).toMatchObject({ passed: false, proof: { status: 'failed' } })
    }
  })

  test('that ends without a review proves nothing, after one more try', async () => {
    await addGate()
    const { id } = await worked('silent')
    const [gate] = await check(id)
    expect(gate!.proof).toMatchObject({ status: 'error', summary: expect.stringContaining('has not submitted') })
    expect(await board.client.reviews.list({ projectId, cardId: id })).toEqual([])
  })

  test('does not count as the approval of a person', async () => {
    await addGate({ agent: 'persuaded' })
    await board.client.gates.create({ projectId, name: 'people', kind: 'approval', columnId: columns.build })
    const { id } = await worked('bad')
    const gates = await check(id)
    expect(gates.map(({ gate, passed }) => [gate.name, passed])).toEqual([
      ['review', true],
      ['people', false],
    ])
    await expect(move(id)).rejects.toMatchObject({ code: 'GATE_NOT_PASSED' })
  })

  test('does not start once a command has failed for the same files', async () => {
    await board.client.gates.create({ projectId, name: 'tests', command: 'grep -q good work', columnId: columns.build })
    await addGate()
    const { id } = await worked('bad')
    expect((await check(id)).map(({ gate, proof }) => [gate.name, proof?.status])).toEqual([
      ['tests', 'failed'],
      ['review', undefined],
    ])
  })

  test('ends when its check is stopped, and when an agent starts on the card', async () => {
    await addGate()
    const { id } = await worked('slow')
    await board.client.proofs.check({ projectId, cardId: id })
    const isRunning = () =>
      eventually(
        'the review',
        async () => typeof (await gatesOf(id))[0]!.proof?.sessionId === 'string' && board.processes().length > 0,
      )
    await isRunning()
    await board.client.proofs.cancel({ projectId, cardId: id })
    expect((await ended(id))[0]!.proof).toMatchObject({ status: 'error', summary: 'Stopped by Local operator.' })
    await board.untilNoneRuns()
    await board.client.proofs.check({ projectId, cardId: id })
    await isRunning()
    await board.client.agents.send({ projectId, cardId: id, content: 'good now' })
    await until(id, 'the second end of the agent', ({ status }) => status === 'completed')
    expect((await ended(id))[0]!.proof).toMatchObject({
      status: 'superseded',
      summary: 'An agent started to work on the card.',
    })
    await board.untilNoneRuns()
  })
})

describe('in auto mode', () => {
  test('the comments of the reviewer go to the agent, and its next work moves the card on', async () => {
    await addGate()
    const { id } = await worked('bad', true)
    await until(id, 'the move', ({ columnId }) => columnId === columns.done)
    const told = (await board.client.agents.messages({ projectId, cardId: id })).map(({ content }) => content)
    const message = told.find(content => content.includes('requests changes'))
    expect(message).toContain('The gate review failed: its reviewer reviewer requests changes.')
    expect(message).toMatch(/Comment \d+ on work, line 1:\n> bad\n\nWrite good\./)
    expect(existsSync(workOf(id))).toBe(true)
  })
})

describe('a gate of kind review', () => {
  test('starts an agent, so an API key needs the permission for that', async () => {
    await addGate()
    const { id } = await worked('good')
    const keyed = async (permissions: Permission[]) =>
      board.as((await board.client.keys.create({ name: 'k', scope: 'server', permissions })).key)
    const ref = { projectId, cardId: id }
    await expect((await keyed(['scripts.run'])).proofs.check(ref)).rejects.toMatchObject({
      code: 'INSUFFICIENT_PERMISSIONS',
    })
    expect((await gatesOf(id))[0]!.proof).toBeNull()
    expect(await (await keyed(['scripts.run', 'agents.run'])).proofs.check(ref)).toHaveLength(1)
    await ended(id)
  })

  test('rejects an unknown agent and fields of other kinds', async () => {
    await expect(addGate({ agent: 'nobody' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: 'agent' }],
    })
    await expect(addGate({ command: 'true' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: 'command' }],
    })
  })

  test('must be passed again after a change of its prompt', async () => {
    const { id: gateId } = await addGate()
    const { id } = await worked('good')
    await check(id)
    await board.client.gates.update({ projectId, gateId, prompt: 'Look for races.' })
    expect((await gatesOf(id))[0]).toMatchObject({ passed: false, reason: 'The gate has changed since it ran.' })
    expect((await check(id))[0]).toMatchObject({ passed: true })
  })
})
