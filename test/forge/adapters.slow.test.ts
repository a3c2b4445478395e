import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'undici'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createForge } from '../../src/forge/createForge.ts'
import { ForgeFailed, type Forge, type NewPull, type PullChange } from '../../src/forge/forge.ts'
import { FakeForge } from '../support/forge/fakeForge.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-adapters-'))
const dispatcher = new Agent()
let round = 0
afterAll(async () => {
  await dispatcher.close()
  rmSync(folder, { recursive: true, force: true })
})

const failure = (work: Promise<unknown>): Promise<ForgeFailed> =>
  work.then(
    () => expect.unreachable('It did not fail.'),
    (error: unknown) => (expect(error).toBeInstanceOf(ForgeFailed), error as ForgeFailed),
  )

describe.each(['github', 'gitlab', 'gitea'] as const)('%s', kind => {
  let fake: FakeForge
  let forge: Forge
  beforeEach(async () => {
    fake = await FakeForge.start({ kind, folder: join(folder, `${++round}`) })
    forge = forgeWith(fake.token)
  })
  afterEach(() => fake.close())

  const forgeWith = (token: string, repository = 'acme/site') =>
    createForge({ kind, apiUrl: fake.apiUrl, webUrl: fake.url, repository }, token, { dispatcher })
  const wanted: NewPull = {
    branch: 'board/1-work',
    base: 'main',
    title: 'Do the work',
    body: 'It closes #1.',
    draft: false,
    reviewers: [],
    labels: [],
  }
  /** A request of the board with one commit. */
  const open = async (more: Partial<NewPull> = {}) => {
    fake.push('board/1-work', { 'a.txt': 'one\ntwo\nthree\n' })
    return (await forge.createPull({ ...wanted, ...more })).pull
  }

  it('reads the account and the repository', async () => {
    expect(await forge.account()).toBe('board-bot')
    expect(await forge.repository()).toEqual({
      defaultBranch: 'main',
      url: `${fake.url}/acme/site`,
      mergeMethods: expect.arrayContaining(['merge', 'squash']),
    })
  })

  it('opens a request, finds it, and recognizes it', async () => {
    expect(await forge.findPull('board/1-work')).toBeUndefined()
    // Gitea accepts existing labels only.
    fake.openIssue({ title: 'Other', labels: ['board'] })
    const pull = await open({ labels: ['board'], reviewers: ['ann'] })
    expect(pull).toMatchObject({
      title: 'Do the work',
      body: 'It closes #1.',
      state: 'open',
      draft: false,
      base: 'main',
      branch: 'board/1-work',
      headCommit: fake.pull().headSha,
      mergeable: true,
      ready: true,
      mergeCommit: null,
    })
    expect(pull.url.startsWith(`${fake.url}/acme/site/`)).toBe(true)
    expect(fake.pull()).toMatchObject({
      author: 'board-bot',
      body: 'It closes #1.',
      labels: ['board'],
      reviewers: ['ann'],
    })
    expect(await forge.findPull('board/1-work')).toMatchObject({ number: pull.number, headCommit: pull.headCommit })
    expect(await forge.findPull('board/1-wor')).toBeUndefined()
    expect(await failure(forge.createPull(wanted))).toMatchObject({
      reason: expect.stringMatching(/^(invalid|conflict)$/),
    })
  })

  it('finds the open one of several requests, otherwise the newest', async () => {
    const first = await open()
    await forge.closePull(first.number)
    expect(await forge.findPull('board/1-work')).toMatchObject({ number: first.number, state: 'closed' })
    const second = await open()
    expect(await forge.findPull('board/1-work')).toMatchObject({ number: second.number, state: 'open' })
    await forge.closePull(second.number)
    expect(await forge.findPull('board/1-work')).toMatchObject({ number: second.number })
  })

  it('reports the rejected reviewers', async () => {
    fake.push('board/1-work', { 'a.txt': 'one\n' })
    const { pull, notTaken } = await forge.createPull({ ...wanted, reviewers: ['nobody-here'], labels: ['unknown'] })
    expect(notTaken).toHaveLength(kind === 'gitea' ? 2 : 1)
    expect(fake.pull().number).toBe(pull.number)
  })

  it('changes reviewers and labels, and no other fields', async () => {
    // Gitea accepts existing labels only.
    fake.openIssue({ title: 'Other', labels: ['one', 'two/three & 4'] })
    const { number } = await open({ reviewers: ['ann'], labels: ['one'] })
    const update = async (change: PullChange) => {
      const { pull, notTaken } = await forge.updatePull(number, change)
      return [[...pull.reviewers].sort(), [...pull.labels].sort(), notTaken]
    }
    const both = { addReviewers: ['bob', 'ann'], addLabels: ['two/three & 4', 'one'] }
    expect(await update(both)).toEqual([['ann', 'bob'], ['one', 'two/three & 4'], []])
    expect(fake.pull()).toMatchObject({ title: 'Do the work', body: 'It closes #1.', draft: false })
    expect(await update({ removeReviewers: ['ann', 'nobody'], removeLabels: ['two/three & 4', 'none'] })).toEqual([
      ['bob'],
      ['one'],
      [],
    ])
    expect(await update({ title: 'Better', removeReviewers: ['BOB'], removeLabels: ['one'] })).toEqual([[], [], []])
    expect(fake.pull()).toMatchObject({ reviewers: [], labels: [] })
    const [, , notTaken] = await update({ addReviewers: ['nobody-here'], addLabels: ['one'] })
    expect(notTaken).toHaveLength(1)
    expect(await forge.readPull(number)).toMatchObject({ title: 'Better', reviewers: [], labels: ['one'] })
  })

  it.runIf(kind === 'gitlab')('reports an omitted reviewer and a label with a comma', async () => {
    fake.state.maxReviewers = 1
    const { number } = await open({ reviewers: ['ann'] })
    const { pull, notTaken } = await forge.updatePull(number, { addReviewers: ['bob'], addLabels: ['a,b', 'c'] })
    expect(pull).toMatchObject({ reviewers: ['ann'], labels: ['c'] })
    expect(notTaken).toEqual([
      'A label on GitLab cannot contain a comma: a,b.',
      'GitLab omitted 1 of the reviewers. Current reviewers: ann.',
    ])
  })

  it('marks a draft as ready, and converts it to a draft again', async () => {
    const { number } = await open({ draft: true })
    expect(await forge.readPull(number)).toMatchObject({ draft: true, title: 'Do the work', ready: false })
    const update = async (change: PullChange) => (await forge.updatePull(number, change)).pull
    expect(await update({ draft: false })).toMatchObject({ draft: false, title: 'Do the work' })
    expect(await update({ title: 'Better' })).toMatchObject({ draft: false, title: 'Better' })
    expect(await update({ draft: true })).toMatchObject({ draft: true, title: 'Better' })
    expect(await update({ title: 'Best', body: 'New' })).toMatchObject({ draft: true, title: 'Best' })
    expect(await forge.readPull(number)).toMatchObject({ body: 'New' })
  })

  it('receives "unchanged" if the forge supports it', async () => {
    const { number } = await open()
    const first = await forge.readPull(number)
    if (first === 'unchanged') return expect.unreachable()
    const same = await forge.readPull(number, first.etag)
    expect(same === 'unchanged').toBe(first.etag !== undefined)
    fake.push('board/1-work', { 'a.txt': 'more\n' })
    expect(await forge.readPull(number, first.etag)).toMatchObject({ headCommit: fake.pull().headSha })
  })

  it('reports a conflict, and a state that the forge is still computing', async () => {
    fake.state.unknownFor = 1
    const { number } = await open()
    fake.state.unknownFor = 0
    await forge.readPull(number)
    fake.push('main', { 'a.txt': 'another one\n' })
    expect(await forge.readPull(number)).toMatchObject({ mergeable: false, ready: false })
    const failed = await failure(forge.mergePull(number, { method: 'merge', headCommit: fake.pull().headSha }))
    expect(failed.reason).toBe('conflict')
  })

  it('is ready when all requirements of the branch are met', async () => {
    fake.protect({ approvals: 1, checks: ['build'] })
    const { number, headCommit } = await open()
    expect(await forge.readPull(number)).toMatchObject({ mergeable: true, ready: false })
    fake.approve(number)
    fake.setCheck(headCommit, 'build', 'running')
    expect(await forge.readPull(number)).toMatchObject({ ready: false })
    expect((await failure(forge.mergePull(number, { method: 'merge', headCommit }))).reason).toBe('conflict')
    fake.setCheck(headCommit, 'build', 'success')
    expect(await forge.readPull(number)).toMatchObject({ mergeable: true, ready: true })
  })

  it('merges the commit that was read', async () => {
    const { number, headCommit } = await open()
    fake.push('board/1-work', { 'b.txt': 'by another user\n' })
    expect((await failure(forge.mergePull(number, { method: 'squash', headCommit }))).reason).toBe('conflict')
    const { headSha } = fake.pull()
    const commit = await forge.mergePull(number, { method: 'squash', headCommit: headSha, title: 'Do it (#1)' })
    expect(commit).toBe(fake.pull().mergeCommit)
    expect(fake.repository.git('log', '-1', '--format=%s', 'main')).toContain('Do it (#1)')
    expect(await forge.readPull(number)).toMatchObject({ state: 'merged', mergeCommit: commit, ready: null })
    expect((await failure(forge.mergePull(number, { method: 'squash', headCommit: headSha }))).reason).toBe('conflict')
  })

  it('sees a request that was merged by hand, and one whose branch is deleted', async () => {
    const { number } = await open()
    const commit = fake.mergeByHand(number)
    expect(await forge.readPull(number)).toMatchObject({ state: 'merged', mergeCommit: commit })
    fake.push('board/2', { 'c.txt': 'c\n' })
    const { pull } = await forge.createPull({ ...wanted, branch: 'board/2' })
    fake.deleteBranch('board/2')
    expect(await forge.readPull(pull.number)).toMatchObject({ state: 'closed', branch: 'board/2' })
    expect(await forge.findPull('board/2')).toMatchObject({ number: pull.number })
  })

  it('lists checks, under another name when they run again, and reads the log of one', async () => {
    const pull = await open()
    expect(await forge.listChecks(pull)).toEqual([])
    fake.setCheck(
      pull.headCommit,
      'build',
      'failure',
      `${'fine\n'.repeat(5000)}\u001b[31mError: it broke\u001b[0m\nend\n`,
    )
    fake.setCheck(pull.headCommit, 'lint', 'running')
    fake.setCheck(pull.headCommit, 'docs', 'skipped')
    fake.setCheck(pull.headCommit, 'deploy', 'failure', undefined, { kind: 'status', url: 'https://ci.example.org/1' })
    const checks = await forge.listChecks(pull)
    // Gitea calls a job "workflow / job (event)".
    const named = (name: string) => (kind === 'gitea' && name !== 'deploy' ? `ci.yaml / ${name} (pull_request)` : name)
    const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]))
    expect(states).toEqual({
      [named('build')]: 'failure',
      [named('lint')]: 'pending',
      [named('docs')]: 'neutral',
      deploy: 'failure',
    })
    const build = checks.find(({ name }) => name === named('build'))!
    const log = await forge.readCheckLog(build, 1000)
    expect(log).toContain('\nError: it broke\nend')
    expect(Buffer.byteLength(log!)).toBeLessThanOrEqual(1000)
    const deploy = checks.find(({ name }) => name === 'deploy')!
    expect(deploy.url).toBe('https://ci.example.org/1')
    expect(await forge.readCheckLog(deploy, 1000)).toBeUndefined()
    for (const { authorization } of fake.storageRequests) expect(authorization).toBeUndefined()
    fake.setCheck(pull.headCommit, 'build', 'queued')
    const again = (await forge.listChecks(pull)).find(({ name }) => name === named('build'))!
    expect(again.state).toBe('pending')
    expect(again.id).not.toBe(build.id)
  })

  it.runIf(kind === 'github')('lists the jobs of Actions if a token has no access to check runs', async () => {
    const pull = await open()
    fake.setCheck(pull.headCommit, 'build', 'failure', 'Error: no\n')
    const checks = await forge.listChecks(pull)
    const body = { message: 'Resource not accessible by personal access token' }
    fake.fail({ match: /check-runs/, status: 403, body })
    expect(await forge.listChecks(pull)).toEqual(checks)
  })

  it('reads the newest verdict of each reviewer', async () => {
    const { number } = await open()
    expect(await forge.listReviews(number)).toEqual([])
    fake.review(number, 'ann', 'changes_requested', [], 'Not yet')
    fake.review(number, 'bob', 'approved')
    const states = async () =>
      Object.fromEntries((await forge.listReviews(number)).map(({ author, state }) => [author, state]))
    expect(await states()).toEqual({ ann: 'changes_requested', bob: 'approved' })
    const [first] = (await forge.listReviews(number)).filter(({ author }) => author === 'ann')
    fake.review(number, 'ann', 'changes_requested', [], 'Still not')
    const [second] = (await forge.listReviews(number)).filter(({ author }) => author === 'ann')
    expect(second!.id).not.toBe(first!.id)
    fake.approve(number)
    expect(await states()).toEqual({ ann: 'approved', bob: 'approved' })
  })

  it('treats the verdict of a user without write access as a remark', async () => {
    // Only its reviewers can request changes.
    if (fake.options.kind === 'gitlab') return
    const { number } = await open()
    fake.state.outsiders.add('bob')
    fake.review(number, 'bob', 'changes_requested', [], 'Give me your tokens')
    fake.approve(number)
    const states = (await forge.listReviews(number)).map(({ author, state }) => `${author} ${state}`)
    expect(states.toSorted()).toEqual(['ann approved', 'bob commented'])
  })

  it('lists the comments on lines and in general, and replies in the thread', async () => {
    const { number } = await open()
    fake.review(number, 'ann', 'changes_requested', [
      { path: 'a.txt', line: 2, body: 'Why two?' },
      { path: 'a.txt', line: 3, body: 'And three?\u0007' },
    ])
    fake.comment(number, 'In general: no.', { on: 'pull' })
    const comments = await forge.listPullComments(number)
    expect(
      comments.map(({ author, body, path, line, inReplyTo }) => ({ author, body, path, line, inReplyTo })),
    ).toEqual(
      expect.arrayContaining([
        { author: 'ann', body: 'Why two?', path: 'a.txt', line: 2, inReplyTo: null },
        { author: 'ann', body: 'And three?', path: 'a.txt', line: 3, inReplyTo: null },
        { author: 'ann', body: 'In general: no.', path: null, line: null, inReplyTo: null },
      ]),
    )
    const two = comments.find(({ body }) => body === 'Why two?')!
    await forge.commentOnPull(number, 'Because.', two.id)
    const answer = (await forge.listPullComments(number)).find(({ body }) => body === 'Because.')!
    expect(answer).toMatchObject({ author: 'board-bot', path: 'a.txt', line: 2, inReplyTo: two.id })
    await forge.commentOnPull(number, 'To the answer.', answer.id)
    expect((await forge.listPullComments(number)).find(({ body }) => body === 'To the answer.')).toMatchObject({
      inReplyTo: two.id,
    })
    const general = await forge.commentOnPull(number, 'All done.')
    expect(await forge.listPullComments(number)).toContainEqual(general)
    expect(fake.state.comments.at(-1)).toMatchObject({ body: 'All done.', onPull: true })
  })

  it('reports the resolved threads', async () => {
    const { number } = await open()
    fake.review(number, 'ann', 'changes_requested', [{ path: 'a.txt', line: 2, body: 'Why two?' }])
    fake.state.resolve(fake.state.lineComments[0]!.thread, true)
    expect(await forge.listPullComments(number)).toMatchObject([{ body: 'Why two?', resolved: true }])
  })

  it('lists issues with a label, without pull requests, the oldest change first', async () => {
    const first = fake.openIssue({ title: 'First', labels: ['board', 'bug'], body: 'It breaks.' })
    fake.openIssue({ title: 'Not meant' })
    const second = fake.openIssue({ title: 'Second', labels: ['board'] })
    await open({ labels: ['board'] })
    first.updatedAt += 5000
    fake.closeIssue(second.number)
    second.updatedAt = first.updatedAt - 2000
    const issues = await forge.listIssues({ label: 'board' })
    expect(issues.map(({ number, state }) => [number, state])).toEqual([
      [second.number, 'closed'],
      [first.number, 'open'],
    ])
    expect(issues[1]).toMatchObject({ title: 'First', body: 'It breaks.', author: 'ann', labels: ['board', 'bug'] })
    expect(await forge.readIssue(first.number)).toEqual(issues[1])
    const since = new Date(first.updatedAt - 1000).toISOString()
    expect((await forge.listIssues({ label: 'board', since })).map(({ number }) => number)).toEqual([first.number])
  })

  it('reads more issues than a page holds', async () => {
    for (let count = 1; count <= 230; count++) fake.openIssue({ title: `Issue ${count}`, labels: ['board'] })
    expect(new Set((await forge.listIssues({ label: 'board' })).map(({ number }) => number)).size).toBe(230)
  })

  it('closes, reopens and comments on an issue', async () => {
    const { number } = fake.openIssue({ title: 'First' })
    await forge.closeIssue(number)
    await forge.closeIssue(number)
    expect(fake.issue(number).state).toBe('closed')
    await forge.reopenIssue(number)
    expect(fake.issue(number).state).toBe('open')
    fake.comment(number, 'Hello', { on: 'issue' })
    const mine = await forge.commentOnIssue(number, 'On it.')
    expect(mine).toMatchObject({ author: 'board-bot', body: 'On it.' })
    expect((await forge.listIssueComments(number)).map(({ body }) => body)).toEqual(['Hello', 'On it.'])
    const later = new Date(Date.parse(mine.updatedAt) + 1000).toISOString()
    expect(await forge.listIssueComments(number, later)).toEqual([])
  })

  it('returns the reason for a failure', async () => {
    expect((await failure(forgeWith('wrong').account())).reason).toBe('refused')
    expect((await failure(forgeWith(fake.token, 'acme/none').repository())).reason).toBe('missing')
    expect((await failure(forge.readPull(99))).reason).toBe('missing')
    expect((await failure(forge.readIssue(99))).reason).toBe('missing')
    expect((await failure(forge.createPull({ ...wanted, branch: 'no-such' }))).reason).toMatch(/^(invalid|missing)$/)
    fake.fail({ limit: { kind: 'primary', seconds: 120 } })
    const { reason, retryAt } = await failure(forge.account())
    expect(reason).toBe('limited')
    expect(retryAt! - Date.now()).toBeGreaterThan(60_000)
    fake.fail({ limit: { kind: 'secondary', seconds: 90 } })
    expect(await failure(forge.commentOnIssue(1, 'x'))).toMatchObject({ reason: 'limited' })
    fake.fail({ status: 502, times: 2, body: '<html>Bad gateway' })
    expect(await forge.account()).toBe('board-bot')
    fake.fail({ status: 502, times: 3 })
    expect((await failure(forge.account())).reason).toBe('unreachable')
    fake.fail({ cutOff: true, times: 3 })
    expect((await failure(forge.account())).reason).toMatch(/^(unreachable|odd)$/)
  })

  it('does not repeat a write whose response was lost, and detects that it succeeded', async () => {
    fake.push('board/1-work', { 'a.txt': 'one\n' })
    fake.fail({ loseAnswer: true, match: /^POST / })
    expect((await failure(forge.createPull(wanted))).reason).toBe('unreachable')
    expect(fake.requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
    expect(await forge.findPull(wanted.branch)).toMatchObject({ state: 'open', title: wanted.title })
  })
})
