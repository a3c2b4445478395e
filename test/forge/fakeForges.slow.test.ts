import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { FakeForge, type ForgeKind } from '../support/forge/fakeForge.ts'
import { readPublished } from '../support/forge/published.ts'
import { startReceiver } from '../support/receivers/webhookReceiver.ts'

/** The branch under review. */
const branch = 'work'
const folder = mkdtempSync(join(tmpdir(), 'board-forges-'))
let forge: FakeForge | undefined
let round = 0
const start = (kind: ForgeKind) =>
  beforeEach(async () => {
    await forge?.close()
    forge = await FakeForge.start({ kind, folder: join(folder, `${++round}`) })
  })
afterAll(async () => {
  await forge?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const { kind } = forge!.options
  const known: Record<string, string> =
    kind === 'gitlab' ? { 'private-token': forge!.token } : { authorization: `token ${forge!.token}` }
  const response = await fetch(`${forge!.apiUrl}${path}`, {
    method,
    headers: { ...known, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const said = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(said) : said) as any }
}
/** Paths, the names of their records in the description, and where in the response they are. */
type Described = [path: string, name: string, records?: (body: any) => unknown[]]
async function expectDescribed(differences: (name: string, value: unknown) => string[], described: Described[]) {
  for (const [path, name, records = (body: unknown) => [body].flat()] of described) {
    const answer = await ask('GET', path)
    expect([path, answer.status, records(answer.body).length > 0]).toEqual([path, 200, true])
    expect([path, ...records(answer.body).flatMap(each => differences(name, each))]).toEqual([path])
  }
}

describe('GitLab', () => {
  start('gitlab')
  const project = '/projects/acme%2Fsite'
  const differences = readPublished('gitlab')
  const openPull = (more: object = {}) => {
    forge!.push('work', { 'a.txt': 'one\ntwo\n' })
    return ask('POST', `${project}/merge_requests`, {
      title: 'Work',
      source_branch: 'work',
      target_branch: 'main',
      ...more,
    })
  }

  test('responses match the documentation of its API', async () => {
    forge!.openIssue({ title: 'Broken', labels: ['board'] })
    const { body: pull } = await openPull({ labels: 'board', reviewer_ids: [forge!.state.account('ann').id] })
    const at = `${project}/merge_requests/${pull.iid as number}`
    expect(pull.reviewers).toMatchObject([{ username: 'ann' }])
    const check = forge!.setCheck(pull.sha, 'build', 'failure', 'log\n')
    forge!.setCheck(pull.sha, 'deploy', 'success', undefined, { kind: 'status' })
    forge!.review(pull.iid, 'bob', 'changes_requested', [{ path: 'a.txt', line: 2, body: 'Why?' }], 'No')
    forge!.approve(pull.iid, 'ann')
    forge!.comment(1, 'On it', { on: 'issue' })
    await expectDescribed(differences, [
      ['/users?username=ann', 'SimpleUser'],
      [`${project}/merge_requests?source_branch=work`, 'MergeRequest'],
      [at, 'ExpandedMergeRequest'],
      [`${at}/notes`, 'MergeRequestNote'],
      [`${at}/discussions`, 'Discussion'],
      [`${at}/approvals`, 'Approvals'],
      [`${at}/reviewers`, 'Reviewer'],
      [`${at}/pipelines`, 'Pipeline'],
      [`${project}/pipelines/${check.runId}/jobs`, 'Job'],
      [`${project}/repository/commits/${pull.sha as string}/statuses`, 'CommitStatus'],
      [`${project}/issues?labels=board`, 'Issue'],
      [`${project}/issues/1/notes`, 'Note'],
      [`${project}/labels`, 'Label'],
    ])
    expect((await ask('GET', `${project}/jobs/${check.id}/trace`)).body).toBe('log\n')
    const [thread] = (await ask('GET', `${at}/discussions`)).body.filter((each: any) => !each.individual_note)
    const reply = await ask('POST', `${at}/discussions/${thread.id as string}/notes`, { body: 'Because.' })
    expect([reply.status, differences('MergeRequestNote', reply.body)]).toEqual([201, []])
  })

  test('merges only permitted requests, at the head that was read', async () => {
    const { body: pull } = await openPull({ title: 'Draft: Work' })
    const at = `${project}/merge_requests/${pull.iid as number}`
    expect(pull).toMatchObject({ draft: true, detailed_merge_status: 'draft_status' })
    expect((await ask('PUT', `${at}/merge`, {})).status).toBe(405)
    forge!.markReady(pull.iid)
    expect((await ask('GET', at)).body).toMatchObject({ title: 'Work', detailed_merge_status: 'mergeable' })
    forge!.push('work', { b: 'b' })
    expect((await ask('PUT', `${at}/merge`, { sha: pull.sha })).status).toBe(409)
    forge!.push('main', { 'a.txt': 'other\n' })
    expect((await ask('GET', at)).body).toMatchObject({ detailed_merge_status: 'conflict', has_conflicts: true })
    expect((await ask('PUT', `${at}/merge`, {})).status).toBe(422)
    forge!.forcePush('work', { c: 'c' })
    const merged = await ask('PUT', `${at}/merge`, { sha: forge!.repository.tip('work'), squash: true })
    expect(merged.body).toMatchObject({ state: 'merged', squash_commit_sha: forge!.repository.tip('main') })
    expect((await openPull()).status).toBe(201)
    expect(await openPull()).toMatchObject({
      status: 409,
      body: { message: ['Another open merge request already exists for this source branch: !2'] },
    })
  })

  test('limits, pages and webhooks match the documentation', async () => {
    for (let count = 0; count < 3; count++) forge!.openIssue({ title: `Issue ${count}` })
    const first = await ask('GET', `${project}/issues?per_page=2&order_by=created_at&sort=asc`)
    expect(first.body.map(({ iid }: any) => iid)).toEqual([1, 2])
    expect(['x-total', 'x-next-page', 'x-page'].map(name => first.headers.get(name))).toEqual(['3', '2', '1'])
    expect(first.headers.get('link')).toContain('rel="next"')
    const again = await ask('GET', `${project}/issues?per_page=2&order_by=created_at&sort=asc`, undefined, {
      'if-none-match': first.headers.get('etag')!,
    })
    expect(again.status).toBe(304)
    forge!.fail({ limit: { kind: 'primary', seconds: 9 } })
    const limited = await ask('GET', '/user')
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '9'])
    expect((await ask('GET', '/user', undefined, { 'private-token': 'wrong' })).body).toEqual({
      message: '401 Unauthorized',
    })
    const receiver = await startReceiver()
    forge!.webhookTo(receiver.url, 'secret')
    await openPull()
    await forge!.delivered()
    expect(receiver.received.map(({ headers }) => [headers['x-gitlab-event'], headers['x-gitlab-token']])).toEqual([
      ['Push Hook', 'secret'],
      ['Merge Request Hook', 'secret'],
    ])
    await receiver.close()
  })
})

describe('Gitea', () => {
  start('gitea')
  const repo = '/repos/acme/site'
  const differences = readPublished('gitea')
  const openPull = (more: object = {}) => {
    forge!.push('work', { 'a.txt': 'one\ntwo\n' })
    return ask('POST', `${repo}/pulls`, { title: 'Work', head: 'work', base: 'main', ...more })
  }

  test('responses match the description of its API', async () => {
    forge!.openIssue({ title: 'Broken', labels: ['board'] })
    const { body: pull } = await openPull()
    const at = `${repo}/pulls/${pull.number as number}`
    const check = forge!.setCheck(pull.head.sha, 'build', 'failure', 'log\n')
    forge!.setCheck(pull.head.sha, 'deploy', 'success', undefined, { kind: 'status' })
    const review = forge!.review(
      pull.number,
      'ann',
      'changes_requested',
      [{ path: 'a.txt', line: 2, body: 'Why?' }],
      'No',
    )
    forge!.comment(pull.number, 'Hello')
    expect((await ask('POST', `${at}/requested_reviewers`, { reviewers: ['bob'] })).status).toBe(201)
    await expectDescribed(differences, [
      ['/user', 'User'],
      [repo, 'Repository'],
      [`${repo}/pulls?state=all`, 'PullRequest'],
      [at, 'PullRequest'],
      [`${repo}/pulls/main/work`, 'PullRequest'],
      [`${at}/files`, 'ChangedFile'],
      [`${at}/reviews`, 'PullReview'],
      [`${at}/reviews/${review.id}/comments`, 'PullReviewComment'],
      [`${repo}/commits/${pull.head.sha as string}/statuses`, 'CommitStatus'],
      [`${repo}/commits/${branch}/status`, 'CombinedStatus'],
      [`${repo}/issues?state=all`, 'Issue'],
      [`${repo}/issues/${pull.number as number}/comments`, 'Comment'],
      [`${repo}/branches/main`, 'Branch'],
      [`${repo}/labels`, 'Label'],
      [`${repo}/actions/runs?head_sha=${pull.head.sha as string}`, 'ActionWorkflowRun', body => body.workflow_runs],
      [`${repo}/actions/runs/${check.runId}/jobs`, 'ActionWorkflowJob', body => body.jobs],
    ])
    expect((await ask('GET', `${repo}/actions/jobs/${check.id}/logs`)).body).toBe('log\n')
    const answered = await ask('POST', `${at}/reviews`, {
      event: 'COMMENT',
      comments: [{ path: 'a.txt', new_position: 2, body: 'Because.' }],
    })
    expect([answered.status, differences('PullReview', answered.body)]).toEqual([200, []])
    expect(forge!.state.lineComments.at(-1)).toMatchObject({
      body: 'Because.',
      inReplyTo: forge!.state.lineComments[0]!.id,
    })
  })

  test('merges only permitted requests, at the head that was read', async () => {
    const { body: pull } = await openPull({ title: 'WIP: Work' })
    const at = `${repo}/pulls/${pull.number as number}`
    expect(pull.draft).toBe(true)
    expect((await ask('POST', `${at}/merge`, { Do: 'merge' })).status).toBe(405)
    expect((await ask('PATCH', at, { title: 'Work' })).body).toMatchObject({ draft: false, mergeable: true })
    forge!.protect({ approvals: 1 })
    expect((await ask('POST', `${at}/merge`, { Do: 'merge' })).body.message).toBe('Does not have enough approvals')
    forge!.approve(pull.number)
    expect((await ask('POST', `${at}/merge`, { Do: 'merge', head_commit_id: '0'.repeat(40) })).status).toBe(409)
    expect((await ask('POST', `${at}/merge`, { Do: 'rebase', head_commit_id: pull.head.sha })).status).toBe(200)
    expect((await ask('GET', at)).body).toMatchObject({
      merged: true,
      state: 'closed',
      merge_commit_sha: forge!.repository.tip('main'),
    })
    expect((await openPull()).status).toBe(201)
    expect((await openPull()).status).toBe(409)
    forge!.deleteBranch('work')
    expect((await ask('GET', `${repo}/pulls/2`)).body.head).toMatchObject({ label: 'work', ref: 'refs/pull/2/head' })
  })

  test('webhooks are signed', async () => {
    const receiver = await startReceiver()
    forge!.webhookTo(receiver.url, 'secret')
    const { body: pull } = await openPull()
    forge!.review(pull.number, 'ann', 'changes_requested')
    await forge!.delivered()
    expect(receiver.received.map(({ headers }) => headers['x-gitea-event'])).toEqual([
      'push',
      'pull_request',
      'pull_request_rejected',
    ])
    for (const { headers, body } of receiver.received)
      expect(headers['x-gitea-signature']).toBe(createHmac('sha256', 'secret').update(body).digest('hex'))
    await receiver.close()
  })
})
