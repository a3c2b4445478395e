import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import type { Sent } from '../../src/contract/route.ts'
import type { Contract } from '../../src/contract/index.ts'
import { dropDeletedSnapshots } from '../../src/cardWork/reviewSnapshots.ts'
import { git } from '../support/agents/worktrees.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

type Review = Omit<Sent<Contract['reviews']['create']>, 'projectId' | 'cardId'>

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({ reviewed: { fixture: 'reviewed' }, forever: { fixture: 'forever' } })
})
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const review = (cardId: string, input: Review) => board.client.reviews.create({ ...ref(cardId), ...input })
const post = (cardId: string, body: unknown, token = board.token) =>
  board.request('POST', `/api/projects/${board.projectId}/cards/${cardId}/reviews`, { body, token })
const refsOf = (cardId: string) =>
  git(board.path, 'for-each-ref', '--format=%(refname)', `refs/board/reviews/${cardId}`).split('\n').filter(Boolean)

/** A card whose agent wrote `notes.txt` and is done. */
async function worked(): Promise<string> {
  const { id } = await board.start('reviewed', { prompt: 'Write notes.' })
  await board.untilStatus(id, 'completed')
  return id
}

let trees = 0
/** A card with a separate, attached worktree, in which files of every kind differ from `main`. */
async function attached(change: (folder: string) => void): Promise<{ id: string; folder: string }> {
  const folder = `${board.path}-worktree-${++trees}`
  git(board.path, 'worktree', 'add', '-q', '-b', `own-${trees}`, folder)
  const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'By hand' })
  await board.client.cards.attachWorktree({ ...ref(id), path: folder })
  change(folder)
  return { id, folder }
}

test('a review that requests changes becomes the next message of the agent, which answers each comment', async () => {
  const id = await worked()
  const first = await review(id, {
    verdict: 'request_changes',
    body: 'Nearly.',
    comments: [
      { path: 'notes.txt', side: 'new', startLine: 1, line: 2, body: 'Which notes?' },
      { path: 'notes.txt', line: 3, body: 'Leave this out.' },
    ],
  })
  expect(first).toMatchObject({
    round: 1,
    verdict: 'request_changes',
    headCommit: git(board.path, 'rev-parse', 'main').trim(),
    comments: [
      { startLine: 1, line: 2, text: 'one\ntwo', answer: null, resolvedAt: null },
      { startLine: 3, line: 3, text: 'three' },
    ],
  })
  const card = await board.until(id, 'a new look', found => found.reviewState === 'pending')
  expect(card.reviewRound).toBe(1)
  const told = (await board.messages(id)).filter(({ role }) => role === 'user').at(-1)!.content
  expect(told).toContain('Nearly.')
  expect(told).toContain(`Comment ${first.comments[0]!.id} on notes.txt, lines 1 to 2:\n> one\n> two\n\nWhich notes?`)
  const [seen] = await board.client.reviews.list(ref(id))
  expect(seen!.comments).toEqual([
    expect.objectContaining({ answer: 'Done: Which notes?', resolvedAt: expect.any(String) }),
    expect.objectContaining({ answer: 'Done: Leave this out.', answeredAt: expect.any(String) }),
  ])
  const { diff } = await board.client.agents.diff({ ...ref(id), since: first.id })
  expect(diff.split('\n').filter(line => /^[+-][^+-]/.test(line))).toEqual(['+reviewed'])
  expect((await review(id, { verdict: 'approve' })).round).toBe(2)
  expect(await board.card(id)).toMatchObject({ reviewState: 'approved', reviewRound: 1 })
})

test('a file can be read in its old, current and reviewed version, and a missing one is reported by name', async () => {
  const { id, folder } = await attached(there => writeFileSync(join(there, 'README'), Buffer.from([0, 255, 1])))
  const read = async (input: Partial<Sent<Contract['reviews']['changedFile']>>) =>
    Buffer.from((await board.client.reviews.changedFile({ ...ref(id), path: 'README', ...input })).content, 'base64')
  expect((await read({ side: 'old' })).toString()).toBe('A repository.\n')
  expect([...(await read({}))]).toEqual([0, 255, 1])
  const { id: since } = await review(id, { verdict: 'approve' })
  writeFileSync(join(folder, 'README'), 'Other.\n')
  expect([...(await read({ side: 'old', since: Number(since) }))]).toEqual([0, 255, 1])
  expect((await read({})).toString()).toBe('Other.\n')
  // Files that the card has not changed cannot be read here.
  writeFileSync(join(folder, 'README'), 'A repository.\n')
  for (const path of ['README', 'none', '../README', '/etc/passwd', '.git/config', ''])
    await expect(read({ path }), path).rejects.toThrow(/not found|path/)
})

test('a file that is too large is marked as such, in its old and new version', async () => {
  const { id, folder } = await attached(there => writeFileSync(join(there, 'large.png'), Buffer.alloc(2 ** 21 + 1)))
  const read = (side: 'old' | 'new') => board.client.reviews.changedFile({ ...ref(id), path: 'large.png', side })
  await expect(read('new')).rejects.toThrow(/too large/)
  git(folder, 'add', '.')
  git(folder, 'commit', '-q', '-m', 'Large')
  await expect(read('new')).rejects.toThrow(/too large/)
  await expect(read('old')).rejects.toThrow(/not found/)
})

test("the list of a card's reviews is limited", async () => {
  const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Talked about' })
  await Promise.all(Array.from({ length: 33 }, () => review(id, { verdict: 'comment', body: 'x'.repeat(65_000) })))
  expect(await post(id, { verdict: 'comment', body: 'x' })).toMatchObject({
    status: 409,
    body: { error: { code: 'CONFLICT', message: expect.stringContaining('maximum number of review comments') } },
  })
  expect((await board.client.reviews.list(ref(id))).length).toBe(33)
})

test('a change after an approval requires another review', async () => {
  const id = await worked()
  await review(id, { verdict: 'approve' })
  await board.client.agents.send({ ...ref(id), content: 'One thing more.' })
  expect((await board.until(id, 'a new look', ({ reviewState }) => reviewState === 'pending')).status).toBe('completed')
})

test('a draft is kept for its author, and sent by a review without body and comments', async () => {
  const id = await worked()
  const comment = {
    repository: '',
    path: 'notes.txt',
    side: 'new' as const,
    startLine: null,
    line: 1,
    body: 'Hm.',
  }
  expect(await board.client.reviews.getDraft(ref(id))).toEqual({ body: '', comments: [], updatedAt: null })
  const draft = await board.client.reviews.putDraft({ ...ref(id), body: 'So far.', comments: [comment] })
  expect(draft).toEqual({ body: 'So far.', comments: [comment], updatedAt: expect.any(String) })
  expect(await board.client.reviews.getDraft(ref(id))).toEqual(draft)
  expect(await review(id, { verdict: 'comment', body: 'Apart from it.' })).toMatchObject({ comments: [] })
  expect(await board.client.reviews.getDraft(ref(id))).toEqual(draft)
  expect(await review(id, { verdict: 'comment' })).toMatchObject({
    body: 'So far.',
    comments: [{ text: 'one', body: 'Hm.' }],
  })
  expect((await board.client.reviews.getDraft(ref(id))).updatedAt).toBeNull()
  expect((await post(id, { verdict: 'comment' })).body.error.code).toBe('VALIDATION_FAILED')
  expect((await board.client.reviews.list(ref(id))).map(({ body }) => body)).toEqual(['Apart from it.', 'So far.'])
})

test('a comment names lines that the diff shows, even of moved or deleted files, and is otherwise rejected by name', async () => {
  const { id } = await attached(folder => {
    const long = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`)
    for (const name of ['long', 'gone', 'before']) writeFileSync(join(folder, name), `${long.join('\n')}\n`)
    writeFileSync(join(folder, 'binary'), Buffer.from([0, 1, 2, 3]))
    git(folder, 'add', '.')
    git(folder, 'commit', '-q', '-m', 'Files')
    git(folder, 'branch', '-f', 'main-now')
    git(board.path, 'merge', '-q', '--no-edit', 'main-now')
    git(board.path, 'branch', '-D', 'main-now')
    long[19] = 'another\u0001 line'
    writeFileSync(join(folder, 'long'), `${long.join('\n')}\n`)
    git(folder, 'mv', 'before', 'tab\tand "quote"')
    writeFileSync(join(folder, 'tab\tand "quote"'), `first\n${long.join('\n')}\n`)
    rmSync(join(folder, 'gone'))
    writeFileSync(join(folder, 'binary'), Buffer.from([0, 9, 9, 9]))
    writeFileSync(join(folder, 'dashes'), '-- a\n++ b\n@@ -1 +1 @@\ndiff --git a/x b/x\n')
  })
  const at = (path: string, line: number, more: object = {}) => ({ path, line, body: 'This.', ...more })
  const { comments } = await review(id, {
    verdict: 'comment',
    comments: [
      at('long', 20),
      at('long', 20, { side: 'old' }),
      at('long', 23, { startLine: 17 }),
      at('gone', 40, { side: 'old', startLine: 1 }),
      at('tab\tand "quote"', 1),
      at('before', 1, { side: 'old' }),
      at('tab\tand "quote"', 1, { side: 'old' }),
      at('dashes', 4),
    ],
  })
  expect(comments.map(({ text }) => text.split('\n').at(0))).toEqual([
    'another\u0001 line',
    'line 20',
    'line 17',
    'line 1',
    'first',
    'line 1',
    'line 1',
    'diff --git a/x b/x',
  ])
  const refused = await post(id, {
    verdict: 'comment',
    comments: [
      at('long', 20),
      at('long', 1),
      at('long', 41),
      at('long', 24, { startLine: 23 }),
      at('long', 18, { startLine: 19 }),
      at('gone', 1),
      at('binary', 1),
      at('../../etc/passwd', 1),
      at('__proto__', 1),
      at('long', 100_000_000, { startLine: 1 }),
    ],
  })
  expect(refused.body.error.code).toBe('VALIDATION_FAILED')
  expect(refused.body.error.details.map(({ path }: { path: string }) => path)).toEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 9].map(number => `comments.${number}`),
  )
  expect(refused.text).toContain('binary')
  const tooLong = await post(id, {
    verdict: 'comment',
    comments: Array.from({ length: 20 }, () => at('long', 20, { body: 'x'.repeat(16_000) })),
  })
  expect(tooLong.body.error.message).toContain('several reviews')
  expect(await board.client.reviews.list(ref(id))).toHaveLength(1)
})

test.each<[string, object]>([
  ['an unknown verdict', { verdict: 'merge' }],
  ['a comment without a text', { verdict: 'comment', comments: [{ path: 'a', line: 1, body: '' }] }],
  ['a comment of invisible characters', { verdict: 'comment', comments: [{ path: 'a', line: 1, body: '\u200b' }] }],
  ['a line before the first', { verdict: 'comment', comments: [{ path: 'a', line: 0, body: 'x' }] }],
  ['half a line', { verdict: 'comment', comments: [{ path: 'a', line: 1.5, body: 'x' }] }],
  ['a path with NUL', { verdict: 'comment', comments: [{ path: 'a\0b', line: 1, body: 'x' }] }],
  ['a long text', { verdict: 'comment', body: 'x'.repeat(65_537) }],
  ['a long comment', { verdict: 'comment', comments: [{ path: 'a', line: 1, body: 'x'.repeat(16_385) }] }],
  [
    'many comments',
    { verdict: 'comment', comments: Array.from({ length: 201 }, () => ({ path: 'a', line: 1, body: 'x' })) },
  ],
])('%s is rejected', async (_, body) => {
  const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Nothing yet' })
  expect((await post(id, body)).status).toBe(400)
})

test('a huge body is rejected, and a card without changes accepts reviews only without comments', async () => {
  const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Nothing yet' })
  expect((await post(id, { verdict: 'comment', body: 'x'.repeat(2_000_000) })).status).toBe(413)
  expect((await post(id, { verdict: 'comment', comments: [{ path: 'README', line: 1, body: 'x' }] })).status).toBe(400)
  expect(await review(id, { verdict: 'approve' })).toMatchObject({ baseCommit: null, headCommit: null, comments: [] })
  const { id: projectId } = await board.client.projects.create({ name: 'Plain', path: board.folder('plain') })
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Without Git' })
  expect((await board.client.reviews.create({ projectId, cardId, verdict: 'approve' })).headCommit).toBeNull()
})

test('an API key comments with cards.update, requests changes with agents.run only, and an agent cannot review', async () => {
  const id = await worked()
  const { projectId } = board
  const { key } = await board.client.keys.create({
    name: 'k',
    scope: 'project',
    projectId,
    permissions: ['cards.update'],
  })
  expect((await post(id, { verdict: 'comment', body: 'Well.' }, key)).status).toBe(201)
  expect((await post(id, { verdict: 'approve' }, key)).status).toBe(201)
  expect((await post(id, { verdict: 'request_changes', body: 'No.' }, key)).body.error.code).toBe(
    'INSUFFICIENT_PERMISSIONS',
  )
  const { id: other } = await board.start('forever')
  const { token } = await board.client.agents.token(ref(other))
  expect((await post(other, { verdict: 'approve' }, token)).status).toBe(403)
  await board.client.agents.cancel(ref(other))
  expect((await board.client.reviews.list(ref(id))).map(({ verdict }) => verdict)).toEqual(['comment', 'approve'])
})

test('a review is sent as an event and logged in the audit log, and a review that cannot be sent to an agent is not stored', async () => {
  const id = await worked()
  const { id: reviewId } = await review(id, { verdict: 'approve', body: 'Good.' })
  const { data } = await board.socket.message('review.submitted', ({ data: each }) => each.cardId === id)
  expect(data).toMatchObject({ id: reviewId, verdict: 'approve', body: 'Good.' })
  const { items } = await board.client.audit.list({ action: 'reviews.create', limit: 1 })
  expect(items).toMatchObject([{ target: { kind: 'card', id }, detail: { verdict: 'approve' } }])
  await board.client.cards.archive(ref(id))
  expect((await post(id, { verdict: 'request_changes', body: 'After all.' })).body.error.code).toBe('CONFLICT')
  expect(await board.client.reviews.list(ref(id))).toHaveLength(1)
})

test('the diff since a review includes the changes uncommitted at that time, also after garbage collection', async () => {
  const { id, folder } = await attached(place => writeFileSync(join(place, 'draft'), 'one\n'))
  const { id: since } = await review(id, { verdict: 'comment', body: 'So far.' })
  expect((await board.client.agents.diff({ ...ref(id), since })).stats.filesChanged).toBe(0)
  execFileSync('git', ['-C', board.path, 'gc', '-q', '--prune=now'], { stdio: 'ignore' })
  writeFileSync(join(folder, 'draft'), 'one\ntwo\n')
  const { stats } = await board.client.agents.diff({ ...ref(id), since })
  expect(stats).toEqual({ filesChanged: 1, insertions: 1, deletions: 0 })
  expect(git(folder, 'status', '--short')).toBe('?? draft\n')
  for (const kept of refsOf(id)) git(board.path, 'update-ref', '-d', kept)
  execFileSync('git', ['-C', board.path, 'gc', '-q', '--prune=now'], { stdio: 'ignore' })
  const path = `/api/projects/${board.projectId}/cards/${id}/diff?since=`
  expect((await board.request('GET', `${path}${since}`)).body.error.code).toBe('CONFLICT')
  expect((await board.request('GET', `${path}999999`)).body.error.code).toBe('REVIEW_NOT_FOUND')
})

test('data of a review in the repository is deleted with a card that can no longer be restored', async () => {
  const { id } = await attached(place => writeFileSync(join(place, 'new'), 'x\n'))
  await review(id, { verdict: 'approve' })
  await board.client.cards.delete({ ...ref(id), force: true })
  const { db } = board.server.app
  await dropDeletedSnapshots(db, new Date(Date.now() - 60_000).toISOString())
  expect(refsOf(id)).toHaveLength(1)
  await dropDeletedSnapshots(db, new Date(Date.now() + 60_000).toISOString())
  expect(refsOf(id)).toEqual([])
})

test('data of a review in the repository is deleted with the project', async () => {
  const path = board.folder('kept')
  git(path, 'init', '-q', '-b', 'main')
  git(path, 'commit', '-q', '--allow-empty', '-m', 'Begin')
  git(path, 'worktree', 'add', '-q', '-b', 'own', `${path}-own`)
  const { id: projectId } = await board.client.projects.create({ name: 'Kept', path })
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'By hand' })
  await board.client.cards.attachWorktree({ projectId, cardId, path: `${path}-own` })
  writeFileSync(join(`${path}-own`, 'new'), 'x\n')
  await board.client.reviews.create({ projectId, cardId, verdict: 'approve' })
  const refs = () => git(path, 'for-each-ref', 'refs/board').split('\n').filter(Boolean)
  expect(refs()).toHaveLength(1)
  await board.client.projects.delete({ id: projectId })
  await eventually('the end of the ref', async () => {
    await periodicJobs(board.server.app)
      .find(({ name }) => name.startsWith('remove worktrees of projects'))!
      .run(new AbortController().signal)
    return refs().length === 0
  })
})

test.each([
  ['in the backlog', async () => (await board.client.cards.create({ projectId: board.projectId, title: 'New' })).id],
  ['with a worktree of a person', async () => (await attached(folder => writeFileSync(join(folder, 'a'), 'x'))).id],
  ['whose agent has not started', async () => (await board.start('reviewed', { blockedBy: [await worked()] })).id],
])('a review that asks a card %s for changes returns 409 with the next step and starts no agent', async (_, made) => {
  const id = await made()
  expect((await post(id, { verdict: 'request_changes', body: 'Shorter.' })).body.error).toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/^No agent has worked on the card yet\. Add the changes to its prompt/),
  })
  expect(await board.card(id)).toMatchObject({ status: 'idle', reviewState: null })
  expect(await board.client.agents.sessions(ref(id))).toEqual([])
  expect(await board.client.reviews.list(ref(id))).toEqual([])
  expect((await review(id, { verdict: 'comment', body: 'Shorter.' })).verdict).toBe('comment')
})
