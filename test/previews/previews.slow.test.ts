import { createServer, connect } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import type { ServerConfig } from '../../src/config/server.ts'
import { startAgentBoard, startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { openPreview } from '../support/browsers/openPreview.ts'
import { isAlive, processesWith } from '../support/processes/processFiles.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

type Preview = Awaited<ReturnType<AgentBoard['client']['previews']['get']>>

let board: AgentBoard
afterEach(() => board.close())

/** Serves the requested path and its own folder on its port. */
const serving = (host = '127.0.0.1') =>
  `node -e "require('http').createServer((q,r)=>{let n=0;q.on('data',c=>n+=c.length).on('end',()=>r.end(q.url+' '+n+' of '+process.env.BOARD_CARD_ID+' in '+process.cwd()))}).listen(+process.env.BOARD_PORT,'${host}',()=>console.log('listening'))"`
const agents = { well: { protocol: 'command' as const, command: ['true'] } }
const set = (worktree: NonNullable<Parameters<AgentBoard['client']['projects']['update']>[0]['worktree']>) =>
  board.client.projects.update({ id: board.projectId, worktree })
const at = (cardId: string) => ({ projectId: board.projectId, cardId })
const start = (cardId: string) => board.client.previews.start(at(cardId))
const read = (cardId: string) => board.client.previews.get(at(cardId))
const until = (cardId: string, status: Preview['status']) =>
  eventually(`the preview of card ${cardId} being ${status}`, async () => {
    const preview = await read(cardId)
    return preview.status === status ? preview : undefined
  })
/** Reads the preview of a card, with a ticket of the board's account. */
const openText = async (cardId: string) => {
  const { url, cookie } = await openPreview((await board.client.previews.createTicket(at(cardId))).url)
  return async (path: string, init: RequestInit = {}) =>
    (await fetch(`${url}${path}`, { ...init, headers: { cookie } })).text()
}
const text = async (cardId: string, path: string) => (await openText(cardId))(path)

/** A card with a folder, on a board in a plain folder; `mark` is a text that only its preview's processes have. */
async function openFolder(preview: string, config: Partial<ServerConfig> = {}): Promise<string> {
  board = await startFolderBoard(agents, config)
  await set({ preview })
  return (await newCard()).id
}
const newCard = () =>
  board.client.cards.create({ projectId: board.projectId, title: 'Look', columnId: board.columns.backlog })
/** A card whose agent has worked in a separate worktree. */
async function openWorktree(preview: string, config: Partial<ServerConfig> = {}): Promise<string> {
  board = await startAgentBoard(agents, config)
  await set({ preview })
  const { id } = await board.start('well')
  await board.untilStatus(id, 'completed')
  return id
}
/** The processes of previews of this board: other boards have cards with equal numbers. */
const running = () => processesWith(`BOARD_URL=${board.url}\0`).filter(isAlive)
const untilNothingRuns = () => eventually('the end of what the preview has started', () => running().length === 0)

describe('a preview', () => {
  test('serves the worktree of a card at its port until it is stopped, with an event for each change', async () => {
    const cardId = await openWorktree(serving())
    expect(await read(cardId)).toMatchObject({ status: 'off', url: null, port: null, output: '' })
    const begun = await start(cardId)
    expect(begun).toMatchObject({ status: 'starting', url: null, startedAt: expect.any(String) })
    expect(await start(cardId)).toMatchObject({ startedAt: begun.startedAt })
    const preview = await until(cardId, 'running')
    expect(preview).toMatchObject({ url: `http://127.0.0.1:${preview.port}`, reason: null })
    // The preview accepts connections before its output has been read.
    await eventually('what it printed', async () => (await read(cardId)).output === 'listening\n')
    expect(await text(cardId, '/a')).toBe(
      `/a 0 of ${cardId} in ${board.dataDir}/worktrees/${board.projectId}/${cardId}`,
    )
    await board.client.previews.stop(at(cardId))
    await board.client.previews.stop(at(cardId))
    expect(await read(cardId)).toMatchObject({ status: 'off', url: null })
    expect(running()).toEqual([])
    await expect(fetch(preview.url!)).rejects.toThrow()
    const told = () =>
      board.socket.messages.filter(({ type }) => type === 'preview.updated').map(({ data }) => data.status)
    await eventually('the last event', () => told().at(-1) === 'off')
    expect(told()).toEqual(['starting', 'running', 'off'])
  })

  test('ends if it gets no request within its timeout, and each start extends that', async () => {
    const cardId = await openFolder(serving(), { previewLeaseMs: 1500 })
    const { endsAt } = await start(cardId)
    await eventually('a later time', () => Date.parse(endsAt!) - Date.now() < 1400)
    const { endsAt: later } = await start(cardId)
    expect(Date.parse(later!)).toBeGreaterThan(Date.parse(endsAt!))
    await until(cardId, 'off')
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(later!))
    await untilNothingRuns()
  })

  test('is rejected if there is nothing to serve, with the fix', async () => {
    board = await startAgentBoard(agents)
    const { id } = await newCard()
    const refused = (cardId: string) =>
      start(cardId).then(
        () => '',
        ({ code, message }) => `${code} ${message}`,
      )
    expect(await refused(id)).toMatch(/^CONFLICT .*board projects worktree \d+ --preview/)
    await set({ preview: 'true' })
    expect(await refused(id)).toMatch(/^CONFLICT The card has no worktree yet/)
    expect(await refused('999')).toMatch(/^CARD_NOT_FOUND/)
    await set({ subfolder: 'gone' })
    const there = await board.client.cards.create({
      projectId: board.projectId,
      title: 'There',
      columnId: board.columns.backlog,
      useWorktree: false,
    })
    expect(await refused(there.id)).toMatch(/^CONFLICT .*subfolder gone/)
    await board.client.cards.archive(at(there.id))
    expect(await refused(there.id)).toMatch(/^CONFLICT The card is archived/)
  })

  test.each(['archived', 'deleted'] as const)('is ended when its card is %s', async how => {
    const cardId = await openFolder(serving())
    await start(cardId)
    await until(cardId, 'running')
    await (how === 'archived' ? board.client.cards.archive(at(cardId)) : board.client.cards.delete(at(cardId)))
    await untilNothingRuns()
  })

  test('serves a program that listens on IPv6 only', async () => {
    const cardId = await openFolder(serving('::1'))
    await start(cardId)
    const { url, port } = await until(cardId, 'running')
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect(await text(cardId, '/six')).toContain('/six')
  })

  test('that never listens stays starting, and prints no secret and no colors', async () => {
    const secret = `svc_${'at'}_${'x'.repeat(30)}`
    const cardId = await openFolder(
      `printf '\\033[31mred\\033[0m API_KEY=abc123\\n'; echo ${secret}; seq 1 5000; sleep 600`,
    )
    await start(cardId)
    const { output, status } = await eventually('its output', async () => {
      const preview = await read(cardId)
      return preview.output.includes('5000') ? preview : undefined
    })
    expect(status).toBe('starting')
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(8192)
    const other = (await newCard()).id
    await set({ preview: `printf '\\033[31mred\\033[0m API_KEY=abc123\\n'; echo ${secret}; sleep 600` })
    await start(other)
    const said = await eventually('its words', async () => {
      const preview = await read(other)
      return preview.output.includes('svc_') ? preview : undefined
    })
    expect(said.output).toBe('red API_KEY=[redacted]\nsvc_at_[redacted]\n')
  })

  test('that exits has failed, and its remaining processes are ended', async () => {
    const cardId = await openFolder(`setsid sh -c 'sleep 600; :' & setsid ${serving()} & sleep 0.3; echo bye; exit 3`)
    await start(cardId)
    expect(await until(cardId, 'failed')).toMatchObject({
      exitCode: 3,
      reason: 'The preview command ended with exit code 3.',
      output: expect.stringContaining('bye'),
      url: null,
      endsAt: null,
    })
    await untilNothingRuns()
    await set({ preview: serving() })
    await start(cardId)
    await until(cardId, 'running')
  })

  test('fails if another program listens on its port', async () => {
    const cardId = await openFolder(serving())
    await start(cardId)
    const { port } = await until(cardId, 'running')
    await board.client.previews.stop(at(cardId))
    const other = createServer().listen(port!, '127.0.0.1')
    await once(other, 'listening')
    try {
      await start(cardId)
      const { reason } = await until(cardId, 'failed')
      expect(reason).toContain(`Port ${port} is in use by another program`)
    } finally {
      other.close()
    }
  })

  test('is one of at most 20', async () => {
    const first = await openFolder('sleep 600')
    const ids = [first]
    while (ids.length < 21) ids.push((await newCard()).id)
    for (const id of ids.slice(0, 20)) await start(id)
    await expect(start(ids[20]!)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('20') })
    await board.client.previews.stop(at(first))
    await start(ids[20]!)
  })

  test('is limited to the resources of an agent', async () => {
    const cardId = await openFolder('for n in 1 2 3 4 5 6 7 8 9; do sleep 600 & done; wait')
    await board.client.projects.update({ id: board.projectId, sandbox: { processes: 8 } })
    await start(cardId)
    expect((await until(cardId, 'failed')).reason).toBe('The preview started more than 8 processes.')
    await untilNothingRuns()
  })
})

describe.skipIf(!hasBubblewrap)('a preview in the sandbox', () => {
  const require = { sandbox: 'require' as const }
  const network = (name: 'listed' | 'none') =>
    board.client.projects.update({ id: board.projectId, sandbox: { network: name } })

  test.each(['127.0.0.1', '::1'])('is reachable with a separate network, listening on %s', async host => {
    const cardId = await openWorktree(serving(host), require)
    await network('listed')
    await start(cardId)
    const { url, port } = await until(cardId, 'running')
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect((await fetch(url!)).status).toBe(403)
    expect(await text(cardId, '/in')).toContain(`/in 0 of ${cardId} in ${board.dataDir}/worktrees`)
    const body = 'x'.repeat(300_000)
    const read = await openText(cardId)
    const many = await Promise.all(Array.from({ length: 40 }, (_, n) => read(`/${n}`, { method: 'POST', body })))
    expect(many.every((answer, n) => answer.startsWith(`/${n} 300000 of ${cardId}`))).toBe(true)
    await board.client.previews.stop(at(cardId))
    await untilNothingRuns()
    await expect(fetch(url!)).rejects.toThrow()
  })

  test('can access neither the data folder nor, without a network, the services of this machine', async () => {
    const other = createServer(socket => socket.end('outside')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port: outside } = other.address() as { port: number }
    const tried = `ls ${'$D'}/secret.key; node -e "require('net').connect(${outside},'127.0.0.1').on('error',e=>console.log(e.code)).on('connect',()=>console.log('reached'))"; curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:${outside} 2>&1; ${serving()}`
    const cardId = await openWorktree('true', require)
    await set({ preview: tried.replace('$D', board.dataDir) })
    await network('none')
    await start(cardId)
    const { output } = await until(cardId, 'running')
    expect(output).toContain('No such file')
    expect(output).toContain('ECONNREFUSED')
    expect(output).not.toContain('reached')
    other.close()
  })

  test('with the full network shares that of the machine', async () => {
    const cardId = await openWorktree(serving(), require)
    await start(cardId)
    await until(cardId, 'running')
    expect(await text(cardId, '/full')).toContain('/full')
  })

  test('cannot be redirected by a program that pretends to be its relay', async () => {
    const pretends = `node -e "const n=require('net');setInterval(()=>{const c=n.connect(3129,'127.0.0.1').on('error',()=>{});c.write(Buffer.alloc(9,1))},5)" & ${serving()}`
    const cardId = await openWorktree(pretends, require)
    await network('none')
    await start(cardId)
    await until(cardId, 'running')
    // The agent can block its own preview, and the server still answers.
    await text(cardId, '/').catch(() => undefined)
    expect(await read(cardId)).toMatchObject({ status: 'running' })
    await board.client.previews.stop(at(cardId))
    await untilNothingRuns()
  })

  test('reports that its port is in use if the server cannot listen on it', async () => {
    const cardId = await openWorktree(serving(), require)
    await start(cardId)
    const { port } = await until(cardId, 'running')
    await board.client.previews.stop(at(cardId))
    const other = createServer().listen(port!, '127.0.0.1')
    await once(other, 'listening')
    try {
      await network('listed')
      await start(cardId)
      expect((await until(cardId, 'failed')).reason).toContain(`Port ${port} is in use by another program`)
    } finally {
      other.close()
    }
  })

  test('forwards open connections, and both of their ends', async () => {
    const echo = `node -e "require('http').createServer().on('upgrade',(q,s)=>{s.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n');s.pipe(s)}).listen(+process.env.BOARD_PORT)"`
    const cardId = await openWorktree(echo, require)
    await network('listed')
    await start(cardId)
    const { port } = await until(cardId, 'running')
    const { cookie } = await openPreview((await board.client.previews.createTicket(at(cardId))).url)
    const socket = connect(port!, '127.0.0.1')
    socket.write(
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\none `,
    )
    let received = ''
    socket.on('data', chunk => (received += String(chunk)))
    await expect.poll(() => received).toMatch(/one $/)
    socket.end('two')
    await once(socket, 'end')
    expect(received).toMatch(/one two$/)
  })
})
