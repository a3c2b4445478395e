import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { commandLine } from '../support/commands/commandLine.ts'
import { mayMount, mountReadOnly, unmountDisk } from '../support/processes/smallDisk.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { suspendProcess } from '../support/processes/suspendProcess.ts'

const cli = commandLine()
const dataDir = join(cli.home, '.local', 'share', 'board')
const runtime = () => JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8')) as { pid: number; url: string }
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The JSON of `server status`, regardless of its exit code. */
const state = async () =>
  JSON.parse((await cli.board(['server', 'status', '--json'])).stdout) as { state: string; pid: number }

afterEach(() => cli.board(['server', 'stop']))
afterAll(() => cli.close())

test('a started server keeps running in the background, and is found, restarted and stopped', async () => {
  for (const flags of [[], ['--exit-status'], ['-q']])
    expect((await cli.board(['server', 'status', ...flags])).code).toBe(7)
  const { stderr } = await cli.board(['server', 'start', '--', '--port', '0', '--agent-slots', '3'])
  const first = runtime()
  expect(stderr).toContain(`Started a server: ${first.url} (process ${first.pid}).`)
  expect(await cli.json(['server', 'status'])).toMatchObject({
    state: 'running',
    url: first.url,
    pid: first.pid,
    dataDir,
  })
  expect((await cli.board(['server', 'start'])).stderr).toContain('is already running')
  expect(await cli.ok(['whoami', '--json', '--jq', '.role'])).toBe('super_admin\n')
  await cli.ok(['server', 'restart'])
  const second = runtime()
  expect(second.pid).not.toBe(first.pid)
  expect([isAlive(first.pid), isAlive(second.pid)]).toEqual([false, true])
  expect(await (await fetch(`${second.url}/metrics`)).text()).toContain('board_agent_slots 3\n')
  expect((await cli.board(['server', 'stop'])).stderr).toContain(`Stopped the server (process ${second.pid}).`)
  expect([isAlive(second.pid), existsSync(join(dataDir, 'daemon.json'))]).toEqual([false, false])
  expect(await cli.ok(['server', 'logs', '-n', '1'])).toContain('"message":"The server has stopped."')
})

test('the output of a background server does not fill the disk, and its first part is kept', async () => {
  await cli.ok(['server', 'start', '--', '--port', '0', '--log-level', 'info'])
  const printed = join(dataDir, 'logs', 'server.out')
  const size = () => statSync(printed).size
  // `server start` returns when the server answers, which can be before it prints its address.
  await eventually('the address', () => readFileSync(printed, 'utf8').includes('Listening on '))
  const much = 'A line of the log.\n'.repeat(2 ** 18)
  appendFileSync(printed, much)
  const isPrintedAfter = async (request: string, isSo: () => boolean) => {
    await cli.ok([request, 'list'])
    return isSo()
  }
  await eventually('the end of the output', () => isPrintedAfter('projects', () => size() < much.length))
  await eventually('the next line', () =>
    isPrintedAfter('templates', () => readFileSync(printed, 'utf8').includes('GET /api/board-templates')),
  )
  expect(size()).toBeLessThan(2 ** 15)
  expect(readFileSync(printed, 'utf8')).toMatch(/^Listening on [^]*\nEarlier output was truncated\..*\n(\{.*\}\n)+$/m)
})

test('a server that cannot start reports the reason, and leaves no process', async () => {
  const failed = await cli.board(['server', 'start', '--', '--port', '0', '--host', '192.0.2.1'])
  expect([failed.code, failed.stdout]).toEqual([1, ''])
  expect(failed.stderr).toContain('the server exited immediately: ')
  expect((await state()).state).toBe('not running')
})

test('leftovers of a killed server are reported and fixed, and do not block a start', async () => {
  await cli.ok(['server', 'start', '--', '--port', '0'])
  const { pid } = runtime()
  process.kill(pid, 'SIGKILL')
  await eventually('the end of the server', () => !isAlive(pid))
  expect((await state()).state).toContain('killed')
  expect(await cli.ok(['doctor'])).toContain('warning\tdaemon.json\tis left from a server that was killed\t')
  await cli.ok(['doctor', '--fix'])
  expect(existsSync(join(dataDir, 'daemon.json'))).toBe(false)
  await cli.ok(['server', 'start', '--', '--port', '0'])
  expect((await cli.json(['server', 'status'])).state).toBe('running')
})

test('a server that does not answer is not treated as killed', async context => {
  if (process.platform !== 'linux') {
    console.warn('SKIPPED: the start time of a process is available on Linux only')
    return context.skip('needs Linux')
  }
  await cli.ok(['server', 'start', '--', '--port', '0'])
  const { pid } = runtime()
  await suspendProcess(pid)
  try {
    expect(await state()).toMatchObject({ state: 'running (does not respond)', pid })
    expect((await cli.board(['server', 'status', '--exit-status', '-q'])).code).toBe(7)
    expect((await cli.board(['server', 'start'])).stderr).toContain('is already running')
    expect(await cli.board(['whoami', '--timeout', '1'])).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('it did not respond in time') as string,
    })
    await cli.board(['doctor', '--fix'])
    expect(runtime().pid).toBe(pid)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  expect((await cli.json(['server', 'status'])).state).toBe('running')
})

test('the doctor finds open permissions and a damaged database, fixes the former and explains how to fix the latter', async () => {
  await cli.ok(['server', 'start', '--', '--port', '0'])
  const sound = await cli.json<Array<{ check: string; result: string }>>(['doctor'])
  expect(sound.filter(({ result, check }) => result !== 'ok' && check !== 'agents')).toEqual([])
  await cli.ok(['server', 'stop'])
  chmodSync(join(dataDir, 'board.db'), 0o644)
  const open = await cli.board(['doctor'])
  expect([open.code, open.stdout]).toEqual([
    1,
    expect.stringMatching(/^failed\tpermissions\tothers can read .*board\.db\tchmod go-rwx /m),
  ])
  await cli.ok(['doctor', '--fix'])
  expect(statSync(join(dataDir, 'board.db')).mode & 0o777).toBe(0o600)
  const path = join(dataDir, 'board.db')
  const whole = readFileSync(path)
  writeFileSync(path, Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(whole.length - 4096, 7)]))
  const damaged = await cli.board(['doctor'])
  expect([damaged.code, damaged.stdout]).toEqual([
    1,
    expect.stringMatching(/^failed\tdatabase\t.* is damaged: .*\tstop the server and restore a backup/m),
  ])
  writeFileSync(path, whole)
})

test('the doctor finds a conf file that is not JSON, and a read-only data folder', async () => {
  const env = { XDG_CONFIG_HOME: join(cli.home, 'broken-conf') }
  const conf = join(env.XDG_CONFIG_HOME, 'board', 'config.json')
  mkdirSync(dirname(conf), { recursive: true })
  writeFileSync(conf, '{\n  "current": "a",\n  broken\n}\n')
  expect(await cli.board(['doctor'], { env })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(
      `failed\tconfiguration file\tthe configuration file is not JSON in line 3: ${conf}\trepair or delete it\n`,
    ) as string,
  })
  const isRoot = process.getuid?.() === 0
  if (isRoot && !mayMount) return
  const deny = () => (isRoot ? mountReadOnly(dataDir) : chmodSync(dataDir, 0o500))
  const allow = () => (isRoot ? unmountDisk(dataDir) : chmodSync(dataDir, 0o700))
  deny()
  const { code, stdout } = await cli.board(['doctor']).finally(allow)
  expect([code, stdout]).toEqual([
    1,
    expect.stringContaining(`failed\tdata folder\t${dataDir} cannot be written\t`) as string,
  ])
}, 60_000)

test("a service is printed for both platforms, and installed and removed with the platform's own program", async () => {
  expect(
    await cli.ok(['server', 'install', '--print', '--launchd', '--', '--public-url', 'https://b.example.org/?a=1&b']),
  ).toContain('<string>https://b.example.org/?a=1&#38;b</string>')
  const bin = join(cli.home, 'bin')
  mkdirSync(bin)
  writeFileSync(
    join(bin, 'systemctl'),
    '#!/bin/sh\ncase "$*" in *show*) echo 0;; *) echo "$@" >> "$HOME/systemctl.log";; esac\n',
    { mode: 0o755 },
  )
  writeFileSync(join(bin, 'loginctl'), '#!/bin/sh\necho no\n', { mode: 0o755 })
  const env = { PATH: `${bin}:${cli.env.PATH}` }
  const installed = await cli.board(
    ['server', 'install', '--systemd', '--', '--port', '4500', '--project-root', '/srv/a b%'],
    { env },
  )
  expect(installed).toMatchObject({ code: 0, stderr: expect.stringContaining('loginctl enable-linger') })
  const unit = readFileSync(join(cli.home, '.config', 'systemd', 'user', 'board.service'), 'utf8')
  expect(unit).toMatch(/^ExecStart=\S+ \S+board\.js serve --port 4500 --project-root "\/srv\/a b%%"$/m)
  expect(unit).toContain(`Environment=BOARD_DATA_DIR=${dataDir}\n`)
  expect(unit).toMatch(/^Delegate=memory pids$/m)
  await cli.ok(['server', 'start'], { env })
  expect(readFileSync(join(cli.home, 'systemctl.log'), 'utf8')).toBe(
    '--user daemon-reload\n--user enable --now board.service\n--user start board.service\n',
  )
  expect((await cli.board(['server', 'uninstall'])).code).toBe(2)
  await cli.ok(['server', 'uninstall', '--yes'], { env })
  expect(existsSync(join(cli.home, '.config', 'systemd', 'user', 'board.service'))).toBe(false)
  expect((await cli.board(['server', 'uninstall', '--yes'], { env })).code).toBe(3)
})

/** Replacements of the platform's programs: a working systemd, or one without a bus. */
function platform(name: string, systemctl: string): Record<string, string> {
  const bin = join(cli.home, name)
  mkdirSync(bin)
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\n${systemctl}\n`, { mode: 0o755 })
  writeFileSync(join(bin, 'loginctl'), '#!/bin/sh\necho yes\n', { mode: 0o755 })
  return { PATH: `${bin}:${cli.env.PATH}` }
}
const unit = join(cli.home, '.config', 'systemd', 'user', 'board.service')
const noBus = 'echo "Failed to connect to bus: No medium found" >&2; exit 1'

test('without a user bus no service is installed, and the error names an alternative', async () => {
  const env = platform('no-bus', noBus)
  expect(await cli.board(['server', 'install', '--systemd'], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /nothing was installed: Failed to connect to bus.*\n.*enable-linger.*\nsee: /,
    ) as string,
  })
  expect(existsSync(unit)).toBe(false)
})

test('a service that the platform rejects leaves no files, and an existing one is unchanged', async () => {
  const env = platform('refuses', 'case "$*" in *enable*) echo "Unit is masked." >&2; exit 1;; *) exit 0;; esac')
  expect(await cli.board(['server', 'install', '--systemd'], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Unit is masked.') as string,
  })
  expect(existsSync(unit)).toBe(false)
  mkdirSync(join(unit, '..'), { recursive: true })
  writeFileSync(unit, 'former unit')
  await cli.board(['server', 'install', '--systemd'], { env })
  expect(readFileSync(unit, 'utf8')).toBe('former unit')
  rmSync(unit)
})

test('a service whose platform does not answer does not block the server: a plain one starts with its arguments, restarts and stops', async () => {
  const willing = platform('willing', 'exit 0')
  const env = platform('gone', noBus)
  const installed = await cli.board(['server', 'install', '--systemd', '--', '--port', '0', '--agent-slots', '3'], {
    env: willing,
  })
  expect(installed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('linger') as string })
  expect((await cli.board(['server', 'start'], { env })).stderr).toContain('the server is started without it')
  const first = runtime()
  expect(await (await fetch(`${first.url}/metrics`)).text()).toContain('board_agent_slots 3\n')
  expect(await cli.json(['server', 'status'], { env })).toMatchObject({ service: unit, managed: false })
  await cli.ok(['server', 'restart'], { env })
  expect(runtime().pid).not.toBe(first.pid)
  expect(await (await fetch(`${runtime().url}/metrics`)).text()).toContain('board_agent_slots 3\n')
  expect(await cli.board(['server', 'install', '--systemd'], { env: willing })).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('board server stop') as string,
  })
  expect((await cli.board(['server', 'stop'], { env })).stderr).toContain('Stopped the server')
  expect(existsSync(join(dataDir, 'daemon.json'))).toBe(false)
  expect(await cli.board(['server', 'uninstall', '--yes'], { env })).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('systemd is not reachable') as string,
  })
  expect(existsSync(unit)).toBe(false)
})

test('--wait works without a number, and the log is formatted for a terminal', async () => {
  await cli.ok(['server', 'start', '--wait', '--', '--port', '0'])
  // The server's startup output is on disk a moment after it answers.
  await eventually('the log', async () => (await cli.board(['server', 'logs'])).stdout !== '')
  const [raw, shown] = [
    await cli.ok(['server', 'logs', '-n', '1']),
    await cli.ok(['server', 'logs', '-n', '1'], { env: { BOARD_FORCE_TTY: '120', NO_COLOR: '1' } }),
  ]
  expect(JSON.parse(raw)).toMatchObject({ level: expect.any(String) as string })
  expect(shown).toMatch(/^(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d (info|warn|error) /)
  expect(
    JSON.parse(await cli.ok(['server', 'logs', '-n', '1', '--json'], { env: { BOARD_FORCE_TTY: '120' } })),
  ).toHaveLength(1)
})
