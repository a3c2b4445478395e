import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Card } from '../support/agents/agentBoard.ts'
import { startRequestBoard, type RequestBoard } from '../support/agents/requestBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: RequestBoard
beforeAll(async () => {
  board = await startRequestBoard({
    requested: { fixture: 'requested' },
    lazy: { fixture: 'requested', env: { REQUESTED_LAZY: '1' } },
  })
})
afterAll(() => board.close())
beforeEach(() => board.forge.behave())
// Each open request is polled several times a second, so those of earlier tests would slow down later ones.
afterEach(async () => {
  const { projectId, client } = board
  for (const { id } of await client.cards.list({ projectId }))
    await client.cards.delete({ projectId, cardId: id, force: true })
})

const place = ({ id }: Card) => ({ projectId: board.projectId, cardId: id })
const numberOf = async (card: Card) => (await board.pull(card)).number!
const headOf = async (card: Card) => board.forge.pull(await numberOf(card)).headSha
const told = async (card: Card) =>
  (await board.messages(card.id)).filter(({ role, content }) => role === 'user' && content.includes('pull request #'))
const stopped = (card: Card, why: RegExp) => board.untilPull(card, `${why}`, ({ stopped }) => why.test(stopped ?? ''))
const looks: RequestBoard['looks'] = (card, count) => board.looks(card, count)

describe('rounds', () => {
  test('are limited, and a user grants new ones', async () => {
    await board.client.projects.update({ id: board.projectId, forge: { maxRounds: 1 } })
    const card = await board.opened()
    const first = await headOf(card)
    board.forge.setCheck(first, 'build', 'failure', 'error: one\n')
    const second = await board.nextHead(card, first)
    board.forge.setCheck(second, 'build', 'failure', 'error: two\n')
    await stopped(card, /worked on it once/)
    expect((await board.card(card.id)).unread).toBe(true)
    expect(await told(card)).toHaveLength(1)
    expect(await board.client.pullRequests.continue(place(card))).toMatchObject({ stopped: null, rounds: 0 })
    await board.nextHead(card, second)
    await board.client.projects.update({ id: board.projectId, forge: { maxRounds: 5 } })
  })

  test('are once per failure: an agent that changes nothing leaves it to users', async () => {
    const card = await board.opened('lazy')
    const head = await headOf(card)
    board.forge.setCheck(head, 'build', 'failure', 'error: one\n')
    await stopped(card, /changed nothing/)
    board.forge.setCheck(head, 'build', 'running')
    board.forge.setCheck(head, 'build', 'failure', 'error: once more\n')
    await looks(card, 3)
    expect(await told(card)).toHaveLength(1)
    expect(await headOf(card)).toBe(head)
  })

  test('wait until all checks have ended, and a check that passes after a restart is not a failure', async () => {
    const card = await board.opened()
    const head = await headOf(card)
    board.forge.setCheck(head, 'slow', 'running')
    board.forge.setCheck(head, 'flaky', 'failure', 'error: by chance\n')
    await board.untilPull(card, 'the failure', ({ checks }) => checks.includes('failure'))
    await looks(card, 2)
    board.forge.setCheck(head, 'flaky', 'running')
    board.forge.setCheck(head, 'flaky', 'success')
    board.forge.setCheck(head, 'slow', 'success')
    await looks(card, 3)
    expect(await told(card)).toEqual([])
  })

  test("are not caused by the board's own comments, or by remarks without a request", async () => {
    const card = await board.opened()
    const number = await numberOf(card)
    board.forge.review(number, board.forge.login, 'commented', [{ path: 'work.txt', line: 1, body: 'Mine' }])
    board.forge.review(number, 'ann', 'commented', [{ path: 'work.txt', line: 1, body: 'Nice' }])
    await looks(card, 3)
    expect(await told(card)).toEqual([])
  })
})

describe('another user', () => {
  test('force-pushing stops the work with a notice, and no commit is overwritten', async () => {
    const card = await board.opened()
    const forced = board.forge.forcePush(card.gitBranch!)
    await stopped(card, /was replaced on the forge/)
    board.forge.setCheck(forced, 'build', 'failure', 'error\n')
    await looks(card, 3)
    expect(await headOf(card)).toBe(forced)
    expect(await told(card)).toEqual([])
    const fetches = () => board.forge.requests.filter(({ path }) => path.endsWith('/git-upload-pack')).length
    const before = fetches()
    await looks(card, 3)
    expect(fetches()).toBe(before)
  })

  test('pushing more commits is accepted, and the work continues on top', async () => {
    const card = await board.opened()
    const theirs = board.forge.push(card.gitBranch!, { 'theirs.txt': 'theirs\n' })
    board.forge.setCheck(theirs, 'build', 'failure', 'error\n')
    const next = await board.nextHead(card, theirs)
    expect(board.forge.repository.read(next, 'theirs.txt')).toBe('theirs')
    expect(board.forge.repository.contains(next, theirs)).toBe(true)
  })

  test('deleting the branch closes the pull request, and the card moves as its column specifies', async () => {
    const { active, backlog } = board.columns
    await board.client.columns.update({
      projectId: board.projectId,
      columnId: active,
      closedColumnId: Number(backlog),
    })
    const card = await board.opened()
    board.forge.deleteBranch(card.gitBranch!)
    const after = await board.until(card.id, 'its move', ({ columnName }) => columnName === 'Backlog')
    expect(after.pullRequest).toMatchObject({ state: 'closed' })
  })
})

describe('a request that is merged', () => {
  test('automatically waits for the requirements of the forge', async () => {
    board.forge.protect({ approvals: 1, checks: ['build'] })
    const card = await board.opened('requested', { autoMerge: true })
    const head = await headOf(card)
    board.forge.setCheck(head, 'build', 'running')
    await looks(card, 2)
    board.forge.setCheck(head, 'build', 'success')
    await looks(card, 2)
    expect(board.forge.pull(await numberOf(card)).state).toBe('open')
    board.forge.approve(await numberOf(card))
    await board.until(card.id, 'its end', ({ columnName }) => columnName === 'Done')
    expect(board.forge.pull(await numberOf(card))).toMatchObject({ state: 'merged', mergedBy: board.forge.login })
    board.forge.protect({ approvals: 0, checks: [] })
  })

  test('waits for a full column, and moves automatically when there is capacity', async () => {
    const { projectId, client } = board
    const limit = (wipLimit: number | null) =>
      client.columns.update({ projectId, columnId: board.columns.done, wipLimit })
    await client.cards.create({ projectId, columnId: board.columns.done, title: 'Another' })
    await limit(1)
    const card = await board.opened()
    board.forge.mergeByHand(await numberOf(card))
    await board.until(card.id, 'its wait', ({ lastAgentAction }) =>
      /Waiting for capacity/.test(lastAgentAction?.detail ?? ''),
    )
    expect((await board.card(card.id)).columnName).toBe('In Progress')
    await limit(2)
    const done = await board.until(card.id, 'its end', ({ columnName }) => columnName === 'Done')
    expect(done.lastAgentAction).toBe(null)
    await limit(null)
  })
})

describe('a forge', () => {
  test('that fails is polled again later', async () => {
    const card = await board.opened()
    // A read fails after three attempts.
    board.forge.fail({ status: 502, times: 6, match: /\/pulls\// })
    await board.untilPull(card, 'the failure', ({ problem }) => problem !== null)
    board.forge.setCheck(await headOf(card), 'build', 'success')
    await board.untilPull(card, 'the check', ({ checks, problem }) => checks.includes('success') && problem === null)
  })

  test('that rate-limits requests gets none until the limit ends, and then the work continues', async () => {
    const card = await board.opened()
    const head = await headOf(card)
    board.forge.fail({ match: /\/pulls\//, limit: { kind: 'secondary', seconds: 4 } })
    const { nextReadAt } = await board.untilPull(card, 'the limit', ({ heldUntil }) => heldUntil !== null)
    const api = () => board.forge.requests.filter(({ path }) => path.startsWith('/api/'))
    const before = api().length
    board.forge.setCheck(head, 'build', 'failure', 'error\n')
    expect(await board.client.pullRequests.continue(place(card))).toMatchObject({ state: 'open' })
    const early = await board.untilPull(card, 'its time', () => api().length > before)
    expect(Date.parse(early.nextReadAt!)).toBeGreaterThanOrEqual(Date.parse(nextReadAt!))
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(nextReadAt!))
    await board.nextHead(card, head)
  })

  test('that answers a poll late does not reopen a pull request that was closed since', async () => {
    const { forge, client } = board
    const card = await board.opened()
    const number = await numberOf(card)
    const match = new RegExp(`^GET .*/pulls/${number}$`)
    const looks = () => forge.requests.filter(({ method, path }) => match.test(`${method} ${path}`)).length
    let answer: (value?: unknown) => void = () => {}
    forge.state.pulls.find(each => each.number === number)!.title = 'Another title'
    forge.fail({ match, answerAfter: new Promise(resolve => (answer = resolve)) })
    const before = looks()
    await eventually('a look that is not answered', () => looks() > before || undefined)
    // The board's poll after closing the pull request returns even later.
    forge.fail({ match, delayMs: 300 })
    const closing = client.pullRequests.close(place(card))
    await board.untilPull(card, 'its end', ({ state }) => state === 'closed')
    answer()
    await closing
    const { items } = await client.activity.list(place(card))
    expect(items.map(({ action }) => action).filter(action => action.startsWith('pull_request.'))).toEqual([
      'pull_request.closed',
      'pull_request.opened',
    ])
  })

  test('whose token is corrected is used immediately, not after the backoff', async () => {
    const { forge, client } = board
    const card = await board.opened()
    forge.revoke(forge.token)
    // By then the backoff exceeds a minute.
    const { id } = await board.untilPull(card, 'the refusal', ({ problem }) => /401/.test(problem ?? ''))
    const far = new Date(Date.now() + 15 * 60_000).toISOString()
    await board.server.app.db.transaction(async tx =>
      tx.enqueue('UPDATE pull_requests SET next_read_at = ?, failures = 9 WHERE id = ?', [far, id]),
    )
    const [credential] = await client.credentials.list()
    await client.credentials.update({ id: credential!.id, apiKey: forge.addToken(forge.login) })
    await board.untilPull(card, 'the next look', ({ problem, nextReadAt }) => problem === null && nextReadAt! < far)
  })
})
