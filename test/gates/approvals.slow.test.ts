import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { eventually } from '../support/waiting/eventually.ts'

type Client = AgentBoard['client']

let board: AgentBoard
/** The owner of the project, and two members. */
let [owner, ada, bob]: Client[] = []
let ids: { ada: number; bob: number }
let projectId: string
let columns: { build: string; review: string; done: string }

beforeAll(async () => {
  const worker = { command: ['sh', '-c', 'test -s work || echo turn > work'], protocol: 'command' as const }
  board = await startAgentBoard({ worker })
  const login = { email: 'owner@example.org', password: 'a long password', displayName: 'Owner' }
  owner = board.as((await board.client.auth.setup(login)).token)
  const admin = { as: board.as, client: owner }
  const people = []
  for (const name of ['ada', 'bob'])
    people.push(await registerConfirmed(admin, { email: `${name}@example.org`, password: 'a long password' }))
  ;[ada, bob] = people.map(({ token }) => board.as(token))
  ids = { ada: Number(people[0]!.user.id), bob: Number(people[1]!.user.id) }
})
afterAll(() => board.close())
beforeEach(async () => {
  ;({ id: projectId } = await owner!.projects.create({ name: 'Approved', path: board.path }))
  for (const name of ['ada', 'bob'])
    await owner!.members.add({ id: projectId, email: `${name}@example.org`, role: 'member' })
  const { id: templateId } = await owner!.templates.create({
    name: `Approved ${projectId}`,
    columns: [
      { name: 'Build', columnType: 'active' },
      { name: 'Review', columnType: 'backlog' },
      { name: 'Done', columnType: 'done' },
    ],
  })
  const { id: boardId } = await owner!.boards.create({ projectId, name: 'Approved', templateId })
  const [build, review, done] = (await owner!.columns.list({ projectId, boardId })).map(({ id }) => id)
  columns = { build: build!, review: review!, done: done! }
})

/** A card whose agent has written the file `work` in its worktree. */
async function worked(autoMode = false): Promise<string> {
  const { id } = await owner!.cards.create({
    projectId,
    title: 'Work',
    prompt: 'Do it.',
    columnId: columns.build,
    agent: 'worker',
    useWorktree: true,
    autoMode,
  })
  await eventually(`the end of the agent of card ${id}`, async () => (await read(id)).status === 'completed')
  return id
}
const read = (cardId: string) => owner!.cards.get({ projectId, cardId })
const addGate = (gate: Partial<Parameters<Client['gates']['create']>[0]> = {}) =>
  owner!.gates.create({ projectId, name: 'people', kind: 'approval', columnId: columns.build, ...gate })
const move = (cardId: string, by = owner!) => by.cards.move({ projectId, cardId, columnId: columns.review })
const review = (by: Client, cardId: string, verdict: 'approve' | 'request_changes' = 'approve') =>
  by.reviews.create({ projectId, cardId, verdict, body: 'Seen.' })
const edit = (cardId: string, text: string) =>
  writeFileSync(join(board.dataDir, 'worktrees', projectId, cardId, 'work'), text)
const refused = (reason: string) => ({ code: 'GATE_NOT_PASSED', message: expect.stringContaining(reason) as string })

describe('an approval', () => {
  test('counts for exactly the files that were approved', async () => {
    await addGate()
    const id = await worked()
    await expect(move(id)).rejects.toMatchObject(refused('An approval of these files is missing.'))
    await review(ada!, id)
    edit(id, 'other\n')
    await expect(move(id)).rejects.toMatchObject(refused('An approval of these files is missing.'))
    edit(id, 'turn\n')
    expect(await owner!.proofs.list({ projectId, cardId: id })).toMatchObject([
      { passed: true, proof: null, approvedBy: ['ada'] },
    ])
    expect((await move(id)).columnId).toBe(columns.review)
  })

  test('of files that have changed since the reviewer read them is rejected', async () => {
    await addGate()
    const id = await worked()
    const ref = { projectId, cardId: id }
    const { snapshot } = await ada!.agents.diff(ref)
    const seen = [{ repository: '', snapshot: snapshot! }]
    edit(id, 'other\n')
    await expect(ada!.reviews.create({ ...ref, verdict: 'approve', seen })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'The files have changed since you opened the changes. Reload them, and review again.',
    })
    edit(id, 'turn\n')
    await ada!.reviews.create({ ...ref, verdict: 'approve', seen })
    expect((await move(id)).columnId).toBe(columns.review)
  })

  test('is that of different people, and their last verdict decides', async () => {
    await addGate({ approvals: 2 })
    const id = await worked()
    await review(ada!, id)
    await review(ada!, id)
    await expect(move(id)).rejects.toMatchObject(refused('1 of 2 people have approved these files.'))
    await review(bob!, id)
    await owner!.reviews.create({ projectId, cardId: id, verdict: 'comment', body: 'Hm.' })
    expect(await owner!.proofs.list({ projectId, cardId: id })).toMatchObject([{ passed: true }])
    await review(bob!, id, 'request_changes').catch(() => undefined)
    await eventually('the end of the agent', async () => (await read(id)).status === 'completed')
    await expect(move(id)).rejects.toMatchObject(refused('bob requests changes.'))
  })

  test('counts for those with the role, or for the named people only', async () => {
    const { id: gateId } = await addGate({ approverRole: 'admin' })
    const id = await worked()
    await review(ada!, id)
    await expect(move(id)).rejects.toMatchObject(refused('An approval of these files is missing.'))
    await owner!.gates.update({ projectId, gateId, approverRole: 'member', approverIds: [ids.bob] })
    await expect(move(id)).rejects.toMatchObject(refused('An approval of these files is missing.'))
    await review(bob!, id)
    expect((await move(id)).columnId).toBe(columns.review)
  })

  test('of a program with a key, or of an agent, does not count', async () => {
    await addGate()
    const id = await worked()
    const { key } = await ada!.keys.create({
      name: 'robot',
      scope: 'project',
      projectId,
      permissions: ['cards.read', 'cards.update', 'agents.run', 'agents.read'],
    })
    await review(board.as(key), id)
    await expect(move(id)).rejects.toMatchObject(refused('An approval of these files is missing.'))
  })

  test('before the merge is required for the files that are merged', async () => {
    await addGate({ columnId: null })
    const id = await worked()
    const merge = () => owner!.agents.merge({ projectId, cardId: id })
    await expect(merge()).rejects.toMatchObject(refused('An approval of these files is missing.'))
    await review(ada!, id)
    edit(id, 'late\n')
    await expect(merge()).rejects.toMatchObject(refused('An approval of these files is missing.'))
    edit(id, 'turn\n')
    expect(await merge()).toMatchObject({ merged: true })
  })

  test('moves a card on that waits for it in auto mode, after the commands have passed', async () => {
    await addGate()
    await addGate({ name: 'tests', kind: 'command', command: 'grep -q turn work' })
    const id = await worked(true)
    const waiting = await eventually('the wait', async () => {
      const card = await read(id)
      return card.statusReason === 'gate' ? card : undefined
    })
    expect(waiting).toMatchObject({ columnId: columns.build, missingGate: 'people' })
    expect(waiting.lastAgentAction?.detail).toBe(
      'The gate people has not passed. An approval of these files is missing.',
    )
    await review(ada!, id)
    await eventually('the move', async () => (await read(id)).columnId === columns.done)
    expect(await read(id)).toMatchObject({ statusReason: null, missingGate: null })
  })

  test('that a card has already is found when its agent ends again without a change', async () => {
    const { id: gateId } = await addGate({ approvals: 2 })
    const id = await worked(true)
    await eventually('the wait', async () => (await read(id)).statusReason === 'gate')
    await review(ada!, id)
    await owner!.gates.update({ projectId, gateId, approvals: 1 })
    expect((await read(id)).columnId).toBe(columns.build)
    await owner!.agents.send({ projectId, cardId: id, content: 'Only look.' })
    await eventually('the move', async () => (await read(id)).columnId === columns.done)
  })
})

describe('a gate', () => {
  test.each([
    [{ command: 'true' }, 'command must be omitted for a gate of kind approval'],
    [{ kind: 'command' as const }, 'command is required'],
    [
      { kind: 'command' as const, command: 'true', approvals: 2 },
      'approvals must be omitted for a gate of kind command',
    ],
    [{ approverIds: [987_654] }, 'approverIds.0 must be a member of the project, which 987654 is not'],
  ])('is rejected with %o', async (gate, message) => {
    await expect(addGate(gate)).rejects.toMatchObject({ code: 'VALIDATION_FAILED', message })
  })

  test('cannot require more approvals than it has approvers', async () => {
    await expect(addGate({ approvals: 3, approverIds: [ids.ada, ids.bob] })).rejects.toMatchObject({
      message: 'approvals must be at most 2, the number of approvers',
    })
  })

  test('of a column cannot be avoided by a member: by another order of the columns, or by deleting the column', async () => {
    const { id: columnId } = await owner!.columns.create({
      projectId,
      boardId: (await owner!.boards.list({ projectId })).at(-1)!.id,
      name: 'Check',
      columnType: 'backlog',
    })
    await addGate({ columnId })
    const order = { projectId, ids: [columnId, columns.build, columns.review, columns.done] }
    const forbidden = { code: 'FORBIDDEN', message: expect.stringContaining('Only a project admin') as string }
    await expect(ada!.columns.reorder(order)).rejects.toMatchObject(forbidden)
    await expect(ada!.columns.delete({ projectId, columnId })).rejects.toMatchObject(forbidden)
    await owner!.columns.reorder(order)
    await owner!.columns.delete({ projectId, columnId })
  })
})
