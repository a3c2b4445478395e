import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createCommandForge } from '../../src/forge/commandForge.ts'
import { ForgeFailed } from '../../src/forge/forge.ts'
import { createProcessTrees, type ProcessTrees } from '../../src/process/spawn.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { openStore } from '../support/processes/trees.ts'
import { eventually } from '../support/waiting/eventually.ts'

let store: Awaited<ReturnType<typeof openStore>>
let processTrees: ProcessTrees
beforeAll(async () => {
  store = await openStore()
  processTrees = createProcessTrees(store.db)
})
afterAll(() => store.close())

const commit = 'a'.repeat(40)
const pull = {
  number: 7,
  url: 'https://forge.example.org/7',
  title: 'Work',
  body: 'It closes #3.',
  state: 'open',
  base: 'main',
  branch: 'board/1-work',
  headCommit: commit,
  updatedAt: '2026-11-23T12:00:00+01:00',
}
const comment = { id: 'c1', author: 'ann', body: 'Why?\u0007', createdAt: pull.updatedAt, updatedAt: pull.updatedAt }
const issue = { ...pull, number: 3, body: undefined, title: 'Broken', labels: ['board'], author: 'ann' }

const forge = (command: string, timeLimitMs?: number) =>
  createCommandForge({
    command,
    projectId: 5,
    path: store.folder,
    processTrees,
    timeLimitMs,
  })
/** A program that records its requests, and gives this response to each. */
const answering = (answer: unknown) => {
  writeFileSync(join(store.folder, 'answer.json'), typeof answer === 'string' ? answer : JSON.stringify(answer))
  return forge('cat > asked.json; cat answer.json')
}
const asked = () => JSON.parse(readFileSync(join(store.folder, 'asked.json'), 'utf8')) as object
const failure = (work: Promise<unknown>): Promise<ForgeFailed> =>
  work.then(
    () => expect.unreachable('It did not fail.'),
    (error: unknown) => (expect(error).toBeInstanceOf(ForgeFailed), error as ForgeFailed),
  )

it('calls a program in the project for all operations', async () => {
  const full = {
    draft: false,
    reviewers: [],
    labels: [],
    mergeable: null,
    ready: null,
    mergeCommit: null,
    updatedAt: '2026-11-23T11:00:00.000Z',
  }
  expect(await answering({ account: 'bot' }).account()).toBe('bot')
  expect(asked()).toEqual({ action: 'account' })
  const repository = { defaultBranch: 'main', url: 'https://forge.example.org/acme' }
  expect(await answering(repository).repository()).toEqual({ ...repository, mergeMethods: ['merge'] })
  expect(await answering(pull).findPull('board/1-work')).toEqual({ ...pull, ...full })
  expect(asked()).toEqual({ action: 'find', branch: 'board/1-work' })
  expect(await answering('null').findPull('other')).toBeUndefined()
  const wanted = { branch: 'b', base: 'main', title: 'T', body: 'B', draft: true, reviewers: ['ann'], labels: ['l'] }
  expect(await answering({ ...pull, notTaken: ['no label l'] }).createPull(wanted)).toEqual({
    pull: { ...pull, ...full },
    notTaken: ['no label l'],
  })
  expect(asked()).toEqual({ action: 'create', ...wanted })
  expect(await answering({ ...pull, ready: true }).readPull(7)).toMatchObject({ ready: true })
  expect(asked()).toEqual({ action: 'read', number: 7 })
  const change = { draft: false, addReviewers: ['bob'], removeLabels: ['l'] }
  const changed = { ...pull, reviewers: ['bob'], notTaken: ['no label l'] }
  expect(await answering(changed).updatePull(7, change)).toEqual({
    pull: { ...pull, ...full, reviewers: ['bob'] },
    notTaken: ['no label l'],
  })
  expect(asked()).toEqual({ action: 'update', number: 7, ...change })
  await answering({}).closePull(7)
  expect(asked()).toEqual({ action: 'close', number: 7 })
  const merge = { method: 'squash', headCommit: commit, title: 'T' } as const
  expect(await answering({ commit }).mergePull(7, merge)).toBe(commit)
  expect(asked()).toEqual({ action: 'merge', number: 7, ...merge })
  const check = { id: '1', name: 'build', state: 'failure', url: 'javascript:alert(1)' } as const
  expect(await answering({ checks: [check] }).listChecks({ number: 7, headCommit: commit })).toEqual([
    { ...check, url: null },
  ])
  expect(await answering({ log: 'fine\nerror: no\n' }).readCheckLog(check, 1000)).toBe('fine\nerror: no')
  expect(asked()).toEqual({ action: 'log', check })
  const review = { id: 'r', author: 'ann', state: 'approved', submittedAt: pull.updatedAt }
  expect(await answering({ reviews: [review] }).listReviews(7)).toMatchObject([{ id: 'r', body: '', commit: null }])
  expect(await answering({ comments: [{ ...comment, path: 'a.ts', line: 3 }] }).listPullComments(7)).toMatchObject([
    { body: 'Why?', path: 'a.ts', line: 3, resolved: false },
  ])
  await answering(comment).commentOnPull(7, 'So.', 'c1')
  expect(asked()).toEqual({ action: 'comment', number: 7, body: 'So.', to: 'c1' })
  expect(await answering({ issues: [issue] }).listIssues({ label: 'board' })).toMatchObject([{ number: 3, body: '' }])
  expect(asked()).toEqual({ action: 'issues', label: 'board' })
  expect(await answering(issue).readIssue(3)).toMatchObject({ title: 'Broken' })
  await answering({}).closeIssue(3)
  expect(asked()).toEqual({ action: 'closeIssue', number: 3 })
  await answering({}).reopenIssue(3)
  expect(asked()).toEqual({ action: 'reopenIssue', number: 3 })
  expect(await answering({ comments: [] }).listIssueComments(3, 'x')).toEqual([])
  expect(asked()).toEqual({ action: 'issueComments', number: 3, since: 'x' })
  await answering(comment).commentOnIssue(3, 'Hi')
  expect(asked()).toEqual({ action: 'commentIssue', number: 3, body: 'Hi' })
})

it('continues without features that the program does not support, for reads only', async () => {
  const none = answering({ unsupported: true })
  expect(await none.listReviews(7)).toEqual([])
  expect(await none.listPullComments(7)).toEqual([])
  expect(await none.listChecks({ number: 7, headCommit: commit })).toEqual([])
  expect(await none.readCheckLog({ id: '1', name: 'x', state: 'failure', url: null }, 100)).toBeUndefined()
  expect(await none.account()).toBe('')
  expect(await failure(none.mergePull(7, { method: 'merge', headCommit: commit }))).toMatchObject({
    reason: 'invalid',
    message: 'The forge\'s command does not support "merge".',
  })
})

it('uses the reasons that the program returns', async () => {
  for (const reason of ['unreachable', 'refused', 'missing', 'invalid', 'conflict'] as const)
    expect(await failure(answering({ error: { reason, message: 'No\u001b!' } }).readPull(7))).toMatchObject({
      reason,
      message: "The forge's command reported: No!",
    })
  const limited = { error: { reason: 'limited', message: 'Later', retryAt: '2030-01-01T00:00:00Z' } }
  expect((await failure(answering(limited).readPull(7))).retryAt).toBe(Date.parse('2030-01-01T00:00:00Z'))
})

it('rejects invalid responses', async () => {
  const cases: [unknown, string][] = [
    ['hello', 'it is not JSON'],
    ['', 'it is not JSON'],
    [[], 'number'],
    [{ ...pull, url: 'javascript:alert(1)' }, 'url: must be an http or https address'],
    [{ ...pull, headCommit: '--upload-pack=x' }, 'headCommit'],
    [{ ...pull, state: 'gone' }, 'state'],
    [`"${'x'.repeat(5 * 1024 * 1024)}"`, 'it is too long'],
  ]
  for (const [answer, why] of cases) {
    const failed = await failure(answering(answer).readPull(7))
    expect(failed).toMatchObject({ reason: 'odd', message: expect.stringContaining(why) })
  }
})

it("reports the program's error output, and ends it with its child processes on timeout", async () => {
  expect(await failure(forge('echo one >&2; echo "no such host" >&2; exit 3').readPull(7))).toMatchObject({
    reason: 'unreachable',
    message: "The forge's command ended with code 3: no such host",
  })
  const tag = `board-forge-${process.pid}`
  const late = await failure(forge(`sh -c 'while :; do sleep 0.2; done' ${tag} & sleep 1000`, 300).readPull(7))
  expect(late).toMatchObject({ reason: 'unreachable', message: expect.stringContaining('in time') })
  await eventually('the end of its processes', () => processesWith(tag).length === 0)
  // A process that remains in the background does not delay the response.
  writeFileSync(join(store.folder, 'answer.json'), JSON.stringify(pull))
  await forge(`sh -c 'while :; do sleep 0.2; done' ${tag} & cat answer.json`).readPull(7)
  await eventually('the end of its processes', () => processesWith(tag).length === 0)
})

it('has only the number of the project from the server in its environment', async () => {
  process.env.BOARD_SECRET_OF_A_TEST = 'x'
  await forge('env > environment; echo null').findPull('x')
  delete process.env.BOARD_SECRET_OF_A_TEST
  const environment = readFileSync(join(store.folder, 'environment'), 'utf8')
  const names = environment.split('\n').map(line => line.split('=')[0]!)
  expect(names.filter(name => name.startsWith('BOARD_')).sort()).toEqual(['BOARD_PROJECT_ID', 'BOARD_RUN_ID'])
})
