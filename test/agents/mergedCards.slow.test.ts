import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { sandboxes } from '../support/sandbox/bubblewrap.ts'
import { gitIn } from '../support/git/gitIn.ts'

const shell = (script: string) => ({ protocol: 'command' as const, command: ['sh', '-c', script] })
const agents = {
  commits: shell('echo "$BOARD_CARD_ID" >> "work-$BOARD_CARD_ID"; git add .; git commit -q -m Work'),
  edits: shell('echo "$BOARD_CARD_ID" >> "work-$BOARD_CARD_ID"'),
  idles: shell('true'),
}
const unmerged = { mergedAt: null, mergedCommit: null, mergedInto: null }

describe.each(sandboxes)('a merged card with --sandbox %s', sandbox => {
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard(agents, { sandbox })
  })
  afterAll(() => board.close())

  const git = (...args: string[]) => gitIn(board.path, ...args)
  const place = ({ id }: { id: string }) => ({ projectId: board.projectId, cardId: id })
  const worked = async (agent: keyof typeof agents = 'commits', input = {}): Promise<Card> =>
    board.untilStatus((await board.start(agent, input)).id, 'completed')
  const merge = (card: Card, input = {}) => board.client.agents.merge({ ...place(card), ...input })
  const read = ({ id }: Card) => board.card(id)
  const listed = async ({ id }: Card) =>
    (await board.client.cards.list({ projectId: board.projectId })).find(each => each.id === id)
  const again = async ({ id }: Card, agent: keyof typeof agents) => {
    const before = (await board.card(id)).sessions.length
    await board.client.cards.update({ projectId: board.projectId, cardId: id, agent })
    await board.client.agents.relaunch(place({ id }))
    return board.until(
      id,
      'the end of another session',
      card => card.sessions.length > before && card.status === 'completed',
    )
  }
  const events = (card: Card, type: string) =>
    board.socket.messages.filter(each => each.type === type && each.data.id === card.id)

  test('has the time, commit and branch of its merge in the API, events and lists', async () => {
    const card = await worked()
    expect(card).toMatchObject(unmerged)
    await merge(card)
    const merged = {
      mergedAt: expect.any(String) as string,
      mergedCommit: git('rev-parse', 'main'),
      mergedInto: 'main',
    }
    expect(await read(card)).toMatchObject(merged)
    expect(await listed(card)).toMatchObject(merged)
    const { key } = await board.client.keys.create({ name: 'Reads', scope: 'server', permissions: ['cards.read'] })
    const external = async (path = '') =>
      (await board.request('GET', `/api/external/projects/${board.projectId}/cards${path}`, { token: key })).body.data
    expect((await external()).items.find(({ id }: { id: number }) => id === Number(card.id))).toMatchObject(merged)
    expect(await external(`/${card.id}`)).toMatchObject(merged)
    await board.socket.message('card.merged')
    expect(events(card, 'card.merged')).toMatchObject([{ data: merged }])
    // A second merge finds no changes, and keeps the record.
    const { mergedAt } = await read(card)
    expect(await merge(card)).toMatchObject({ merged: false })
    expect((await read(card)).mergedAt).toBe(mergedAt)
    expect(events(card, 'card.merged')).toHaveLength(1)
  })

  test('is no longer merged after a reset of main, for all cards that main lost', async () => {
    const [kept, lost, other] = [await worked(), await worked(), await worked('edits')]
    await merge(kept)
    await merge(lost)
    await merge(other)
    for (const each of [kept, lost, other]) expect(await read(each)).toMatchObject({ mergedInto: 'main' })
    git('reset', '-q', '--hard', (await read(kept)).mergedCommit!)
    expect(await read(lost)).toMatchObject(unmerged)
    expect(await listed(other)).toMatchObject(unmerged)
    expect(await listed(kept)).toMatchObject({ mergedInto: 'main' })
    // A later merge is kept.
    expect(await merge(lost)).toMatchObject({ merged: true })
    expect(await listed(lost)).toMatchObject({ mergedInto: 'main', mergedCommit: git('rev-parse', 'main') })
  })

  test('detects the reset of a merge that no read has checked', async () => {
    const [first, second] = [await worked(), await worked()]
    await merge(first)
    expect(await read(first)).toMatchObject({ mergedInto: 'main' })
    await merge(second)
    git('reset', '-q', '--hard', 'HEAD~1')
    expect(await read(second)).toMatchObject(unmerged)
    expect(await read(first)).toMatchObject({ mergedInto: 'main' })
    await merge(second)
    const { version } = await read(second)
    git('reset', '-q', '--hard', 'HEAD~1')
    await periodicJobs(board.server.app)
      .find(({ name }) => name.includes('contain the merges'))!
      .run(new AbortController().signal)
    const event = await board.socket.message(
      'card.updated',
      ({ data }) => data.id === second.id && data.version > version,
    )
    expect(event.data).toMatchObject(unmerged)
  })

  test('detects a reset in a list alone, and keeps merges when main only advances', async () => {
    const card = await worked()
    await merge(card)
    writeFileSync(join(board.path, 'README'), `Advanced by ${card.id}.\n`)
    git('commit', '-q', '-a', '-m', 'Advance')
    git('pack-refs', '--all')
    expect(await listed(card)).toMatchObject({ mergedInto: 'main' })
    git('reset', '-q', '--hard', 'HEAD~2')
    await board.until(card.id, 'the reset', each => each.mergedAt === null)
    expect(await listed(card)).toMatchObject(unmerged)
  })

  test('is no longer merged after a commit on its branch', async () => {
    const card = await worked()
    await merge(card)
    const worktree = join(board.dataDir, 'worktrees', board.projectId, card.id)
    appendFileSync(join(worktree, `work-${card.id}`), 'more\n')
    if (sandbox === 'off') {
      gitIn(worktree, 'commit', '-q', '-a', '-m', 'More')
      expect(await read(card)).toMatchObject(unmerged)
    } else {
      await board.client.agents.diff(place(card))
      expect(await read(card)).toMatchObject(unmerged)
    }
    expect(await merge(card)).toMatchObject({ merged: true })
    expect(await read(card)).toMatchObject({ mergedCommit: git('rev-parse', 'main') })
  })

  test('is no longer merged in a list after a commit on its branch, also a packed one', async () => {
    const [card, packed] = [await worked(), await worked()]
    const commitOn = async (each: Card) => {
      const branch = (await read(each)).gitBranch!
      const commit = git('commit-tree', '-p', branch, '-m', 'More', `${branch}^{tree}`)
      git('update-ref', `refs/heads/${branch}`, commit)
    }
    for (const each of [card, packed]) await merge(each)
    expect(await listed(card)).toMatchObject({ mergedInto: 'main' })
    await commitOn(card)
    expect(await listed(card)).toMatchObject(unmerged)
    expect(await listed(packed)).toMatchObject({ mergedInto: 'main' })
    await commitOn(packed)
    git('pack-refs', '--all')
    expect(await listed(packed)).toMatchObject(unmerged)
    expect(await board.client.cards.list({ projectId: board.projectId })).not.toContainEqual(
      expect.objectContaining({ id: packed.id, mergedInto: 'main' }),
    )
  })

  test('detects a commit on its branch within a minute without a read', async () => {
    const card = await worked()
    await merge(card)
    const { version, gitBranch } = await read(card)
    git('update-ref', `refs/heads/${gitBranch}`, git('commit-tree', '-p', 'main', '-m', 'More', 'main^{tree}'))
    await periodicJobs(board.server.app)
      .find(({ name }) => name.includes('contain the merges'))!
      .run(new AbortController().signal)
    const event = await board.socket.message(
      'card.updated',
      ({ data }) => data.id === card.id && data.version > version,
    )
    expect(event.data).toMatchObject(unmerged)
  })

  test.each(['commits', 'edits'] as const)('is no longer merged after a session that %s', async agent => {
    const card = await worked('edits')
    await merge(card)
    expect(await again(card, 'idles')).toMatchObject({ mergedInto: 'main' })
    expect(await again(card, agent)).toMatchObject(unmerged)
  })

  test('stays merged when its base is merged into it, and when its worktree is removed', async () => {
    const card = await worked()
    await merge(card, { squash: true })
    writeFileSync(join(board.path, 'README'), `Later than ${card.id}.\n`)
    git('commit', '-q', '-a', '-m', 'Later')
    await board.client.branches.update(place(card))
    await board.client.agents.diff(place(card))
    expect(await read(card)).toMatchObject({ mergedInto: 'main' })
    await board.client.cards.detachWorktree({ ...place(card), remove: true })
    expect(await read(card)).toMatchObject({ mergedInto: 'main' })
  })

  test('a squash merge is detected again by a later merge of any kind', async () => {
    const card = await worked()
    expect(await merge(card, { squash: true })).toMatchObject({ merged: true })
    const commit = git('rev-parse', 'main')
    writeFileSync(join(board.path, `work-${card.id}`), 'Replaced.\n')
    git('commit', '-q', '-a', '-m', 'Replace')
    const tip = git('rev-parse', 'main')
    expect(await merge(card)).toMatchObject({ merged: false, commit })
    expect(await merge(card, { squash: true })).toMatchObject({ merged: false })
    expect(git('rev-parse', 'main')).toBe(tip)
    expect(await read(card)).toMatchObject({ mergedCommit: commit })
  })

  test('names another branch, and is not merged once that branch is deleted', async () => {
    const card = await worked()
    git('branch', '-f', 'release')
    await merge(card, { into: 'release' })
    expect(await read(card)).toMatchObject({ mergedInto: 'release', mergedCommit: git('rev-parse', 'release') })
    git('branch', '-D', 'release')
    expect(await read(card)).toMatchObject(unmerged)
  })

  test('does not await a review, and an empty merge is not recorded', async () => {
    const [card, idle] = [await worked(), await worked('idles')]
    await board.client.reviews.create({ ...place(card), verdict: 'comment', body: 'Hm.' })
    expect((await read(card)).reviewState).toBe('pending')
    await merge(card)
    expect((await read(card)).reviewState).toBeNull()
    await merge(idle)
    expect(await read(idle)).toMatchObject(unmerged)
  })

  test('moves to done and loses its worktree if the request or the project enables it', async () => {
    const [asked, usual] = [await worked(), await worked('edits')]
    const worktree = (card: Card) => join(board.dataDir, 'worktrees', board.projectId, card.id)
    expect((await merge(asked, { moveToDone: true, removeWorktree: true })).after).toEqual({
      movedToDone: true,
      removedWorktree: true,
      problem: null,
    })
    expect(await read(asked)).toMatchObject({ columnId: board.columns.done, mergedInto: 'main', gitBranch: null })
    expect(existsSync(worktree(asked))).toBe(false)
    await expect(merge(asked)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: "The card's work is merged into main, and its branch is removed.",
    })
    const project = { id: board.projectId }
    await board.client.projects.update({ ...project, afterMerge: { moveToDone: true } })
    expect((await board.client.projects.get(project)).afterMerge).toEqual({ moveToDone: true, removeWorktree: false })
    expect((await merge(usual, { squash: true })).after).toMatchObject({ movedToDone: true, removedWorktree: false })
    expect(existsSync(worktree(usual))).toBe(true)
    // A later merge performs only the remaining step.
    expect((await merge(usual, { removeWorktree: true })).after).toMatchObject({ removedWorktree: true })
    expect(existsSync(worktree(usual))).toBe(false)
    await board.client.projects.update({ ...project, afterMerge: { moveToDone: false } })
  })

  test('a full done column rejects the card, and the response states it', async () => {
    const card = await worked()
    const { done: columnId } = board.columns
    await board.client.cards.create({ projectId: board.projectId, title: 'Fills', columnId })
    await board.client.columns.update({ projectId: board.projectId, columnId, wipLimit: 1 })
    const { after } = await merge(card, { moveToDone: true })
    expect(after).toMatchObject({ movedToDone: false, problem: expect.stringContaining('full') as string })
    expect(await read(card)).toMatchObject({ columnId: board.columns.active, mergedInto: 'main' })
    await board.client.columns.update({ projectId: board.projectId, columnId, wipLimit: null })
  })

  test('a conflict names the command that resolves it', async () => {
    const card = await worked()
    writeFileSync(join(board.path, `work-${card.id}`), 'Mine.\n')
    git('add', '.')
    git('commit', '-q', '-m', 'Mine')
    await expect(merge(card)).rejects.toMatchObject({
      code: 'MERGE_CONFLICT',
      message: expect.stringContaining(`board cards update ${card.id} --resolve`) as string,
    })
    expect(await read(card)).toMatchObject(unmerged)
  })
})
