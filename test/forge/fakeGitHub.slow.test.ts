import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { FakeForge } from '../support/forge/fakeForge.ts'
import { readPublished } from '../support/forge/published.ts'
import { startReceiver } from '../support/receivers/webhookReceiver.ts'

/** The branch under review. */
const branch = 'work'
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'board-forge-'))
const differences = readPublished('github')
let forge: FakeForge
let round = 0
beforeEach(async () => {
  await forge?.close()
  forge = await FakeForge.start({ kind: 'github', folder: join(folder, `${++round}`) })
})
afterAll(async () => {
  await forge.close()
  rmSync(folder, { recursive: true, force: true })
})

async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${forge.apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${forge.token}`, 'user-agent': 'test', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const said = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(said) : said) as any }
}
const repo = '/repos/acme/site'
const openPull = (more: object = {}) => {
  forge.push('work', { 'a.txt': 'one\ntwo\n' })
  return ask('POST', `${repo}/pulls`, { title: 'Work', head: 'work', base: 'main', ...more })
}

test("responses match GitHub's description of its API", async () => {
  const issue = forge.openIssue({ title: 'Broken', labels: ['board'] })
  const { body: pull } = await openPull({ body: `Fixes #${issue.number}` })
  const at = `${repo}/pulls/${pull.number as number}`
  forge.setCheck(pull.head.sha, 'build', 'failure', 'line\n')
  forge.setCheck(pull.head.sha, 'deploy', 'success', undefined, { kind: 'status', url: 'https://example.org' })
  forge.review(pull.number, 'ann', 'changes_requested', [{ path: 'a.txt', line: 2, body: 'Why?' }], 'No')
  const comment = forge.state.lineComments[0]!
  forge.comment(pull.number, 'Hello')
  const shapes: [string, string, (body: any) => unknown[]][] = [
    ['/user', 'simple-user', body => [body]],
    [repo, 'full-repository', body => [body]],
    [`${repo}/pulls?head=acme:work&state=all`, 'pull-request-simple', body => body],
    [at, 'pull-request', body => [body]],
    [`${at}/files`, 'diff-entry', body => body],
    [`${at}/reviews`, 'pull-request-review', body => body],
    [`${at}/comments`, 'pull-request-review-comment', body => body],
    [`${at}/requested_reviewers`, 'pull-request-review-request', body => [body]],
    [`${repo}/commits/${branch}/check-runs`, 'check-run', body => body.check_runs],
    [
      `${repo}/commits/${pull.head.sha as string}/status`,
      'combined-commit-status',
      body => [{ ...body, repository: {} }],
    ],
    [`${repo}/commits/${pull.head.sha as string}/statuses`, 'status', body => body],
    [`${repo}/issues?labels=board`, 'issue', body => body],
    [`${repo}/issues?state=all`, 'issue', body => body],
    [`${repo}/issues/${pull.number as number}/comments`, 'issue-comment', body => body],
    [`${repo}/actions/jobs/${forge.state.checks[0]!.id}`, 'job', body => [body]],
    [`${repo}/branches/main`, 'branch-with-protection', body => [body]],
    [`${repo}/labels`, 'label', body => body],
    [`${repo}/contents/a.txt?ref=work`, 'content-file', body => [body]],
  ]
  for (const [path, name, records] of shapes) {
    const answer = await ask('GET', path)
    expect([path, answer.status]).toEqual([path, 200])
    expect([path, records(answer.body).length > 0]).toEqual([path, true])
    expect([path, ...records(answer.body).flatMap(each => differences(name, each))]).toEqual([path])
  }
  const replied = await ask('POST', `${at}/comments/${comment.id}/replies`, { body: 'Because.' })
  expect(replied.body).toMatchObject({ in_reply_to_id: comment.id, path: 'a.txt', line: 2 })
  expect((await ask('POST', `${at}/comments/${replied.body.id as number}/replies`, { body: 'x' })).status).toBe(422)
})

test('a request is merged only at the head that was read, and closes the issues it fixes', async () => {
  const issue = forge.openIssue({ title: 'Broken' })
  const { body: pull } = await openPull({ body: `Fixes #${issue.number}`, draft: true })
  const at = `${repo}/pulls/${pull.number as number}`
  expect((await ask('PUT', `${at}/merge`, {})).status).toBe(405)
  forge.markReady(pull.number)
  forge.protect({ approvals: 1, checks: ['build'] })
  expect((await ask('GET', at)).body).toMatchObject({ mergeable: true, mergeable_state: 'blocked' })
  forge.approve(pull.number)
  expect((await ask('PUT', `${at}/merge`, {})).body.message).toContain('status checks')
  forge.setCheck(pull.head.sha, 'build', 'success')
  forge.push('work', { 'b.txt': 'b\n' })
  expect((await ask('PUT', `${at}/merge`, { sha: pull.head.sha })).status).toBe(409)
  forge.setCheck(forge.repository.tip('work')!, 'build', 'success')
  const merged = await ask('PUT', `${at}/merge`, { sha: forge.repository.tip('work'), merge_method: 'squash' })
  expect(differences('pull-request-merge-result', merged.body)).toEqual([])
  expect(forge.repository.git('rev-list', '--count', 'main')).toBe('2')
  expect(forge.repository.read('main', 'b.txt')).toBe('b')
  expect(issue).toMatchObject({ state: 'closed' })
  expect((await ask('GET', at)).body).toMatchObject({ state: 'closed', merged: true })
})

test('invalid requests are rejected', async () => {
  await openPull()
  const again = await openPull()
  expect(again.status).toBe(422)
  expect(again.body.errors[0].message).toBe('A pull request already exists for acme:work.')
  expect((await openPull({ head: 'nothing' })).body.errors[0]).toMatchObject({ field: 'head', code: 'invalid' })
  expect((await ask('GET', '/user', undefined, { authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await ask('GET', '/repos/acme/other')).status).toBe(404)
  forge.push('main', { 'a.txt': 'other\n' })
  expect((await ask('GET', `${repo}/pulls/1`)).body).toMatchObject({ mergeable: false, mergeable_state: 'dirty' })
})

test('pages, conditional requests and rates match the documentation', async () => {
  for (let count = 0; count < 5; count++) forge.openIssue({ title: `Issue ${count}` })
  const first = await ask('GET', `${repo}/issues?per_page=2`)
  expect(first.body.map(({ title }: any) => title)).toEqual(['Issue 4', 'Issue 3'])
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link')!)![1]!
  expect((await ask('GET', next.slice(forge.apiUrl.length))).body).toHaveLength(2)
  const remaining = (answer: { headers: Headers }) => Number(answer.headers.get('x-ratelimit-remaining'))
  const etag = first.headers.get('etag')!
  const same = await ask('GET', `${repo}/issues?per_page=2`, undefined, { 'if-none-match': etag })
  expect([same.status, same.body, remaining(same)]).toEqual([304, '', remaining(first) - 1])
  forge.openIssue({ title: 'New' })
  expect((await ask('GET', `${repo}/issues?per_page=2`, undefined, { 'if-none-match': etag })).status).toBe(200)
})

test('a log has a separate address, and needs no token', async () => {
  const { body: pull } = await openPull()
  const check = forge.setCheck(pull.head.sha, 'build', 'failure', 'made\n##[error]broken\n')
  const log = await fetch(`${forge.apiUrl}${repo}/actions/jobs/${check.id}/logs`, {
    headers: { authorization: `Bearer ${forge.token}`, 'user-agent': 'test' },
  })
  expect(await log.text()).toBe('made\n##[error]broken\n')
  expect(new URL(log.url).origin).not.toBe(forge.url)
  forge.setCheck(pull.head.sha, 'build', 'queued')
  const runs = await ask('GET', `${repo}/commits/${branch}/check-runs`)
  expect(runs.body).toMatchObject({ total_count: 1, check_runs: [{ status: 'queued', conclusion: null }] })
})

test('produces faults on request', async () => {
  forge.fail({ times: 2, status: 502, body: '<html>Bad gateway</html>' })
  expect([
    (await ask('GET', '/user')).status,
    (await ask('GET', '/user')).status,
    (await ask('GET', '/user')).status,
  ]).toEqual([502, 502, 200])
  forge.fail({ limit: { kind: 'secondary', seconds: 7 } })
  const limited = await ask('GET', '/user')
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([403, '7'])
  forge.fail({ limit: { kind: 'primary', seconds: 60 } })
  expect((await ask('GET', '/user')).headers.get('x-ratelimit-remaining')).toBe('0')
  forge.fail({ match: /^GET .*\/user$/, cutOff: true })
  await expect(ask('GET', '/user')).rejects.toThrow()
  forge.push('work', { a: 'a' })
  forge.fail({ match: /^POST /, loseAnswer: true })
  await expect(ask('POST', `${repo}/pulls`, { title: 'T', head: 'work', base: 'main' })).rejects.toThrow()
  expect(forge.pull()).toMatchObject({ title: 'T', state: 'open' })
})

test('Git reaches it with a token, and its requests follow pushes', async () => {
  const clone = join(folder, `clone-${round}`)
  const credentials = Buffer.from(`x-access-token:${forge.token}`).toString('base64')
  // Must not be synchronous, because the forge answers in this process.
  const git = async (...args: string[]) =>
    (await run('git', ['-c', `http.extraHeader=Authorization: Basic ${credentials}`, ...args])).stdout.trim()
  const commit = (message: string) =>
    git(
      '-C',
      clone,
      '-c',
      'user.name=T',
      '-c',
      'user.email=t@example.org',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      message,
    )
  await git('clone', '-q', forge.cloneUrl, clone)
  await git('-C', clone, 'checkout', '-q', '-b', 'work')
  await commit('One')
  await git('-C', clone, 'push', '-q', 'origin', 'work')
  const pull = forge.openPull({ head: 'work' })
  await commit('Two')
  await git('-C', clone, 'push', '-q', 'origin', 'work')
  expect(pull.headSha).toBe(await git('-C', clone, 'rev-parse', 'HEAD'))
  await expect(
    run('git', ['ls-remote', forge.cloneUrl], { env: { ...process.env, GIT_TERMINAL_PROMPT: '0' } }),
  ).rejects.toThrow(/could not read Username/)
})

test('webhooks are signed, and can be duplicated, late, out of order and forged', async () => {
  const receiver = await startReceiver()
  forge.webhookTo(`${receiver.url}/hook`, 'secret', { hold: true })
  await openPull()
  forge.push('work', { 'c.txt': 'c\n' })
  const events = forge.held.map(({ event }) => event)
  expect(events).toEqual(['push', 'pull_request', 'push', 'pull_request'])
  expect(await forge.deliver(forge.held.splice(0).reverse(), { times: 2 })).toEqual(Array(8).fill(204))
  expect(receiver.received.map(({ message }) => (message as any).action)).toEqual([
    'synchronize',
    'synchronize',
    undefined,
    undefined,
    'opened',
    'opened',
    undefined,
    undefined,
  ])
  const signed = ({ headers, body }: { headers: Record<string, string>; body: string }) =>
    headers['x-hub-signature-256'] === `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`
  expect(receiver.received.every(signed)).toBe(true)
  await forge.deliver(forge.deliveries.slice(-1), { body: '{"action":"closed"}' })
  await forge.deliver(forge.deliveries.slice(-1), { secret: '' })
  expect(receiver.received.slice(-2).map(each => [signed(each), 'x-hub-signature-256' in each.headers])).toEqual([
    [false, true],
    [false, false],
  ])
  await receiver.close()
})

test('manual changes are visible', async () => {
  const { body: pull } = await openPull()
  forge.forcePush('work')
  expect((await ask('GET', `${repo}/pulls/${pull.number as number}`)).body.head.sha).not.toBe(pull.head.sha)
  forge.squashByHand(pull.number)
  expect((await ask('GET', `${repo}/pulls/${pull.number as number}`)).body).toMatchObject({
    merged: true,
    merged_by: { login: 'ann' },
  })
  forge.push('other', { x: 'x' })
  const second = forge.openPull({ head: 'other' })
  forge.deleteBranch('other')
  expect((await ask('GET', `${repo}/pulls/${second.number}`)).body).toMatchObject({ state: 'closed', merged: false })
})
