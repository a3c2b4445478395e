import { afterAll, beforeAll, expect, test } from 'vitest'
import { onLibsqlServer, startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'

let board: TestBoard
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'web', path: board.folder('web') })).id
})
afterAll(() => board.close())

const figures = async () => (await board.request('GET', '/metrics', { token: null })).text
const figure = async (name: string) =>
  Number(
    (await figures())
      .split('\n')
      .find(line => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1),
  )

test('requests are counted by route, method and status, never by values in their path', async () => {
  await board.client.projects.get({ id: projectId })
  await board.request('GET', '/api/projects/999999')
  const text = await figures()
  expect(text).toContain('board_request_seconds_count{method="GET",route="/api/projects/{id}",status="200"} 1\n')
  expect(text).toContain('board_request_seconds_count{method="GET",route="/api/projects/{id}",status="404"} 1\n')
  expect(text).not.toContain('projects/999999')
  for (const line of text.split('\n'))
    expect(line).toMatch(
      /^($|# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"\n]*",?)+\})? (-?\d+(\.\d+)?(e[+-]?\d+)?|\+Inf|[Nn]a[Nn]))$/,
    )
})

test('sockets, events, agents, monitors, webhooks and the database have metrics', async () => {
  const live = await follow(board.url, board.token, projectId)
  await board.client.cards.create({ projectId, title: 'Told' })
  await live.message('card.created')
  await eventually('a told event', async () => (await figure('board_event_lag_seconds_count')) > 0)
  expect(await figure('board_sockets')).toBe(1)
  expect(await figure('board_events_total')).toBeGreaterThan(1)
  for (const name of [
    'board_agent_sessions{status="running"}',
    'board_monitors{status="failing"}',
    'board_webhook_deliveries{status="pending"}',
  ])
    expect([name, await figure(name)]).toEqual([name, 0])
  // A database on a libSQL server has no local file.
  if (!onLibsqlServer) expect(await figure('board_database_bytes{file="wal"}')).toBeGreaterThan(0)
  expect(await figure('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  live.close()
  await eventually('no socket', async () => (await figure('board_sockets')) === 0)
})

test('a client beyond this machine must be a super_admin', async () => {
  const far = { 'x-forwarded-for': '203.0.113.9' }
  expect((await board.request('GET', '/metrics', { token: null, headers: far })).status).toBe(401)
  await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  const { token } = await board.client.auth.register({ email: 'bob@example.org', password: 'battery staple' })
  expect((await board.request('GET', '/metrics', { token, headers: far })).status).toBe(403)
  expect((await board.request('GET', '/metrics', { headers: far })).status).toBe(200)
})
