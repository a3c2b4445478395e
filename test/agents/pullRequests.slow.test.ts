import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { FakeForge } from '../support/forge/fakeForge.ts'

let board: AgentBoard
let forge: FakeForge
let round = 0
beforeAll(async () => {
  const work = 'date +%N > mine; echo "I put the roof on."'
  board = await startAgentBoard(
    {
      writes: { protocol: 'command', command: ['sh', '-c', work] },
      lasting: { protocol: 'command', command: ['sleep', '600'] },
    },
    { publicUrl: 'https://board.example.org/' },
  )
})
afterAll(async () => {
  await forge.close()
  await board.close()
})
beforeEach(async () => {
  await forge?.close()
  git('reset', '-q', '--hard', git('rev-list', '--max-parents=0', 'HEAD'))
  forge = await FakeForge.start({ kind: 'github', folder: board.folder(`forge-${++round}`), from: board.path })
  git('config', 'remote.origin.url', forge.cloneUrl)
  git('config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*')
  const { id } = await board.client.credentials.create({
    name: `Forge ${round}`,
    provider: 'github',
    apiKey: forge.token,
    baseUrl: forge.url,
  })
  await board.client.projects.update({ id: board.projectId, forge: { credentialId: id, base: null } })
})

const git = (...args: string[]) =>
  execFileSync('git', ['-C', board.path, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    encoding: 'utf8',
  }).trim()
function commit(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(board.path, name)), { recursive: true })
    writeFileSync(join(board.path, name), text)
  }
  git('add', '.')
  git('commit', '-q', '-m', 'Change')
}
const worked = async (input: Parameters<AgentBoard['start']>[1] = {}) =>
  board.untilStatus((await board.start('writes', { title: 'Roof', ...input })).id, 'completed')
const place = ({ id }: Card) => ({ projectId: board.projectId, cardId: id })
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: 'done' }),
    ({ code, message }: { code: string; message: string }) => ({ code, message }),
  )
const created = async (card: Card, more: Partial<Parameters<AgentBoard['client']['pullRequests']['create']>[0]> = {}) =>
  board.client.pullRequests.create({ ...place(card), ...more })
const get = (card: Card) => board.client.pullRequests.get(place(card))
const actions = async (card: Card) =>
  (await board.client.activity.list(place(card))).items
    .filter(({ action }) => action.startsWith('pull_request.'))
    .map(({ action, changes, actor }) => [action, changes[0]?.to, actor.kind])
    .reverse()

describe('a pull request', () => {
  test("is opened with the agent's last message, and the card and the request link to each other", async () => {
    commit({ '.github/PULL_REQUEST_TEMPLATE.md': '## Why\n' })
    const card = await worked()
    const link = `Created from [card ${card.id}](https://board.example.org/#/projects/${board.projectId}/cards/${card.id}) of the board.`
    const body = `I put the roof on.\n\n## Why\n\n${link}`
    expect(await board.client.pullRequests.draft(place(card))).toEqual({
      title: 'Roof',
      body,
      base: 'main',
      branch: card.gitBranch,
      reviewers: [],
      labels: [],
      exists: false,
    })
    expect(await created(card)).toMatchObject({ number: 1, state: 'open', draft: false, base: 'main', notTaken: [] })
    const made = forge.pull()
    expect([made.title, made.body, made.head]).toEqual(['Roof', body, card.gitBranch])
    const { headCommit, url } = await get(card)
    expect(headCommit).toBe(made.headSha)
    expect((await board.card(card.id)).pullRequest).toEqual({
      number: 1,
      url,
      state: 'open',
      draft: false,
      checks: null,
      review: null,
    })
    expect(await actions(card)).toEqual([['pull_request.opened', '#1', 'user']])
    const { data } = await board.socket.message('pull_request.updated', each => each.data.number === 1)
    expect(data).toMatchObject({ cardId: card.id, state: 'open' })
    expect(await failure(created(card))).toMatchObject({ code: 'PULL_REQUEST_EXISTS' })
    expect((await board.client.pullRequests.draft(place(card))).exists).toBe(true)
  })

  test('uses the given title, body and base instead of the defaults', async () => {
    forge.repository.write('next', { next: 'next\n' }, 'Next')
    const card = await worked()
    const pull = await created(card, {
      title: 'Another',
      body: 'Mine.',
      base: 'next',
      draft: true,
      reviewers: ['ann'],
      labels: ['roof'],
      mergeMethod: 'squash',
    })
    expect(pull).toMatchObject({ draft: true, base: 'next', mergeMethod: 'squash', title: 'Another' })
    expect(forge.pull()).toMatchObject({ draft: true, base: 'next', reviewers: ['ann'], labels: ['roof'] })
    expect(forge.pull().body).toMatch(/^Mine\.\n\nCreated from \[card/)
    const changed = { title: 'Better', body: 'More.', draft: false, autoMerge: true }
    expect(await board.client.pullRequests.update({ ...place(card), ...changed })).toMatchObject({
      title: 'Better',
      draft: false,
      autoMerge: true,
    })
    expect(forge.pull().title).toBe('Better')
    expect(forge.pull().body).toMatch(/^More\.\n\nCreated from \[card/)
  })

  test('does not follow a link as a template, and removes control characters from one', async () => {
    commit({ '.github/note': 'x' })
    symlinkSync('/etc/passwd', join(board.path, 'pull_request_template.md'))
    commit({ 'docs/pull_request_template.md': 'One\u001b[31m\u202e two\u0007\r\nthree' })
    const card = await worked()
    const { body } = await board.client.pullRequests.draft(place(card))
    expect(body).toMatch(/^I put the roof on\.\n\nOne\[31m two\nthree\n\nCreated from/)
  })

  test('is never created twice, even if responses are lost', async () => {
    const card = await worked()
    forge.fail({ match: /^POST .*\/pulls$/, loseAnswer: true })
    // The forge created the pull request, and the response was lost.
    expect(await created(card)).toMatchObject({ number: 1, state: 'open' })
    const other = await worked()
    forge.fail({ match: /^POST .*\/pulls$/, status: 502 })
    expect(await failure(created(other))).toMatchObject({ code: 'FORGE_UNAVAILABLE' })
    expect(await get(other)).toMatchObject({ state: 'creating', number: null })
    expect(await failure(board.client.pullRequests.merge(place(other)))).toMatchObject({ code: 'CONFLICT' })
    expect(await created(other, { title: 'Again' })).toMatchObject({ number: 2, title: 'Again' })
    expect(forge.state.pulls).toHaveLength(2)
    const third = await worked()
    const both = await Promise.all([failure(created(third)), failure(created(third))])
    expect(both.map(({ code }) => code).sort()).toEqual(['PULL_REQUEST_EXISTS', 'done'])
    expect(forge.state.pulls).toHaveLength(3)
  })

  test('leaves no request on the card if the forge rejects it', async () => {
    const card = await worked()
    expect(await failure(created(card, { base: 'gone' }))).toMatchObject({ code: 'FORGE_REFUSED' })
    expect((await board.card(card.id)).pullRequest).toBeNull()
    expect(await failure(get(card))).toMatchObject({ code: 'PULL_REQUEST_NOT_FOUND' })
  })

  test('that a person has opened is adopted unchanged', async () => {
    const card = await worked()
    await board.client.branches.push(place(card))
    forge.openPull({ head: card.gitBranch!, title: 'By hand' })
    expect(await created(card)).toMatchObject({ number: 1, title: 'By hand' })
    expect(forge.state.pulls).toHaveLength(1)
  })
})

describe('an open pull request', () => {
  const update = (card: Card, change: object) => board.client.pullRequests.update({ ...place(card), ...change })

  test('changes reviewers and labels, and reports those that the forge rejects', async () => {
    const card = await worked()
    await created(card, { reviewers: ['ann'], labels: ['roof'] })
    const change = {
      title: 'Better',
      addReviewers: ['bob'],
      removeReviewers: ['ann'],
      addLabels: ['wall'],
      removeLabels: ['roof'],
    }
    expect(await update(card, change)).toMatchObject({ title: 'Better', notTaken: [] })
    expect(forge.pull()).toMatchObject({ title: 'Better', reviewers: ['bob'], labels: ['wall'] })
    expect(await board.client.pullRequests.draft(place(card))).toMatchObject({ reviewers: ['bob'], labels: ['wall'] })
    const { notTaken } = await update(card, { addReviewers: ['nobody'], addLabels: ['window'] })
    expect(notTaken).toEqual([expect.stringContaining('is not a collaborator')])
    expect(forge.pull()).toMatchObject({ reviewers: ['bob'], labels: ['wall', 'window'] })
  })

  test.each([
    [
      { addReviewers: ['ann'], removeReviewers: ['ann'] },
      'removeReviewers must not contain ann, which is also in the list to add',
    ],
    [
      { addLabels: ['a', 'b'], removeLabels: ['b'] },
      'removeLabels must not contain b, which is also in the list to add',
    ],
    [{ addReviewers: ['an n'] }, 'addReviewers.0 must be a name on the forge'],
    [{ removeLabels: [''] }, 'removeLabels.0 must not be empty'],
    [{ addReviewers: Array.from({ length: 16 }, (_, at) => `a${at}`) }, 'addReviewers must have at most 15 names'],
  ])('reports %j correctly', async (change, message) => {
    const card = await worked()
    await created(card, { reviewers: ['ann'] })
    expect(await failure(update(card, change))).toEqual({ code: 'VALIDATION_FAILED', message })
    expect(forge.pull()).toMatchObject({ reviewers: ['ann'], labels: [] })
  })
})

describe('a merge', () => {
  test('waits for checks and reviews, and names them', async () => {
    const card = await worked()
    const { headCommit } = await created(card)
    forge.setCheck(headCommit!, 'build', 'running')
    forge.setCheck(headCommit!, 'lint', 'failure')
    forge.review(1, 'ann', 'changes_requested', [], 'No')
    expect(await failure(board.client.pullRequests.merge(place(card)))).toEqual({
      code: 'PULL_REQUEST_NOT_READY',
      message:
        '#1 is not ready: these checks failed: lint; these checks have not finished: build; changes were requested by ann.',
    })
    expect((await board.card(card.id)).pullRequest).toMatchObject({ checks: 'failure', review: 'changes_requested' })
    const seen = await get(card)
    expect(seen.checks.map(({ name, state }) => [name, state]).sort()).toEqual([
      ['build', 'pending'],
      ['lint', 'failure'],
    ])
    expect(seen.reviews).toMatchObject([{ author: 'ann', state: 'changes_requested' }])
    forge.setCheck(headCommit!, 'build', 'success')
    forge.setCheck(headCommit!, 'lint', 'success')
    forge.approve(1)
    const merged = await board.client.pullRequests.merge({ ...place(card), method: 'squash' })
    expect(merged).toMatchObject({ state: 'merged', mergeCommit: forge.pull(1).mergeCommit })
    expect((await board.card(card.id)).pullRequest).toMatchObject({ state: 'merged', checks: 'success' })
    expect(await actions(card)).toEqual([
      ['pull_request.opened', '#1', 'user'],
      ['pull_request.merged', '#1', 'user'],
    ])
    expect(await failure(board.client.pullRequests.merge(place(card)))).toMatchObject({ code: 'CONFLICT' })
  })

  test('is rejected at a commit that the user has not seen', async () => {
    const card = await worked()
    await created(card)
    forge.push(card.gitBranch!, { theirs: 'theirs\n' })
    expect(await failure(board.client.pullRequests.merge(place(card)))).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('New commits were pushed to #1') as string,
    })
    expect(forge.pull().state).toBe('open')
    expect(await board.client.pullRequests.merge(place(card))).toMatchObject({ state: 'merged' })
  })

  test('succeeds without checks by force, and automatically once the forge allows it', async () => {
    const card = await worked()
    const { headCommit } = await created(card)
    forge.setCheck(headCommit!, 'build', 'failure')
    expect(await board.client.pullRequests.merge({ ...place(card), auto: true, method: 'squash' })).toMatchObject({
      state: 'open',
      autoMerge: true,
      mergeMethod: 'squash',
    })
    expect(await board.client.pullRequests.merge({ ...place(card), force: true })).toMatchObject({ state: 'merged' })
  })

  test('without a response from the forge is detected', async () => {
    const card = await worked()
    await created(card)
    forge.fail({ match: /^PUT .*\/merge$/, loseAnswer: true })
    expect(await board.client.pullRequests.merge(place(card))).toMatchObject({ state: 'merged' })
  })
})

test('closing leaves the branch, and another pull request can follow', async () => {
  const card = await worked()
  await created(card)
  await board.client.pullRequests.close(place(card))
  expect(await get(card)).toMatchObject({ state: 'closed', number: 1 })
  expect(forge.repository.tip(card.gitBranch!)).toBeDefined()
  expect(await board.client.pullRequests.list({ projectId: board.projectId })).not.toContainEqual(
    expect.objectContaining({ cardId: card.id }),
  )
  expect(await created(card)).toMatchObject({ number: 2, state: 'open' })
  const [newest] = await board.client.pullRequests.list({ projectId: board.projectId })
  expect(newest).toMatchObject({ cardId: card.id, number: 2, cardTitle: 'Roof' })
  expect(await actions(card)).toMatchObject([
    ['pull_request.opened', '#1', 'user'],
    ['pull_request.closed', '#1', 'user'],
    ['pull_request.opened', '#2', 'user'],
  ])
})

test("is opened and merged by the project's command, if it has one", async () => {
  const card = await worked()
  const program = join(board.folder('command'), 'forge.mjs')
  writeFileSync(
    program,
    `import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
const file = process.argv[2]
const { action, ...asked } = JSON.parse(readFileSync(0, 'utf8'))
const pull = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
const say = answer => console.log(JSON.stringify(answer))
const keep = changed => (writeFileSync(file, JSON.stringify(changed)), changed)
const time = new Date().toISOString()
const head = () => execFileSync('git', ['rev-parse', asked.branch], { encoding: 'utf8' }).trim()
if (action === 'repository') say({ defaultBranch: 'main', url: 'https://forge.example.org/' })
else if (action === 'create')
  say(keep({ number: 5, url: 'https://forge.example.org/5', title: asked.title, state: 'open', base: asked.base,
    branch: asked.branch, headCommit: head(), mergeable: true, ready: true, updatedAt: time }))
else if (action === 'find' || action === 'read') say(pull)
else if (action === 'merge') say({ commit: keep({ ...pull, state: 'merged', mergeCommit: asked.headCommit }).mergeCommit })
else say({ unsupported: true })
`,
  )
  const command = `'${process.execPath}' '${program}' '${join(dirname(program), 'pull.json')}'`
  await board.client.projects.update({ id: board.projectId, forge: { kind: 'command', command } })
  try {
    expect((await board.client.forges.get({ projectId: board.projectId })).problem).toBeNull()
    expect(await created(card)).toMatchObject({ number: 5, state: 'open', base: 'main', title: 'Roof' })
    expect(forge.repository.tip(card.gitBranch!)).toBe((await get(card)).headCommit)
    expect(await board.client.pullRequests.merge(place(card))).toMatchObject({ state: 'merged' })
    expect(await failure(board.client.pullRequests.close(place(card)))).toMatchObject({ code: 'CONFLICT' })
    expect(forge.state.pulls).toEqual([])
  } finally {
    await board.client.projects.update({ id: board.projectId, forge: { kind: null, command: null } })
  }
})

test('requires a branch, and an agent that has finished', async () => {
  const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Bare' })
  const bare = await board.card(id)
  expect(await failure(created(bare))).toMatchObject({ code: 'CONFLICT' })
  const busy = await board.start('lasting')
  await board.untilStatus(busy.id, 'running')
  expect(await failure(created(busy))).toMatchObject({ code: 'AGENT_ALREADY_RUNNING' })
  await board.client.agents.cancel(place(busy))
})
