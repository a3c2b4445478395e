import { spawn, type ChildProcess } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

const program = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')

let { server, cli, projectId, close } = {} as WebProject
const children: ChildProcess[] = []

beforeAll(async () => {
  ;({ server, cli, projectId, close } = await startWebProject())
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await close()
})

const newCard = (title: string) => server.client.cards.create({ projectId, title, deferred: true })

describe('board api', () => {
  test('it prints the data, and accepts any method with typed and untyped fields', async () => {
    const card = JSON.parse(
      await cli.ok(['api', '/api/cards', '-F', `projectId=${projectId}`, '-F', 'deferred=true', '-f', 'title=123']),
    )
    expect(card).toMatchObject({ title: '123', deferred: true })
    expect(
      await cli.ok(
        ['api', '-X', 'patch', `/api/projects/{projectId}/cards/${card.id}`, '--input', '-', '--jq', '.title'],
        { input: '{"title":"new"}' },
      ),
    ).toBe('new\n')
    expect(await cli.board(['api', '-X', 'DELETE', `api/projects/web/cards/${card.id}`])).toMatchObject({ code: 3 })
    expect(await cli.board(['api', '-X', 'DELETE', `api/projects/{projectId}/cards/${card.id}`])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  test('--paginate fetches every page of a list with a cursor', async () => {
    for (let at = 0; at < 7; at++) await newCard(`page ${at}`)
    const all = await server.client.cards.list({ projectId })
    expect(await cli.ok(['api', '/api/projects/{projectId}/cards?limit=2', '--paginate', '--jq', 'length'])).toBe(
      `${all.length}\n`,
    )
    const { key } = await server.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.read'],
    })
    const paged = await cli.ok(
      ['api', `/api/external/projects/${projectId}/cards?limit=3`, '--paginate', '--jq', 'map(.title) | join(",")'],
      { env: { BOARD_TOKEN: key } },
    )
    expect(paged).toBe(`${all.map(({ title }) => title).join(',')}\n`)
  })

  test('--include prints the response verbatim, --silent prints no output, and a failure sets the exit code', async () => {
    expect(await cli.ok(['api', '-i', '/api/health'])).toMatch(/^HTTP 200\n(.+: .+\n)+\n\{"data":\{"status":"ok"/)
    expect(await cli.ok(['api', '/api/health', '--silent'])).toBe('')
    const { code, stdout, stderr } = await cli.board(['api', '-i', '/api/projects/99'])
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: 'board: project not found: 99\nsee: board projects list\n',
    })
    expect(stdout).toMatch(/^HTTP 404\n[^]*"PROJECT_NOT_FOUND"/)
  })

  test('the token is sent to no other server, and headers cannot contain line breaks', async () => {
    for (const path of ['http://127.0.0.1:1/api/health', '//127.0.0.1:1/x', 'file:///etc/passwd'])
      expect(await cli.board(['api', path])).toMatchObject({ code: 2, stdout: '' })
    expect(await cli.board(['api', '/api/health', '-H', 'x: y\r\nz: w'])).toMatchObject({ code: 2 })
    expect(await cli.ok(['api', `${server.url}/api/health`, '--jq', '.status'])).toBe('ok\n')
  })
})

describe('settings', () => {
  test('a changed setting is read back; a wrong value or group is reported', async () => {
    await cli.ok([
      'settings',
      'set',
      'user',
      '-f',
      'theme=dark',
      '-f',
      'highContrast=true',
      '-f',
      'hiddenToolTypes=["a"]',
    ])
    expect(await cli.ok(['settings', 'get', 'user', '--json', 'theme,highContrast,hiddenToolTypes'])).toBe(
      '{"theme":"dark","highContrast":true,"hiddenToolTypes":["a"]}\n',
    )
    await cli.ok(['settings', 'set', 'shortcuts', '-F', '-'], { input: '{"help":"F1"}' })
    expect(await cli.ok(['settings', 'get', 'shortcuts', '--jq', '.help'])).toBe('F1\n')
    expect(await cli.board(['settings', 'set', 'user', '-f', 'theme=purple'])).toMatchObject({
      code: 2,
      stderr: 'board: theme must be system, light or dark\n',
    })
    expect(await cli.board(['settings', 'get', 'usr'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean: user'),
    })
  })
})

describe('status', () => {
  test('it counts the cards, and shows the available projects if none is selected', async () => {
    const status = await cli.json<{ total: number; byColumn: { name: string }[] }>(['status'])
    expect(status).toMatchObject({
      project: { name: 'web' },
      total: (await server.client.projects.stats({ id: projectId })).total,
    })
    expect(status.byColumn.map(({ name }) => name)).toEqual(['Backlog', 'In Progress', 'Done'])
    expect(await cli.ok(['status', '--json', 'project,total'], { env: { BOARD_PROJECT: '' } })).toBe(
      '{"project":null,"total":null}\n',
    )
  })

  test('an API key gets the part of its project', async () => {
    const { key } = await server.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.read'],
    })
    expect(
      await cli.ok(['status', '--jq', '[.user, .project.id]', '-P', projectId], { env: { BOARD_TOKEN: key } }),
    ).toBe(`[null,"${projectId}"]\n`)
  })
})

describe('bulk commands', () => {
  test('they wait as long as a busy server requests, and then continue', async () => {
    const asked: number[] = []
    const busy = createServer((request, response) => {
      response.setHeader('content-type', 'application/json')
      if (request.method === 'GET') return response.end('{"data":[{"id":"1","name":"web","path":"/"}]}')
      asked.push(Date.now())
      if (asked.length === 1)
        return response
          .writeHead(429, { 'retry-after': '1' })
          .end('{"error":{"code":"RATE_LIMITED","message":"Too many requests. Try again later."}}')
      return response.end('{"data":{"id":"5"}}')
    })
    await new Promise<void>(listening => busy.listen(0, '127.0.0.1', listening))
    const { code, stdout } = await cli.board([
      'cards',
      'archive',
      '5',
      '-P',
      '1',
      '--url',
      `http://127.0.0.1:${(busy.address() as AddressInfo).port}`,
    ])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '5\tarchived\n' })
    expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(990)
    busy.close()
  })

  test('they continue after a failure, with one line per id, and exit with 1', async () => {
    const [a, b] = [await newCard('a'), await newCard('b')]
    expect(await cli.board(['cards', 'archive', '-'], { input: `${a.id}\tsome title\n\n999\n${b.id}\n` })).toEqual({
      code: 1,
      stdout: `${a.id}\tarchived\n${b.id}\tarchived\n`,
      stderr: 'board: 999: card not found\nboard: 1 of 3 failed\n',
    })
  })
})

describe('events', () => {
  test('in a pipe each event is a line of JSON; types can be selected', async () => {
    const follow = start(['events', '--type', 'card.*', '--since', String(await lastSeq())])
    const { id } = await newCard('seen')
    await server.client.columns.create({
      projectId,
      name: 'unseen',
      columnType: 'done',
      boardId: (await server.client.boards.list({ projectId }))[0]!.id,
    })
    await server.client.cards.update({ projectId, cardId: id, title: 'seen again' })
    await eventually('two events', () => follow.lines().length === 2)
    expect(follow.lines().map(line => JSON.parse(line))).toMatchObject([
      { type: 'card.created', data: { id, title: 'seen' } },
      { type: 'card.updated', data: { title: 'seen again' } },
    ])
  })

  test('--exec gets each event through stdin and environment, sequentially, and can fail', async () => {
    const follow = start([
      'events',
      '--since',
      String(await lastSeq()),
      '--exec',
      'cat | head -c 22; echo " $BOARD_EVENT_TYPE $BOARD_CARD_ID"; exit 3',
    ])
    const { id } = await newCard('$(touch x)')
    const { id: other } = await newCard('next')
    await eventually('two runs', () => follow.lines().length === 2)
    expect(follow.lines()).toEqual([
      `{"type":"card.created" card.created ${id}`,
      `{"type":"card.created" card.created ${other}`,
    ])
    await eventually('the warning', () => follow.stderr().includes('it exited with 3'))
  })

  test('after a disconnection it reconnects and prints the missed events once; an expired token exits with 4', async () => {
    const first = await startBoard()
    const { token } = await first.client.auth.setup({ email: 'a@b.c', password: 'long enough' })
    const { id } = await first.as(token).projects.create({ name: 'lost', path: first.folder('lost') })
    const port = Number(new URL(first.url).port)
    const args = ['events', '-P', id, '--since', '0', '--jq', '.data.title // .type', '--url', first.url]
    const signedIn = start(args, { BOARD_TOKEN: token })
    const asDaemon = start(args, { BOARD_TOKEN: first.token })
    for (const follow of [signedIn, asDaemon])
      await eventually('the first events', () => follow.lines().includes('board.created')).catch(error => {
        throw new Error(`${error.message}: ${follow.lines().join()} ${follow.stderr()} ${follow.code()}`)
      })
    await first.client.cards.create({ projectId: id, title: 'before', deferred: true })
    await eventually(
      'the event before the break',
      () => signedIn.lines().includes('before') && asDaemon.lines().includes('before'),
    )
    await first.server.stop()
    const second = await startBoard({ port, dataDir: first.dataDir })
    const titles = ['while away', 'then']
    for (const title of titles) await second.client.cards.create({ projectId: id, title, deferred: true })
    await eventually('what was missed', () => signedIn.lines().includes('then'), 15_000)
    expect(signedIn.lines()).toEqual(['project.created', 'board.created', 'before', ...titles])
    await eventually('the end', () => asDaemon.code() !== undefined, 15_000)
    expect({ code: asDaemon.code(), lines: asDaemon.lines() }).toEqual({
      code: 4,
      lines: ['project.created', 'board.created', 'before'],
    })
    await second.close()
    await first.close()
  })

  test('an unknown type exits with 2, an inaccessible project with 3', async () => {
    expect(await cli.board(['events', '--type', 'card.movd'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean: card.moved'),
    })
    expect(await cli.board(['events', '-P', '99'])).toMatchObject({ code: 3 })
  })
})

const lastSeq = async (): Promise<number> => {
  const follow = start(['events', '--since', '0'])
  const { id } = await newCard('marker')
  const line = await eventually('the marker', () =>
    follow.lines().find(text => text.includes(`{"type":"card.created","data":{"id":"${id}"`)),
  )
  const stopped = new Promise(ended => follow.child.once('close', ended))
  follow.child.kill('SIGKILL')
  await stopped
  return (JSON.parse(line) as { seq: number }).seq
}

/** Starts a command that keeps running. */
function start(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program, ...args], { env: { ...cli.env, ...env }, cwd: join(cli.home) })
  children.push(child)
  const told = { stdout: '', stderr: '', code: undefined as number | null | undefined }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told.stderr += text
  })
  child.on('close', code => {
    told.code = code
  })
  return { child, lines: () => told.stdout.split('\n').slice(0, -1), stderr: () => told.stderr, code: () => told.code }
}
