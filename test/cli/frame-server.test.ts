import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest'
import { processMark } from '../../src/system/kernel.ts'
import { commandLine, run, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let server: TestBoard
let nosy: Server
let nosyUrl: string
/** The Authorization headers that reached a server other than the board. */
let overheard: (string | undefined)[]
let cli: CommandLine

beforeAll(async () => {
  server = await startBoard()
  nosy = createServer((request, response) => {
    overheard.push(request.headers.authorization)
    response.setHeader('content-type', 'application/json').end('{"data":{"status":"no"}}')
  })
  await new Promise<void>(listening => nosy.listen(0, '127.0.0.1', listening))
  nosyUrl = `http://127.0.0.1:${(nosy.address() as AddressInfo).port}`
})
afterAll(async () => {
  nosy.close()
  await server.close()
})
beforeEach(() => {
  overheard = []
  cli = commandLine()
})
afterEach(() => cli.close())

const configFile = () => join(cli.home, '.config', 'board', 'config.json')
const local = () => ({ BOARD_DATA_DIR: server.dataDir })
const file = (name: string, text: string) => {
  const path = join(cli.home, name)
  writeFileSync(path, text)
  return path
}
/** Writes a daemon.json like a server does. */
function runtime(url: string): Record<string, string> {
  const folder = join(cli.home, 'left')
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'daemon.json'),
    JSON.stringify({ url, pid: 1, token: 'svc_lt_secret', version: '0', startedAt: '' }),
  )
  return { BOARD_DATA_DIR: folder }
}

describe('which server', () => {
  test('none: exit 7, and the command to start one', async () => {
    expect(await cli.board(['projects', 'list'])).toEqual({
      code: 7,
      stdout: '',
      stderr: 'board: no server; run: board serve\nsee: board help environment\n',
    })
  })

  test('the local one is found by its data folder, with its token', async () => {
    expect(JSON.parse(await cli.ok(['whoami', '--json'], { env: local() }))).toMatchObject({ role: 'super_admin' })
    expect(await cli.json(['auth', 'status'], { env: local() })).toMatchObject({
      url: server.url,
      urlFrom: 'the running server on this machine',
      tokenKind: 'local',
      signedIn: true,
    })
    const address = server.url.replace('http://', '')
    expect(await cli.json(['whoami', '--url', address], { env: local() })).toMatchObject({ role: 'super_admin' })
  })

  test('one that has ended, or another program on its port, gets no token', async () => {
    expect(await cli.board(['whoami'], { env: runtime('http://127.0.0.1:1') })).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('no server; run: board serve'),
    })
    // With the pid of a living process that started at another time than the server.
    for (const mark of [undefined, `${processMark(process.pid)}0`, 'another-boot/1']) {
      writeFileSync(
        join(cli.home, 'left', 'daemon.json'),
        JSON.stringify({ url: nosyUrl, pid: process.pid, mark, token: 'svc_lt_secret', version: '0', startedAt: '' }),
      )
      expect((await cli.board(['whoami'], { env: { BOARD_DATA_DIR: join(cli.home, 'left') } })).code).toBe(7)
    }
    expect(overheard).toEqual([undefined, undefined, undefined])
  })

  test('a flag overrides the environment, and the environment overrides the profile', async () => {
    await cli.ok(['profile', 'set', 'a', '--url', 'http://127.0.0.1:1'])
    const urlFrom = async (args: string[], env = {}) =>
      (await cli.json(['auth', 'status', ...args], { env: { BOARD_TOKEN: server.token, ...env } })).urlFrom
    expect(await urlFrom(['--url', server.url], { BOARD_URL: 'http://127.0.0.1:1' })).toBe('--url')
    expect(await urlFrom([], { BOARD_URL: server.url })).toBe('BOARD_URL')
    await cli.ok(['profile', 'set', 'b', '--url', server.url])
    expect(await urlFrom(['--profile', 'b'], { BOARD_URL: 'http://127.0.0.1:1' })).toBe('profile b')
    expect(await urlFrom([], { BOARD_PROFILE: 'b' })).toBe('profile b')
    await cli.ok(['profile', 'use', 'b'])
    expect(await urlFrom([])).toBe('profile b')
  })

  test('an address with a password or of another scheme is rejected', async () => {
    for (const url of ['ftp://host', 'http://user:secret@host', 'http://', 'not an address'])
      expect(await cli.board(['whoami', '--url', url])).toMatchObject({ code: 2, stdout: '' })
  })

  test('--timeout ends the wait for a server that does not answer', async () => {
    const silent = createServer(() => {
      /* says nothing */
    })
    await new Promise<void>(listening => silent.listen(0, '127.0.0.1', listening))
    expect(
      (
        await cli.board([
          'whoami',
          '--timeout',
          '0.2',
          '--url',
          `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
        ])
      ).code,
    ).toBe(7)
    silent.closeAllConnections()
    silent.close()
  })
})

describe('which token', () => {
  test('none: exit 4, and how to sign in', async () => {
    expect(await cli.board(['projects', 'list', '--url', server.url])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringMatching(/\nsign in with: board auth login\nsee: board auth status\n$/),
    })
  })

  test('it is read from a file, from stdin, or from the environment', async () => {
    const path = file('token', `${server.token}\n`)
    const args = ['whoami', '--url', server.url, '-q']
    expect(await cli.ok([...args, '--token-file', path])).toBe('0\n')
    expect(await cli.ok([...args, '--token-file', '-'], { input: server.token })).toBe('0\n')
    expect(await cli.ok(args, { env: { BOARD_TOKEN_FILE: path } })).toBe('0\n')
    expect(await cli.ok(args, { env: { BOARD_TOKEN: server.token } })).toBe('0\n')
    expect(await cli.board([...args, '--token-file', file('empty', '')])).toMatchObject({ code: 2 })
    expect(await cli.board([...args, '--token-file', 'missing'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the file does not exist'),
    })
  })

  test("a profile's token is sent only to the origin that it was created for", async () => {
    await cli.ok(['auth', 'login', '--url', server.url, '--with-token'], { input: await signInToken() })
    for (const url of [[], ['--url', server.url], ['--url', server.url.replace('http://', '')]])
      expect(await cli.ok(['whoami', '--json', 'email', ...url])).toBe('{"email":"ada@example.com"}\n')
    await cli.board(['whoami', '--url', nosyUrl])
    await cli.ok(['profile', 'set', 'default', '--url', nosyUrl])
    await cli.board(['whoami'])
    expect(overheard).toEqual([undefined, undefined])
  })

  test('the configuration file is readable by its owner only, also after a change', async () => {
    await cli.ok(['auth', 'login', '--url', server.url, '--with-token'], { input: await signInToken() })
    await cli.ok(['config', 'set', 'pager', 'cat'])
    expect((statSync(configFile()).mode & 0o777).toString(8)).toBe('600')
    expect((statSync(join(configFile(), '..')).mode & 0o777).toString(8)).toBe('700')
  })
})

describe('signing in', () => {
  test('login stores a token, logout revokes it on the server and deletes it', async () => {
    await signInToken()
    expect(
      await cli.board(['auth', 'login', '--url', server.url, '--email', 'ada@example.com', '--password-stdin'], {
        input: 'correct horse\n',
      }),
    ).toEqual({
      code: 0,
      stdout: '',
      stderr: `Signed in to ${server.url} as ada@example.com (super_admin).\n`,
    })
    const { token } = (JSON.parse(readFileSync(configFile(), 'utf8')) as { profiles: { default: { token: string } } })
      .profiles.default
    expect(await cli.ok(['auth', 'token'])).toBe(`${token}\n`)
    await cli.ok(['auth', 'logout'])
    expect(readFileSync(configFile(), 'utf8')).not.toContain(token)
    expect((await server.request('GET', '/api/auth/me', { token })).status).toBe(401)
    expect(await cli.board(['auth', 'status', '--exit-status', '--url', server.url])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('not signed in'),
    })
    expect((await cli.board(['auth', 'logout'])).code).toBe(4)
  })

  test('a wrong password exits with 4 and stores nothing', async () => {
    await signInToken()
    expect(
      await cli.board(['auth', 'login', '--url', server.url, '--email', 'ada@example.com', '--password-stdin'], {
        input: 'wrong password',
      }),
    ).toMatchObject({ code: 4, stderr: 'board: the email or the password is wrong\n' })
    expect(() => readFileSync(configFile())).toThrow('ENOENT')
  })

  test('no secret is accepted as an argument', async () => {
    expect((await cli.board(['auth', 'login', '--password', 'x'])).code).toBe(2)
    expect((await cli.board(['auth', 'login', '--with-token', 'svc_st_x'])).code).toBe(2)
  })

  test('on a terminal the password prompt hides the input, and Ctrl-C exits with 130', async context => {
    await signInToken()
    const line = `${process.execPath} ${join(import.meta.dirname, '..', '..', 'bin', 'board.js')} auth login --url ${server.url} --email ada@example.com`
    if ((await run('/bin/sh', ['-c', 'command -v script'])).code !== 0)
      return context.skip('The program "script", which creates a terminal, is not installed.')
    const { code, shown } = await typeAt('Password: ', 'correct horse\r', line)
    expect({ code, shown }).toEqual({ code: 0, shown: expect.stringMatching(/Password: \s+Signed in to/) })
    expect(shown).not.toContain('correct')
    expect((await typeAt('Password: ', '\u0003', line)).code).toBe(130)
  })
})

/** Runs a command line on a terminal, and types after its prompt. */
function typeAt(question: string, text: string, line: string): Promise<{ code: number | null; shown: string }> {
  return new Promise((done, fail) => {
    const child = spawn('script', ['-qec', line, '/dev/null'], { env: cli.env })
    let shown = ''
    let typed = false
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      shown += chunk
      if (typed || !shown.includes(question)) return
      typed = true
      child.stdin.write(text)
    })
    child.on('error', fail).on('close', code => done({ code, shown }))
  })
}

let token: string | undefined

/** The token of a user, who is created once. */
async function signInToken(): Promise<string> {
  token ??= (await server.client.auth.setup({ email: 'ada@example.com', password: 'correct horse' })).token
  return token
}
