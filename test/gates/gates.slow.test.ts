import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let projectId: string
/** The columns Backlog, Build, Review and Done. */
let columns: { backlog: string; build: string; review: string; done: string }

beforeAll(async () => {
  const worker = {
    command: ['sh', '-c', 'echo "card $BOARD_CARD_ID" > work; echo turn >> log; echo done'],
    protocol: 'command' as const,
  }
  board = await startAgentBoard({ worker }, hasBubblewrap ? { sandbox: 'require' } : {})
})
afterAll(() => board.close())
beforeEach(async () => {
  const { path } = board
  ;({ id: projectId } = await board.client.projects.create({ name: 'Gated', path }))
  const { id: templateId } = await board.client.templates.create({
    name: `Gated ${projectId}`,
    columns: [
      { name: 'Backlog', columnType: 'backlog' },
      { name: 'Build', columnType: 'active' },
      { name: 'Review', columnType: 'backlog' },
      { name: 'Done', columnType: 'done' },
    ],
  })
  const { id: boardId } = await board.client.boards.create({ projectId, name: 'Gated', templateId })
  const [backlog, build, review, done] = (await board.client.columns.list({ projectId, boardId })).map(({ id }) => id)
  columns = { backlog: backlog!, build: build!, review: review!, done: done! }
})

/** A card whose agent has written the file `work` in its worktree. */
async function worked(input: Partial<Parameters<typeof board.client.cards.create>[0]> = {}): Promise<Card> {
  const card = await board.client.cards.create({
    projectId,
    title: 'Work',
    prompt: 'Do it.',
    columnId: columns.build,
    agent: 'worker',
    useWorktree: true,
    ...input,
  })
  return ended(card.id)
}
const read = (cardId: string) => board.client.cards.get({ projectId, cardId })
const ended = (cardId: string) =>
  eventually(`the end of the agent of card ${cardId}`, async () => {
    const card = await read(cardId)
    return card.status === 'completed' ? card : undefined
  })
const worktreeOf = (cardId: string) => join(board.dataDir, 'worktrees', projectId, cardId)
const addGate = (command: string, columnId: string | null = columns.build, name = 'tests') =>
  board.client.gates.create({ projectId, name, command, columnId })
const move = (cardId: string, columnId: string, force = false) =>
  board.client.cards.move({ projectId, cardId, columnId, force })
const gatesOf = (cardId: string) => board.client.proofs.list({ projectId, cardId })
/** Runs the gates of a card, and returns their results. */
async function check(cardId: string) {
  await board.client.proofs.check({ projectId, cardId })
  return eventually(`the gates of card ${cardId}`, async () => {
    const gates = await gatesOf(cardId)
    const isOpen = gates.some(({ proof }) => proof?.status === 'queued' || proof?.status === 'running')
    return isOpen ? undefined : gates
  })
}
const refused = (reason: string) => ({ code: 'GATE_NOT_PASSED', message: expect.stringContaining(reason) as string })

describe('a move forward', () => {
  test('requires that the gate passed for exactly the current files', async () => {
    await addGate('test -f ok && echo all good')
    const { id } = await worked()
    await expect(move(id, columns.review)).rejects.toMatchObject(refused('It has not run.'))
    expect(await check(id)).toMatchObject([{ passed: false, proof: { status: 'failed', exitCode: 1 } }])
    await expect(move(id, columns.review)).rejects.toMatchObject(refused('It failed: Exit code 1.'))
    writeFileSync(join(worktreeOf(id), 'ok'), '')
    await expect(move(id, columns.review)).rejects.toMatchObject(refused('The files have changed since it ran.'))
    expect(await check(id)).toMatchObject([
      { passed: true, reason: null, proof: { status: 'passed', exitCode: 0, summary: 'all good' } },
    ])
    writeFileSync(join(worktreeOf(id), 'work'), 'other\n')
    await expect(move(id, columns.review)).rejects.toMatchObject(refused('The files have changed since it ran.'))
    writeFileSync(join(worktreeOf(id), 'work'), `card ${id}\n`)
    expect((await move(id, columns.review)).columnId).toBe(columns.review)
  })

  test('passes the gates of every column on the way, and a move backward or to the archive passes none', async () => {
    await addGate('false')
    const { id } = await board.client.cards.create({ projectId, title: 'Idle', columnId: columns.backlog })
    for (const to of [columns.review, columns.done])
      await expect(move(id, to)).rejects.toMatchObject(refused('The card has no files to check.'))
    await expect(board.client.cards.complete({ projectId, cardId: id })).rejects.toMatchObject(refused('tests'))
    const late = await board.client.cards.create({ projectId, title: 'Late', columnId: columns.review })
    await move(late.id, columns.backlog)
    await board.client.cards.archive({ projectId, cardId: late.id })
    await board.client.cards.unarchive({ projectId, cardId: late.id })
    const [other] = await board.client.columns.list({ projectId })
    await expect(move(id, other!.id)).rejects.toMatchObject(refused('tests'))
  })

  test('runs the gate again after a change of its command, and not after another name', async () => {
    const { id: gateId } = await addGate('true')
    const { id } = await worked()
    await check(id)
    await board.client.gates.update({ projectId, gateId, name: 'unit tests', minutes: 5 })
    expect(await gatesOf(id)).toMatchObject([{ passed: true }])
    await board.client.gates.update({ projectId, gateId, command: 'exit 0' })
    await expect(move(id, columns.review)).rejects.toMatchObject(refused('The gate has changed since it ran.'))
    await board.client.gates.delete({ projectId, gateId })
    await move(id, columns.review)
  })

  test('needs no proof with the force of an admin, which the audit log records', async () => {
    await addGate('false', columns.build, 'lint')
    const { id } = await worked()
    await move(id, columns.review, true)
    expect((await read(id)).columnId).toBe(columns.review)
    const { items } = await board.client.audit.list({ action: 'gates.force' })
    expect(items[0]).toMatchObject({ target: { kind: 'card', id }, detail: { gates: 'lint' } })
  })
})

describe('a command', () => {
  test('that changes files proves nothing, and the result names them', async () => {
    await addGate('echo new > added; echo x >> work')
    const { id } = await worked()
    const [gate] = await check(id)
    expect(gate).toMatchObject({ passed: false, proof: { status: 'error', exitCode: 0 } })
    expect(gate!.proof!.summary).toMatch(/^The command changed added(,| and) work\./)
  })

  test.skipIf(!hasBubblewrap)('cannot write outside the worktree, and has no token', async () => {
    const outside = join(board.dataDir, 'planted')
    await addGate(`echo "token: $BOARD_TOKEN"; echo x > '${outside}'`)
    const { id } = await worked()
    const [gate] = await check(id)
    const { output } = await board.client.proofs.get({ projectId, cardId: id, proofId: gate!.proof!.id })
    expect(output).toMatch(/^token: \n/)
    expect(gate!.proof!.status).toBe('failed')
    expect(existsSync(outside)).toBe(false)
  })

  test('shows its output while it runs, and can be stopped', async () => {
    await addGate('echo begun; sleep 60')
    const { id } = await worked()
    const [proof] = await board.client.proofs.check({ projectId, cardId: id })
    const place = { projectId, cardId: id, proofId: proof!.id }
    await eventually('the output', async () => (await board.client.proofs.get(place)).output === 'begun\n')
    await expect(move(id, columns.review)).rejects.toMatchObject(refused('It is running.'))
    await board.client.proofs.cancel({ projectId, cardId: id })
    await eventually('the end', async () => (await board.client.proofs.get(place)).status === 'error')
    expect((await board.client.proofs.get(place)).summary).toMatch(/^Stopped by /)
  })

  test('ends when an agent starts on the card', async () => {
    await addGate('sleep 60')
    const { id } = await worked()
    const [proof] = await board.client.proofs.check({ projectId, cardId: id })
    const place = { projectId, cardId: id, proofId: proof!.id }
    await eventually('the start', async () => (await board.client.proofs.get(place)).status === 'running')
    await board.client.agents.send({ projectId, cardId: id, content: 'Again.' })
    await eventually('the end', async () => (await board.client.proofs.get(place)).status === 'superseded')
    await ended(id)
  })

  test('that exceeds its time limit fails', async () => {
    const { id: gateId } = await addGate('sleep 60')
    await board.server.app.db.transaction(async tx => {
      await tx.run('UPDATE gates SET minutes = 0.01 WHERE id = ?', [gateId])
    })
    const { id } = await worked()
    expect(await check(id)).toMatchObject([
      { proof: { status: 'failed', summary: expect.stringContaining('minutes') as string } },
    ])
  })
})

describe('in auto mode', () => {
  test('a card runs its gates when its agent ends, and moves on when they pass', async () => {
    await addGate('test -f work')
    const { id } = await worked({ autoMode: true })
    await eventually('the move', async () => (await read(id)).columnId === columns.done)
    expect(await gatesOf(id)).toEqual([])
  })

  test('a card whose gate fails goes back to its agent, as often as the project allows, and then waits for a person', async () => {
    await board.client.projects.update({ id: projectId, gateRounds: 2 })
    await addGate('echo "3 tests failed" >&2; test -f ok')
    const { id } = await worked({ autoMode: true })
    const waiting = await eventually(
      'the failure',
      async () => {
        const card = await read(id)
        return card.lastAgentAction?.detail?.includes('The gate tests has not passed.') ? card : undefined
      },
      60_000,
    )
    expect(waiting).toMatchObject({ columnId: columns.build, status: 'completed', statusReason: 'gate' })
    const messages = await board.client.agents.messages({ projectId, cardId: id })
    const rounds = messages
      .map(({ content }) => content)
      .filter(content => content.startsWith('Your work has not passed'))
    expect(rounds.map(content => /round \d of \d/.exec(content)?.[0])).toEqual(['round 1 of 2', 'round 2 of 2'])
    expect(rounds[0]).toContain('The command ended with exit code 1.\nThe end of its output:\n> 3 tests failed\n')
    writeFileSync(join(worktreeOf(id), 'ok'), '')
    await check(id)
    await eventually('the move', async () => (await read(id)).columnId === columns.done)
    expect((await read(id)).statusReason).toBeNull()
  })

  test('an agent that fixes the cause in a round moves the card on', async () => {
    await addGate('test "$(wc -l < log)" -ge 2')
    const { id } = await worked({ autoMode: true })
    await eventually('the move', async () => (await read(id)).columnId === columns.done, 60_000)
  })

  test('a card whose project allows no rounds stays', async () => {
    await board.client.projects.update({ id: projectId, gateRounds: 0 })
    await addGate('false')
    const { id } = await worked({ autoMode: true })
    await eventually('the failure', async () =>
      (await read(id)).lastAgentAction?.detail?.includes('The gate tests has not passed.'),
    )
    expect(
      (await board.client.agents.messages({ projectId, cardId: id })).some(({ content }) => content.includes('round')),
    ).toBe(false)
  })
})

describe('a merge', () => {
  test('requires the gates without a column, for the files that are merged', async () => {
    await addGate('grep -q card work', null)
    const { id } = await worked()
    const merge = (force = false) => board.client.agents.merge({ projectId, cardId: id, force })
    await expect(merge()).rejects.toMatchObject(refused('It has not run.'))
    await check(id)
    writeFileSync(join(worktreeOf(id), 'late'), 'late\n')
    await expect(merge()).rejects.toMatchObject(refused('The files have changed since it ran.'))
    rmSync(join(worktreeOf(id), 'late'))
    expect(await merge()).toMatchObject({ merged: true })
  })

  test('can be forced by an admin of the project', async () => {
    await addGate('false', null)
    const { id } = await worked()
    expect(await board.client.agents.merge({ projectId, cardId: id, force: true })).toMatchObject({ merged: true })
  })
})

describe('force', () => {
  test('does not help a member of the project', async () => {
    const shared = await startBoard()
    try {
      const owner = await shared.client.auth.setup({
        email: 'a@example.org',
        password: 'a long password',
        displayName: 'A',
      })
      const client = shared.as(owner.token)
      const { id } = await client.projects.create({ name: 'Shared', path: board.path })
      const [backlog, active] = await client.columns.list({ projectId: id })
      await client.gates.create({ projectId: id, name: 'tests', command: 'true', columnId: backlog!.id })
      const card = await client.cards.create({ projectId: id, title: 'Idle' })
      const admin = { as: shared.as, client }
      const { token, user } = await registerConfirmed(admin, { email: 'm@example.org', password: 'a long password' })
      await client.members.add({ id, email: user.email, role: 'member' })
      const request = { projectId: id, cardId: card.id, columnId: active!.id, force: true }
      await expect(shared.as(token).cards.move(request)).rejects.toMatchObject(
        refused('Only an admin of the project can use force.'),
      )
      expect((await client.cards.move(request)).columnId).toBe(active!.id)
    } finally {
      await shared.close()
    }
  })
})
