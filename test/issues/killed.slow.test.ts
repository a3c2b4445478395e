import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeForge } from '../support/forge/fakeForge.ts'
import { tieProject } from '../support/forge/issueBoard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-issues-killed-'))
const board = boardProcess(join(root, 'data'), { HOME: root })
let forge: FakeForge
beforeAll(async () => {
  hideAgents(join(root, 'data'))
  forge = await FakeForge.start({ kind: 'github', folder: join(root, 'forge') })
  await board.start()
})
afterAll(async () => {
  await clearAway(board, root)
  await forge.close()
})

test('a server that is killed during a write to the forge writes it once', async () => {
  const projectId = await tieProject(board, forge, { path: join(root, 'work'), comments: true })
  const { number } = forge.openIssue({ title: 'Killed', labels: ['board'] })
  await board.client.issues.sync({ projectId })
  const [{ id: cardId }] = (await board.client.cards.list({ projectId })) as unknown as [{ id: string }]
  const columns = await board.client.columns.list({ projectId })
  const to = (type: string) => columns.find(({ columnType }) => columnType === type)!.id
  const said = () => forge.state.comments.filter(each => each.number === number).map(({ body }) => body.split('\n')[0])
  /** Kills the server when the forge has received such a request, whose response never arrives, and restarts it. */
  const killAt = async (match: RegExp, act: () => Promise<unknown>) => {
    const before = forge.requests.length
    forge.fail({ match, delayMs: 500 })
    await act()
    await eventually(`${match}`, () =>
      forge.requests.slice(before).some(({ method, path }) => match.test(`${method} ${path}`)),
    )
    await board.end('SIGKILL')
    await eventually('what it asked for', () => forge.requests.every(({ status }) => status !== 0))
    await board.start()
  }
  await killAt(/^POST .*comments/, () => board.client.comments.create({ projectId, cardId, body: 'Hello' }))
  await eventually('rest', async () => (await board.client.issues.sync({ projectId })).sent === 0)
  expect(said()).toEqual(['**Local operator**:'])
  await killAt(/^POST .*comments/, () => board.client.cards.move({ projectId, cardId, columnId: to('done') }))
  await eventually('the end', () => forge.issue(number).state === 'closed')
  expect(said()).toEqual(['**Local operator**:', 'This is done.'])
  await killAt(/^PATCH/, () => board.client.cards.move({ projectId, cardId, columnId: to('backlog') }))
  await eventually('an open issue', () => forge.issue(number).state === 'open')
  await killAt(/^PATCH/, () => board.client.cards.move({ projectId, cardId, columnId: to('done') }))
  await board.client.issues.sync({ projectId })
  expect(await board.client.issues.sync({ projectId })).toMatchObject({ closed: 0, reopened: 0, sent: 0, received: 0 })
  expect(forge.issue(number).state).toBe('closed')
  expect(said()).toEqual(['**Local operator**:', 'This is done.', 'This is done.'])
  expect((await board.client.comments.list({ projectId, cardId })).items).toHaveLength(1)
  expect(await board.client.cards.list({ projectId })).toHaveLength(1)
}, 120_000)
