import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fakeBrowser } from '../support/browsers/fakeBrowser.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

let cli: CommandLine
const servers: ChildProcess[] = []

beforeAll(() => {
  cli = commandLine()
})
afterAll(() => {
  for (const server of servers) server.kill('SIGKILL')
  cli.close()
})

/** Runs `board serve` and returns its first line. */
async function serve(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ child: ChildProcess; line: string; talk: () => string }> {
  const child = spawn(
    process.execPath,
    [resolve(import.meta.dirname, '..', '..', 'bin', 'board.js'), 'serve', ...args],
    { env: { ...cli.env, ...env } },
  )
  servers.push(child)
  let talk = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    talk += text
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, line, talk: () => talk }
}

test('board serve prints its address in one line, is found by other commands, and exits with 0 on SIGTERM', async () => {
  const { child, line, talk } = await serve(['--port', '0'])
  expect(line).toMatch(/^Listening on http:\/\/127\.0\.0\.1:\d+$/)
  expect(await cli.ok(['whoami', '-q'])).toBe('0\n')
  expect(await cli.board(['serve', '--port', '0'])).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringMatching(/^board: another server uses .* \(process \d+, http:\S+\)\n$/),
  })
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(talk()).toBe('')
  expect((await cli.board(['whoami'])).code).toBe(7)
})

test('a signal during startup stops the server once it is up, and no command finds it afterwards', async () => {
  const dataDir = join(cli.home, 'hasty')
  const bin = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')
  const child = spawn(process.execPath, [bin, 'serve', '--port', '0', '--data-dir', dataDir], { env: cli.env })
  servers.push(child)
  const ended = once(child, 'exit')
  await eventually('its lock', () => existsSync(join(dataDir, 'board.lock')))
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(existsSync(join(dataDir, 'daemon.json'))).toBe(false)
})

test('its options are also environment variables, and a flag overrides them', async () => {
  const { child, line } = await serve(['--data-dir', join(cli.home, 'flag')], {
    BOARD_PORT: '0',
    BOARD_DATA_DIR: join(cli.home, 'env'),
  })
  expect(await cli.ok(['auth', 'status', '--json', 'url'], { env: { BOARD_DATA_DIR: join(cli.home, 'flag') } })).toBe(
    `{"url":"${line.replace('Listening on ', '')}"}\n`,
  )
  child.kill('SIGTERM')
  await once(child, 'exit')
})

test('an empty variable, and a disabled switch, count as unset', async () => {
  const { child, line, talk } = await serve(['--data-dir', join(cli.home, 'empty')], {
    BOARD_PORT: '0',
    BOARD_HOST: '',
    BOARD_PUBLIC_URL: '',
    BOARD_MAX_ATTACHMENT: '',
    BOARD_TRUST_PROXY: 'false',
    BOARD_OPEN: '0',
  })
  expect(line).toMatch(/^Listening on http:\/\/127\.0\.0\.1:\d+$/)
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(talk()).toBe('')
})

test('on a terminal it shows the next steps, in the form for a user of npx', async () => {
  const started = (name: string, env: Record<string, string>) =>
    cli.start(['serve', '--port', '0', '--data-dir', join(cli.home, name)], { BOARD_FORCE_TTY: '1', ...env })
  const [linked, byNpx] = [started('linked', {}), started('npx', { npm_command: 'exec' })]
  await eventually(
    'what to do next',
    () => [linked, byNpx].every(({ stderr }) => stderr.includes('Stop with Ctrl+C.')),
    15_000,
  )
  expect(linked.stderr).toContain(
    '\n  board projects create my-app --path .     create a project for a folder\n  board cards add "My first card"           add a card to its board\n',
  )
  expect(byNpx.stderr).toContain(
    '\n  npx board projects create my-app --path ~/my-app  create a project for a folder\n  npx board cards add "My first card" -P my-app     add a card to its board\n',
  )
  for (const server of [linked, byNpx]) server.interrupt()
  await eventually('the end', () => linked.code !== undefined && byNpx.code !== undefined, 15_000)
})

test('--open opens its page, and prints the address if there is no browser', async () => {
  const browser = fakeBrowser(cli.home)
  const { child, line, talk } = await serve(['--port', '0', '--open', '--data-dir', join(cli.home, 'open')], {
    BROWSER: browser.command,
  })
  const url = line.replace('Listening on ', '')
  expect((await browser.visited()).sentTo).toMatch(new RegExp(`^${url}/#/ticket/svc_bt_\\w+/$`))
  expect(await cli.json(['version', '--check', '--url', url])).toMatchObject({
    server: expect.stringMatching(/^\d+\./),
  })
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(talk()).toBe('')

  const none = { BROWSER: join(cli.home, 'nothing'), BOARD_OPEN: '1' }
  for (const [env, said] of [
    [{ ...none, BOARD_FORCE_TTY: '100' }, /Open this address yourself, within a minute: (\S+)\/#\/ticket\/svc_bt_/],
    // A service's output is kept in a log, and a ticket is a secret.
    [none, /^No browser was found\. Open this address yourself: (\S+)\/#\/\n$/],
  ] as const) {
    const other = await serve(['--port', '0', '--data-dir', join(cli.home, 'open')], env)
    await eventually('the address', () => said.test(other.talk()))
    expect(said.exec(other.talk())![1]).toBe(other.line.replace('Listening on ', ''))
    other.child.kill('SIGTERM')
    await once(other.child, 'close')
  }
})

test('board version --check exits with 1 if the server has another version', async () => {
  const other = createHttpServer((_request, response) =>
    response.setHeader('content-type', 'application/json').end('{"data":{"status":"ok","version":"0.0.1"}}'),
  )
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const { code, stdout, stderr } = await cli.board([
    'version',
    '--check',
    '--json',
    'server',
    '--url',
    `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
  ])
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '{"server":"0.0.1"}\n',
    stderr:
      'board: the server has a different version: 0.0.1\nupdate the older one; after an update: board server restart\n',
  })
  other.close()
})

test('the server reports errors in its configuration of agents at startup', async () => {
  const dataDir = join(cli.home, 'broken')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'config.json'), '{\n  "agents": { "mine": { "command": [] } }\n}')
  const { child, talk } = await serve(['--port', '0', '--data-dir', dataDir])
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(JSON.parse(talk())).toMatchObject({
    level: 'warn',
    file: join(dataDir, 'config.json'),
    message:
      'config.json in the data folder is not valid: agents.mine.command must contain a program. Until this is fixed, no agent starts.',
  })
})

test('a port in use exits with 5, an invalid value with 2, each with short lines', async () => {
  const taken = createServer()
  await new Promise<void>(listening => taken.listen(0, '127.0.0.1', listening))
  const { port } = taken.address() as AddressInfo
  expect(await cli.board(['serve', '--port', String(port)])).toEqual({
    code: 5,
    stdout: '',
    stderr: `board: port ${port} is already in use\nuse another --port, or --port 0 for a free one\n`,
  })
  taken.close()
  for (const [args, env] of [
    [['--port', '99999']],
    [['--max-attachment', '5X']],
    [['--public-url', 'ftp://x']],
    [[], { BOARD_LOG_LEVEL: 'loud' }],
    [[], { BOARD_PORT: 'http' }],
  ] as [string[], Record<string, string>?][]) {
    expect(await cli.board(['serve', ...args], { env })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^board: .* is invalid: .*\nsee: board serve --help\n$/),
    })
  }
})

test('an unusable data folder is named, with the cause and the fix', async () => {
  const file = join(cli.home, 'a-file')
  writeFileSync(file, '')
  for (const [folder, reason] of [
    [file, 'it is a file|a part of its path is a file'],
    [join(file, 'below'), 'a part of its path is a file'],
    ['/proc/board', 'no folder can be created there'],
  ] as const) {
    const { code, stderr } = await cli.board(['serve', '--port', '0', '--data-dir', folder])
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(`^board: the data folder ${folder} cannot be used: (${reason})\n.*--data-dir.*\n$`),
      ),
    ])
  }
})

test('an unusable worktree folder exits with 2 and the reason, and a usable one is created and shown', async () => {
  const dataDir = join(cli.home, 'with-worktrees')
  const root = join(cli.home, 'large', 'worktrees')
  const refused = await cli.board(['serve', '--port', '0', '--data-dir', dataDir, '--worktree-root', cli.home])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/^board: worktree-root cannot be .*: it is the home folder, or contains it\n/)
  const { child } = await serve(['--port', '0'], { BOARD_DATA_DIR: dataDir, BOARD_WORKTREE_ROOT: root })
  const env = { BOARD_DATA_DIR: dataDir }
  const status = await cli.board(['server', 'status', '--json', 'worktreeRoot'], { env })
  expect(JSON.parse(status.stdout)).toEqual({ worktreeRoot: root })
  expect((await cli.board(['doctor', '--json', 'check,result'], { env })).stdout).toContain('"worktrees"')
  expect(statSync(root).mode & 0o777).toBe(0o700)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
})

test('on a terminal a server with projects does not explain how to create the first one', async () => {
  const dataDir = join(cli.home, 'with-project')
  const first = cli.start(['serve', '--port', '0', '--data-dir', dataDir])
  const url = await eventually('the server', () => /Listening on (\S+)/.exec(first.stdout)?.[1], 15_000)
  await cli.ok(['projects', 'create', 'mine', '--path', cli.home], { env: { BOARD_DATA_DIR: dataDir, BOARD_URL: '' } })
  expect(url).toBeTruthy()
  first.interrupt()
  await eventually('its end', () => first.code !== undefined, 15_000)
  const second = cli.start(['serve', '--port', '0', '--data-dir', dataDir], { BOARD_FORCE_TTY: '1' })
  await eventually('what to do next', () => second.stderr.includes('Stop with Ctrl+C.'), 15_000)
  expect(second.stderr).toContain('board projects list')
  expect(second.stderr).not.toContain('projects create')
  second.interrupt()
  await eventually('its end', () => second.code !== undefined, 15_000)
})

test('without Git it starts, and reports the limitations', async () => {
  const bin = join(cli.home, 'no-git')
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'node'))
  const { child, talk } = await serve(['--port', '0', '--data-dir', join(cli.home, 'without-git')], { PATH: bin })
  expect(talk()).toContain('Git was not found on the server.')
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
})
