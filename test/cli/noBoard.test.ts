import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, request as requestHttp, type RequestListener, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer as createTcp, type AddressInfo, type Server as TcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let cli: CommandLine
const folder = mkdtempSync(join(tmpdir(), 'board-certificate-'))
const servers: (Server | TcpServer)[] = []

beforeAll(async () => {
  board = await startBoard()
  cli = commandLine({ BOARD_TOKEN: board.token })
})
afterAll(async () => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
  cli.close()
  await board.close()
})

async function listen(server: Server | TcpServer): Promise<string> {
  servers.push(server)
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
const web = async (answer: RequestListener) => `http://${await listen(createHttp(answer))}`
const page: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>')
}
function certificate(): { key: Buffer; cert: Buffer } {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  })
  return { key: readFileSync(key), cert: readFileSync(cert) }
}

/** Returns the error of `board projects list` for an address, with exit code 7 and an empty stdout. */
async function told(url: string, env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await cli.board(['projects', 'list'], { env: { BOARD_URL: url, ...env } })
  expect([code, stdout], stderr).toEqual([7, ''])
  expect(stderr.split('\n').length, stderr).toBeLessThanOrEqual(4)
  return stderr
}

test('a redirect shows its target and the command to use', async () => {
  const moved = await web((request, response) => {
    response.writeHead(301, { location: `https://board.example.com${request.url}` }).end()
  })
  expect(await told(moved)).toContain(
    `there is no board at ${moved}: it redirects to https://board.example.com\nif the board is at that address: --url https://board.example.com\n`,
  )
  const portal = await web((_, response) => {
    response.writeHead(302, { location: '/sign-in?next=1' }).end()
  })
  expect(await told(portal)).toContain('/sign-in?next=1')
})

test('a web page, other JSON, an empty response and an unexpected status are reported as not a board', async () => {
  expect(await told(await web(page))).toContain('the response is a web page (status 200)')
  const other = await web((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}')
  })
  expect(await told(other)).toContain('the response is JSON of another program (status 200)')
  expect(await told(await web((_, response) => response.end()))).toContain('there is no board at')
  const missing = await web((_, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>')
  })
  expect(await told(missing)).toContain('the response is a web page (status 404)')
})

test.each([408, 429, 502, 503, 504])('a page with status %i names its address and the proxy', async status => {
  const away = await web((_, response) => response.writeHead(status).end('<h1>Bad gateway</h1>'))
  expect(await told(away)).toMatch(
    new RegExp(
      `${away}/api/\\S+ returned a page with status ${status} that is not from a board\\. check the proxy`,
      'i',
    ),
  )
})

test('downloads and uploads also report that there is no board', async () => {
  const env = { BOARD_URL: await web(page), BOARD_PROJECT: '' }
  expect(await cli.board(['export', '-o', '-'], { env })).toMatchObject({ code: 7, stdout: '' })
  expect(await cli.board(['backups', 'download', '--latest', '-o', '-'], { env })).toMatchObject({
    code: 7,
    stdout: '',
  })
})

test('an address that ends in /api shows the correct form', async () => {
  expect(await told(`${board.url}/api`)).toContain(`remove /api from the address: ${board.url}\n`)
})

test('a server that closes the connection or uses another protocol is reported as not an HTTP server', async () => {
  expect(await told(`http://${await listen(createTcp(socket => socket.destroy()))}`)).toContain('interrupted')
  expect(
    await told(`http://${await listen(createTcp(socket => socket.end('220 mail.example.com ESMTP\r\n\r\n')))}`),
  ).toMatch(/not an HTTP server|interrupted/)
})

test('https for an http server, and http for an https server, suggest the other', async () => {
  expect(await told(board.url.replace('http:', 'https:'))).toContain(`it does not use https: try ${board.url}\n`)
  const secure = await listen(createHttps(certificate(), page))
  expect(await told(`http://${secure}`)).toContain(`https://${secure}`)
  expect(await told(`https://${secure}`)).toContain('NODE_EXTRA_CA_CERTS=')
  expect(await told(`https://${secure}`, { NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem') })).toContain(
    'the response is a web page',
  )
})

test('an upload that is interrupted shows the next step', async () => {
  const { client, url, folder: newFolder } = board
  const { id: projectId } = await client.projects.create({ name: 'web', path: newFolder('web') })
  const { id } = await client.cards.create({ projectId, title: 'With a file' })
  const between = await web((request, response) => {
    if (request.method === 'POST') return void request.once('data', () => request.destroy())
    const { method, headers } = request
    requestHttp(url + request.url, { method, headers: { ...headers, host: new URL(url).host } }, answer => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    }).end()
  })
  const file = join(folder, 'large.bin')
  writeFileSync(file, Buffer.alloc(20_000_000))
  expect(await cli.board(['cards', 'attach', id, file, '-P', 'web'], { env: { BOARD_URL: between } })).toMatchObject({
    code: 7,
    stderr: expect.stringMatching(/interrupted: check whether the file arrived|interrupted before a response: check/),
  })
})

test('a refused connection and an unknown host are reported', async () => {
  const gone = createTcp()
  const address = await listen(gone)
  await new Promise(done => gone.close(done))
  expect(await told(`http://${address}`)).toContain('no server is running there; start one with: board server start')
  expect(await told('http://nowhere.invalid')).toMatch(/no host with that name exists|cannot be looked up/)
})
