import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeRepository, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { gitIn } from '../support/git/gitIn.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let projectId: string
let path: string
let active: string
let count = 0

beforeAll(async () => {
  // In its second turn, the agent removes what made a gate fail.
  const turn = 'echo turn >> log-$BOARD_CARD_ID; if [ "$(wc -l < log-$BOARD_CARD_ID)" -gt 1 ]; then rm -rf names; fi'
  const worker = { command: ['sh', '-c', turn], protocol: 'command' as const }
  board = await startAgentBoard({ worker }, hasBubblewrap ? { sandbox: 'require' } : {})
})
afterAll(() => board.close())
beforeEach(async () => {
  path = makeRepository(join(dirname(board.path), `landing-${++count}`))
  ;({ id: projectId } = await board.client.projects.create({ name: 'Landing', path }))
  active = (await board.client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!.id
})

/** A card whose agent has ended, with files in its worktree. */
async function worked(files: Record<string, string> = {}): Promise<string> {
  const { id } = await board.client.cards.create({
    projectId,
    title: 'Work',
    columnId: active,
    agent: 'worker',
    useWorktree: true,
  })
  await eventually(`the end of the agent of card ${id}`, async () => (await read(id)).status === 'completed')
  for (const [name, text] of Object.entries(files)) {
    const file = join(board.dataDir, 'worktrees', projectId, id, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return id
}
const read = (cardId: string) => board.client.cards.get({ projectId, cardId })
const addGate = (command: string) => board.client.gates.create({ projectId, name: 'tests', command })
const land = (cardId: string, squash = false) => board.client.landings.add({ projectId, cardId, squash })
const queue = () => board.client.landings.list({ projectId })
const entryOf = async (cardId: string) => (await queue()).entries.find(entry => entry.cardId === cardId)!
const until = (cardId: string, ...statuses: string[]) =>
  eventually(
    `the landing of card ${cardId} to be ${statuses.join(' or ')}`,
    async () => {
      const entry = await entryOf(cardId)
      return statuses.includes(entry.status) ? entry : undefined
    },
    30_000,
  )
const git = (...args: string[]) => gitIn(path, ...args)
const leftovers = () => [
  ...git('for-each-ref', '--format=%(refname:short)', 'refs/heads')
    .split('\n')
    .filter(name => name.includes('landing')),
  ...readdirSync(join(board.dataDir, 'worktrees', projectId)).filter(name => name.includes('landing')),
]

describe('the landing queue', () => {
  test('merges a card after the gates have passed on the merge, and leaves nothing behind', async () => {
    await addGate('test -f a.txt && test -f b.txt || test -f a.txt')
    const [one, two] = [await worked({ 'a.txt': 'a' }), await worked({ 'b.txt': 'b' })]
    await land(one)
    await land(two, true)
    const landed = await until(one, 'landed')
    await until(two, 'landed')
    expect((await read(one)).mergedCommit).toBe(landed.mergeCommit)
    expect(git('log', '--format=%s', '--first-parent', '-2')).toBe('Work\nMerge: Work')
    expect(existsSync(join(path, 'b.txt'))).toBe(true)
    const { proofs } = await board.client.landings.get({ projectId, landingId: landed.id })
    expect(proofs).toMatchObject([{ status: 'passed', cardId: one }])
    expect(leftovers()).toEqual([])
  })

  test('does not run a gate again that passed for the merged files', async () => {
    await addGate('test -f a.txt')
    const id = await worked({ 'a.txt': 'a' })
    await board.client.proofs.check({ projectId, cardId: id })
    await eventually('the gate', async () => (await board.client.proofs.list({ projectId, cardId: id }))[0]!.passed)
    await land(id)
    const { id: landingId } = await until(id, 'landed')
    expect((await board.client.landings.get({ projectId, landingId })).proofs).toEqual([])
  })

  test('sends a card back to its agent that passes alone and fails with another, and lands it when it is fixed', async () => {
    await addGate('test "$(ls names 2>/dev/null | wc -l)" -le 1 || { echo two names >&2; exit 3; }')
    const [one, two] = [await worked({ 'names/one': '1' }), await worked({ 'names/two': '2' })]
    await land(one)
    await land(two)
    await until(one, 'landed')
    const rejected = await until(two, 'rejected')
    expect(rejected).toMatchObject({ reason: 'The gate tests failed: two names', withAgent: true })
    await until(two, 'landed')
    const messages = await board.client.agents.messages({ projectId, cardId: two })
    const message = messages.map(({ content }) => content).find(content => content.includes('could not be merged'))!
    expect(message).toContain('(round 1 of 3)')
    expect(message).toContain('The command ended with exit code 3.\nThe end of its output:\n> two names')
    expect(readdirSync(join(path, 'names'))).toEqual(['one'])
    expect(leftovers()).toEqual([])
  })

  test('rejects a card with conflicts, and continues with the others', async () => {
    await board.client.projects.update({ id: projectId, gateRounds: 0 })
    const [one, two, three] = [await worked({ same: '1' }), await worked({ same: '2' }), await worked({ other: '3' })]
    for (const id of [one, two, three]) await land(id)
    await until(three, 'landed')
    expect(await entryOf(one)).toMatchObject({ status: 'landed' })
    expect(await entryOf(two)).toMatchObject({
      status: 'rejected',
      withAgent: false,
      reason: expect.stringContaining('conflicts in same') as string,
    })
  })

  test('waits while it is paused, and while the files of the branch have changes', async () => {
    const id = await worked({ README: 'new\n' })
    await board.client.landings.pause({ projectId })
    await land(id)
    expect(await queue()).toMatchObject({ isPaused: true, entries: [{ status: 'waiting', reason: null }] })
    writeFileSync(join(path, 'README'), 'mine\n')
    await board.client.landings.resume({ projectId })
    const waiting = await eventually('the reason', async () => {
      const entry = await entryOf(id)
      return entry.reason === null ? undefined : entry
    })
    expect(waiting).toMatchObject({ status: 'waiting', reason: expect.stringContaining('README') as string })
    git('checkout', '--', 'README')
    await until(id, 'landed')
  })

  test('stops the test of a card that is removed, or whose agent starts', async () => {
    await addGate('sleep 60')
    const [one, two] = [await worked({ one: '1' }), await worked({ two: '2' })]
    const { id: landingId } = await land(one)
    await land(two)
    await until(one, 'testing')
    await board.client.landings.cancel({ projectId, landingId })
    await until(one, 'cancelled')
    await until(two, 'testing')
    await board.client.agents.send({ projectId, cardId: two, content: 'Again.' })
    expect(await until(two, 'rejected')).toMatchObject({ reason: 'An agent started to work on the card.' })
    await eventually('the end of the folders', async () => leftovers().length === 0)
    expect((await read(one)).mergedAt).toBeNull()
  })

  test('tests the merge, not a branch that has the name of its folder', async () => {
    await addGate('test -f a')
    await board.client.projects.update({ id: projectId, gateRounds: 0 })
    const id = await worked({ a: 'a' })
    await board.client.landings.pause({ projectId })
    const { id: landingId } = await land(id)
    git('branch', `board-landing-${landingId}`)
    await board.client.landings.resume({ projectId })
    await until(id, 'landed')
    expect(leftovers()).toEqual([])
  })

  test('does not merge a card whose approval is withdrawn during the test', async () => {
    await board.client.gates.create({ projectId, name: 'people', kind: 'approval' })
    await addGate('sleep 2')
    await board.client.projects.update({ id: projectId, gateRounds: 0 })
    const id = await worked({ a: 'a' })
    await board.client.reviews.create({ projectId, cardId: id, verdict: 'approve' })
    await land(id)
    await until(id, 'testing')
    await board.client.gates.create({ projectId, name: 'more', kind: 'approval', approvals: 2 })
    expect(await until(id, 'rejected')).toMatchObject({ reason: expect.stringContaining('the gate more') as string })
    expect((await read(id)).mergedAt).toBeNull()
  })

  test('takes no card twice, without work, or that is merged', async () => {
    const id = await worked({ a: 'a' })
    await board.client.landings.pause({ projectId })
    await land(id)
    await expect(land(id)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'The card is already in the landing queue.',
    })
    await board.client.landings.resume({ projectId })
    await until(id, 'landed')
    await expect(land(id)).rejects.toMatchObject({ code: 'CONFLICT' })
    const idle = await board.client.cards.create({ projectId, title: 'Idle' })
    await expect(land(idle.id)).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(board.client.landings.add({ projectId, cardId: idle.id, into: 'nowhere' })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('requires the approvals of the merge before', async () => {
    await board.client.gates.create({ projectId, name: 'people', kind: 'approval' })
    const id = await worked({ a: 'a' })
    await expect(land(id)).rejects.toMatchObject({ code: 'GATE_NOT_PASSED' })
    await board.client.reviews.create({ projectId, cardId: id, verdict: 'approve' })
    await land(id)
    await until(id, 'landed')
    rmSync(path, { recursive: true })
  })
})
