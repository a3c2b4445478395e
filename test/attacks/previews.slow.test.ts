import { request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { openPreview } from '../support/browsers/openPreview.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { hasOtherAccount, requestAs } from '../support/processes/otherAccount.ts'
import { eventually } from '../support/waiting/eventually.ts'

/** Responds with a secret and the received cookies; a WebSocket stays open. */
const serving = `node -e "require('http').createServer((q,r)=>r.end('secret '+(q.headers.cookie||''))).on('upgrade',(q,s)=>s.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')).listen(+process.env.BOARD_PORT,'127.0.0.1')"`
let board: AgentBoard
let aheadMs = 0

beforeAll(async () => {
  board = await startFolderBoard({}, { clock: () => new Date(Date.now() + aheadMs) })
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  await board.client.projects.update({ id: board.projectId, worktree: { preview: serving } })
})
afterAll(() => board.close())

async function startPreview() {
  const { projectId } = board
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Look', columnId: board.columns.backlog })
  const place = { projectId, cardId }
  await board.client.previews.start(place)
  const { port } = await eventually('the preview', async () => {
    const preview = await board.client.previews.get(place)
    return preview.status === 'running' ? preview : undefined
  })
  return { place, port: port!, mint: async (client = board.client) => (await client.previews.createTicket(place)).url }
}
type Started = Awaited<ReturnType<typeof startPreview>>

async function send(port: number, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const sent = request({ host: '127.0.0.1', port, path, headers, method, agent: false }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode!, body: await text(answer) }
}
const upgrade = { connection: 'Upgrade', upgrade: 'websocket' }
/** Opens a WebSocket. Returns undefined if it is rejected. */
async function openSocket(port: number, headers: Record<string, string>) {
  const sent = request({ host: '127.0.0.1', port, path: '/', headers: { ...upgrade, ...headers }, agent: false }).end()
  return new Promise<IncomingMessage['socket'] | undefined>((resolve, reject) => {
    sent.once('upgrade', ({ socket }) => resolve(socket)).once('error', reject)
    sent.once('response', answer => resolve(void answer.resume()))
  })
}
const pathOf = (url: string) => url.slice(new URL(url).origin.length)
const person = async (role: 'viewer' | 'member') => {
  const email = `${role}${Math.random()}@example.org`
  const { token, user } = await registerConfirmed(board, { email, password: 'a long password' })
  await board.client.members.add({ id: board.projectId, email, role })
  return { id: user.id, client: board.as(token) }
}
const foreign = (headers: Record<string, string>) => ({
  'sec-fetch-mode': 'no-cors',
  'sec-fetch-dest': 'script',
  ...headers,
})

describe('a preview', () => {
  let started: Started
  let cookie: string
  beforeAll(async () => {
    started = await startPreview()
    cookie = (await openPreview(await started.mint())).cookie
  })
  const read = (headers: Record<string, string>, method?: string) =>
    send(started.port, '/', { cookie, ...headers }, method)
  const refused = { status: 403, body: expect.not.stringContaining('secret') }

  test('is read with its cookie, which its program does not get', async () => {
    const other = await startPreview()
    const { cookie: otherCookie } = await openPreview(await other.mint())
    const cookies = `theme=dark; ${cookie}; ${otherCookie}`
    expect(await read({ cookie: cookies })).toEqual({ status: 200, body: 'secret theme=dark' })
  })

  test('is not read without a ticket or cookie, and the answer states how to open it', async () => {
    expect(await send(started.port, '/')).toEqual({
      status: 403,
      body: expect.stringContaining(`board cards preview ${started.place.cardId} --open`),
    })
    expect(await read({ cookie: `${cookie}x` })).toMatchObject(refused)
    expect(await read({ cookie: '', authorization: `Bearer ${board.token}` })).toMatchObject(refused)
  })

  test.each(['rebound.example.org', 'localhost', '127.0.0.1.example.org', '127.0.0.2'])(
    'is not read by a page whose name is %s',
    async name => {
      expect(await read({ host: `${name}:${started.port}` })).toMatchObject(refused)
      expect(await send(started.port, pathOf(await started.mint()), { host: name })).toMatchObject(refused)
      expect((await read({ host: `127.0.0.1:${started.port}` })).status).toBe(200)
    },
  )

  test('is not read with a used ticket, an expired ticket, or a ticket of another preview', async () => {
    const path = pathOf(await started.mint())
    expect((await send(started.port, path)).status).toBe(303)
    expect(await send(started.port, path)).toMatchObject(refused)
    const late = pathOf(await started.mint())
    aheadMs += 121_000
    expect(await send(started.port, late)).toMatchObject(refused)
    const other = await startPreview()
    const foreignPath = pathOf(await other.mint())
    expect(await send(started.port, foreignPath)).toMatchObject(refused)
    expect((await send(other.port, foreignPath)).status).toBe(303)
    expect(await send(started.port, '/', { cookie: (await openPreview(await other.mint())).cookie })).toMatchObject(
      refused,
    )
  })

  test.each(['cross-site', 'same-site'])('is not read by a %s page that has the cookie sent along', async site => {
    expect(await read(foreign({ 'sec-fetch-site': site }))).toMatchObject(refused)
    expect(
      await read({ 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }),
    ).toMatchObject(refused)
    expect(await read({ origin: 'http://127.0.0.1:1' })).toMatchObject(refused)
    expect(await read({ origin: 'null', 'sec-fetch-site': site }, 'POST')).toMatchObject(refused)
    const link = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    expect((await read(link)).status).toBe(200)
    expect((await read(foreign({ 'sec-fetch-site': 'same-origin' }))).status).toBe(200)
  })

  test('opens no WebSocket for another origin, or without the cookie', async () => {
    const origin = `http://127.0.0.1:${started.port}`
    expect(await openSocket(started.port, { origin: 'http://127.0.0.1:1', cookie })).toBeUndefined()
    expect(await openSocket(started.port, { origin })).toBeUndefined()
    const socket = await openSocket(started.port, { origin, cookie })
    expect(socket).toBeDefined()
    socket!.destroy()
  })

  test('is not opened by a person who cannot see the project', async () => {
    const { token } = await registerConfirmed(board, { email: 'stranger@example.org', password: 'a long password' })
    await expect(started.mint(board.as(token))).rejects.toMatchObject({ status: 404 })
    expect((await openPreview(await started.mint((await person('viewer')).client))).cookie).toContain('board_preview_')
  })

  test.each([
    ['signs out', async (client: Client) => client.auth.logout()],
    [
      'loses the role',
      async (_: Client, userId: string) => board.client.members.remove({ projectId: board.projectId, userId }),
    ],
  ])('ends for a person who %s, with an open WebSocket and an unused ticket', async (_, end) => {
    const { id, client } = await person('viewer')
    const own = (await openPreview(await started.mint(client))).cookie
    const unused = pathOf(await started.mint(client))
    const socket = (await openSocket(started.port, { cookie: own }))!
    expect((await read({ cookie: own })).status).toBe(200)
    const isClosed = once(socket.resume(), 'close')
    await end(client, id)
    await isClosed
    expect(await read({ cookie: own })).toMatchObject(refused)
    expect(await send(started.port, unused)).toMatchObject(refused)
    expect((await read({})).status).toBe(200)
  })

  test('does not accept the cookie or ticket of an earlier run', async () => {
    const again = await startPreview()
    const earlier = (await openPreview(await again.mint())).cookie
    const unused = pathOf(await again.mint())
    await board.client.previews.stop(again.place)
    await expect(send(again.port, '/', { cookie: earlier })).rejects.toThrow('ECONNREFUSED')
    await expect(again.mint()).rejects.toMatchObject({ code: 'CONFLICT' })
    await board.client.previews.start(again.place)
    await eventually('the preview', async () => (await board.client.previews.get(again.place)).status === 'running')
    expect(await send(again.port, '/', { cookie: earlier })).toMatchObject(refused)
    expect(await send(again.port, unused)).toMatchObject(refused)
    expect((await openPreview(await again.mint())).cookie).toContain('board_preview_')
  })

  test.runIf(hasOtherAccount())('is not read by another account of the machine that got its cookie', async () => {
    const url = `http://127.0.0.1:${started.port}`
    const theft = [{ path: '/', headers: { cookie, host: `127.0.0.1:${started.port}` } }]
    const [stolen] = await requestAs('other', url, theft)
    const [own] = await requestAs('own', url, theft)
    expect([stolen!.status, own!.status]).toEqual([403, 200])
  })
})
