import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mintAgentToken } from '../../src/identity/agentTokens.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

const agents = { endless: { fixture: 'forever' } }
let root: string
let board: AgentBoard
let runs = 0
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'board-permission-'))
  if (hasBubblewrap) board = await startAgentBoard(agents, { sandbox: 'require', dataDir: join(root, 'data') })
})
afterAll(async () => {
  await board?.close()
  rmSync(root, { recursive: true, force: true })
})

interface Asking {
  ref: { projectId: string; cardId: string }
  /** The token of the session. */
  token: string
}
const cardWith = async (of: AgentBoard): Promise<Asking> => {
  const { id: cardId } = await of.start('endless')
  const ref = { projectId: of.projectId, cardId }
  await of.untilStatus(cardId, 'running')
  const session = await eventually('its sandbox', async () => {
    const found = await of.client.agents.get(ref)
    return found.sandbox ? found : undefined
  })
  return { ref, token: await tokenOf(of, cardId, Number(session.sessionId)) }
}
const tokenOf = (of: AgentBoard, cardId: string, sessionId?: number) =>
  of.server.app.db.transaction(
    async tx => (await mintAgentToken(tx, { cardId: Number(cardId), sessionId, ttlSecs: 600 })).token,
  )
/** Creates a monitor that leaves a file. */
const add = async ({ ref, token }: Asking, fields: object = {}) => {
  const proof = join(root, `ran-${++runs}`)
  const monitor = { ...ref, command: `touch ${proof}`, intervalSecs: 3600, allowUnsandboxed: true as const, ...fields }
  return { ...(await board.as(token).monitors.create(monitor)), proof }
}
const monitorOf = async ({ ref: { projectId } }: Asking, id: string) =>
  (await board.client.monitors.listProject({ projectId })).find(each => each.id === id)!
const reaches = (card: Asking, id: string, status: string) =>
  eventually(`the status ${status} of monitor ${id}`, async () => {
    const found = await monitorOf(card, id)
    return found.status === status ? found : undefined
  })
const answer = ({ ref }: Asking, requestId: string | null, approved: boolean, feedback?: string) =>
  board.client.agents.approvePlan({ ...ref, approved, requestId: requestId!, feedback })
const questionsOf = async ({ ref }: Asking) => (await board.client.agents.get(ref)).questions
/** A user's monitor runs after those that were due before. */
async function requireNotRun(card: Asking, proof: string): Promise<void> {
  const { token } = await board.client.agents.token(card.ref)
  const own = await add({ ...card, token })
  await reaches(card, own.id, 'ok')
  expect([existsSync(own.proof), existsSync(proof)]).toEqual([true, false])
}
const counts = async ({ ref }: Asking) => [
  (await board.client.cards.get(ref)).monitorQuestions,
  (await board.client.projects.stats({ id: ref.projectId })).monitorQuestions,
]

describe.skipIf(!hasBubblewrap)('a monitor of a session in the sandbox', () => {
  test('runs after a user allows it, and the question shows its complete command', async () => {
    const card = await cardWith(board)
    const { id, status, requestId, nextRunAt, proof } = await add(card, { description: 'Watch\nit \u202e' })
    expect({ status, requestId, nextRunAt }).toEqual({ status: 'pending', requestId: `monitor-${id}`, nextRunAt: null })
    const question = {
      requestId,
      title: 'Run a command outside the sandbox every 3600 s: Watch it \\u202e',
      kind: 'execute',
      command: `touch ${proof}`,
      paths: [expect.any(String)],
      plan: null,
      options: [
        { id: 'allow', name: 'Allow', kind: 'allow_once' },
        { id: 'reject', name: 'Reject', kind: 'reject_once' },
      ],
    }
    expect(await board.client.agents.get(card.ref)).toMatchObject({ waitingFor: question.title, questions: [question] })
    const told = () => board.socket.messages.filter(({ data }) => data?.cardId === card.ref.cardId)
    await eventually('the event', () => told().some(({ type }) => type === 'agent.permission'))
    expect(told().find(({ type }) => type === 'agent.permission')!.data).toMatchObject({
      ...question,
      cardId: card.ref.cardId,
    })
    expect(await counts(card)).toEqual([1, 1])
    await requireNotRun(card, proof)
    expect((await monitorOf(card, id)).status).toBe('pending')

    await answer(card, requestId, true)
    expect(await reaches(card, id, 'ok')).toMatchObject({ requestId: null })
    expect(existsSync(proof)).toBe(true)
    expect([await questionsOf(card), await counts(card)]).toEqual([[], [0, 0]])
    await expect(answer(card, requestId, false)).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
    await board.client.agents.cancel(card.ref)
  })

  test('ends as rejected when a user rejects it, and the agent gets the reason', async () => {
    const card = await cardWith(board)
    const { id, requestId, proof } = await add(card)
    await answer(card, requestId, false, 'Use the script.')
    expect(await monitorOf(card, id)).toMatchObject({
      status: 'rejected',
      requestId: null,
      error: expect.stringMatching(/ rejected it: Use the script\.$/),
    })
    const messages = (await board.messages(card.ref.cardId)).filter(({ role }) => role === 'user')
    expect(messages.at(-1)!.content).toMatch(new RegExp(`Monitor ${id} does not run: touch .*Use the script`, 's'))
    await requireNotRun(card, proof)
    await expect(answer(card, requestId, true)).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
    await board.client.agents.cancel(card.ref)
  })

  test('is one of several questions, so an answer must name it', async () => {
    const card = await cardWith(board)
    const [first, second] = [await add(card), await add(card)]
    await expect(board.client.agents.approvePlan({ ...card.ref, approved: true })).rejects.toMatchObject({
      code: 'CONFLICT',
      details: [{ message: expect.stringContaining(first.requestId!) }, { message: expect.any(String) }],
    })
    await answer(card, second.requestId, true)
    await reaches(card, second.id, 'ok')
    expect(existsSync(first.proof)).toBe(false)
    await board.client.agents.approvePlan({ ...card.ref, approved: false })
    expect((await monitorOf(card, first.id)).status).toBe('rejected')
    await board.client.agents.cancel(card.ref)
  })

  test('can be answered after the end of its session, and its question is removed with it', async () => {
    const card = await cardWith(board)
    const [kept, removed] = [await add(card), await add(card)]
    await board.client.agents.cancel(card.ref)
    await board.untilStatus(card.ref.cardId, 'cancelled')
    expect((await questionsOf(card)).map(({ requestId }) => requestId)).toEqual([kept.requestId, removed.requestId])
    await board.client.monitors.deleteProject({ projectId: board.projectId, monitorId: removed.id })
    await expect(answer(card, removed.requestId, true)).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
    expect(await counts(card)).toEqual([1, 1])
    await answer(card, kept.requestId, true)
    // The agent that requested it was cancelled, so the monitor pauses with it.
    await reaches(card, kept.id, 'paused')
    await board.client.agents.relaunch(card.ref)
    await reaches(card, kept.id, 'ok')
    await board.client.agents.cancel(card.ref)
  })

  test('is hidden with its deleted card, and asks again with the restored card', async () => {
    const card = await cardWith(board)
    const { requestId, proof } = await add(card)
    await board.client.agents.cancel(card.ref)
    await board.client.cards.delete({ ...card.ref, force: true })
    await expect(answer(card, requestId, true)).rejects.toMatchObject({ code: 'CARD_NOT_FOUND' })
    expect((await board.client.projects.stats({ id: board.projectId })).monitorQuestions).toBe(0)
    await board.client.cards.restore(card.ref)
    expect(await counts(card)).toEqual([1, 1])
    await answer(card, requestId, false)
    expect(existsSync(proof)).toBe(false)
  })

  test('is allowed only with the permission to run scripts, and rejected without it', async () => {
    const card = await cardWith(board)
    const [first, second] = [await add(card), await add(card)]
    const keyWith = async (...permissions: Array<'agents.run' | 'scripts.run'>) =>
      board.as((await board.client.keys.create({ name: permissions.join(), scope: 'server', permissions })).key)
    const [weak, strong] = [await keyWith('agents.run'), await keyWith('agents.run', 'scripts.run')]
    const place = { ...card.ref, requestId: first.requestId! }
    await expect(weak.agents.approvePlan({ ...place, approved: true })).rejects.toMatchObject({
      status: 403,
      code: 'INSUFFICIENT_PERMISSIONS',
    })
    expect((await monitorOf(card, first.id)).requestId).toBe(first.requestId)
    await expect(board.as(card.token).agents.approvePlan({ ...place, approved: true })).rejects.toMatchObject({
      status: 403,
    })
    await strong.agents.approvePlan({ ...place, approved: true })
    await reaches(card, first.id, 'ok')
    await weak.agents.approvePlan({ ...card.ref, requestId: second.requestId!, approved: false })
    expect((await monitorOf(card, second.id)).status).toBe('rejected')
    await board.client.agents.cancel(card.ref)
  })

  test('runs immediately if the project allows monitors, which only its admins can set', async () => {
    const card = await cardWith(board)
    const { key } = await board.client.keys.create({
      name: 'all',
      scope: 'server',
      permissions: ['projects.read', 'agents.run', 'scripts.run'],
    })
    const change = { id: board.projectId, sandbox: { monitors: 'allow' as const } }
    for (const token of [key, card.token])
      await expect(board.as(token).projects.update(change)).rejects.toMatchObject({ status: 403 })
    await board.client.projects.update(change)
    const { id, requestId } = await add(card)
    expect(requestId).toBeNull()
    await reaches(card, id, 'ok')
    await board.client.projects.update({ id: board.projectId, sandbox: { monitors: 'ask' } })
    expect((await add(card)).requestId).not.toBeNull()
    await board.client.agents.cancel(card.ref)
  })

  test('runs immediately with a token that a user created, and gets 403 with a token of no user and no session', async () => {
    const card = await cardWith(board)
    const { token } = await board.client.agents.token(card.ref)
    const own = await add({ ...card, token })
    expect(own.requestId).toBeNull()
    await reaches(card, own.id, 'ok')
    const nobody = { ...card, token: await tokenOf(board, card.ref.cardId) }
    await expect(add(nobody)).rejects.toMatchObject({ status: 403, code: 'FORBIDDEN' })
    await board.client.agents.cancel(card.ref)
  })

  test('keeps its question when the server restarts', async () => {
    const card = await cardWith(board)
    const { id, requestId, proof } = await add(card)
    await board.server.stop()
    board = await startAgentBoard(agents, { sandbox: 'require', dataDir: join(root, 'data') })
    expect((await questionsOf(card)).map(each => each.requestId)).toEqual([requestId])
    expect(await counts(card)).toEqual([1, expect.any(Number)])
    await requireNotRun(card, proof)
    await answer(card, requestId, true)
    await reaches(card, id, 'ok')
    expect(existsSync(proof)).toBe(true)
  })

  test('notifies users once', async () => {
    const { token } = await board.client.auth.setup({ email: 'ada@example.org', password: 'a long password' })
    const socket = await openSocket(board.url, token)
    const card = await cardWith(board)
    const { proof } = await add(card)
    const told = () =>
      socket.messages.filter(({ type, data }) => type === 'notification' && data.cardId === card.ref.cardId)
    await eventually('the notification', () => told().length > 0)
    await board.client.cards.move({ ...card.ref, columnId: board.columns.backlog })
    await board.untilStatus(card.ref.cardId, 'cancelled')
    expect(told().map(({ data }) => [data.kind, data.message])).toEqual([
      ['agentWaiting', `The agent requests permission to run a monitor: $ touch ${proof}`],
    ])
    socket.close()
  })
})

test('a monitor of a session without a sandbox runs immediately', async () => {
  const open = await startAgentBoard(agents, { sandbox: 'off' })
  try {
    const card = await cardWith(open)
    const monitor = { ...card.ref, command: 'true', intervalSecs: 3600, allowUnsandboxed: true as const }
    const { id, requestId } = await open.as(card.token).monitors.create(monitor)
    expect(requestId).toBeNull()
    await eventually('its run', async () =>
      (await open.client.monitors.listProject({ projectId: open.projectId })).some(
        each => each.id === id && each.status === 'ok',
      ),
    )
  } finally {
    await open.close()
  }
})
