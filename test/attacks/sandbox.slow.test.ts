import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { makeRepository, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

const secret = 'not readable by any agent'
const program = resolve(import.meta.dirname, '../fixtures/attacks/sandbox.mjs')
/** Attempts that need root even without the sandbox. */
const needRoot = [
  'read files of root',
  'write into the system',
  "write into the system's settings",
  'write a kernel parameter',
  'mount something',
  'change the root folder',
  'create a device',
  'trace another process',
  'create a control group',
  'inject characters into a foreign terminal',
  'fill the folder of devices without a limit',
  'fill the root folder without a limit',
  "change the machine's name",
  'have any capability',
]
/** Attempts that fail even without a sandbox, because processes with the session's mark are found and ended. */
const failAnyway = ['outlive its session', 'outlive its session by a double fork']
const isRoot = process.geteuid?.() === 0

let home: string
const ownHome = process.env.HOME
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'board-home-'))
  process.env.HOME = home
})
afterAll(() => {
  process.env.HOME = ownHome
  rmSync(home, { recursive: true, force: true })
})

describe.skipIf(!hasBubblewrap)('an agent that tries to escape', () => {
  test('succeeds with every attempt without a sandbox, which proves the attempts', async () => {
    const results = await attack('off')
    const expected = Object.keys(results).filter(
      name => !failAnyway.includes(name) && (isRoot || !needRoot.includes(name)),
    )
    expect(expected.filter(name => !results[name])).toEqual([])
    expect(expected.length).toBeGreaterThanOrEqual(40)
  })

  test('fails with every attempt in the sandbox', async () => {
    const results = await attack('require')
    expect(Object.keys(results).filter(name => results[name])).toEqual([])
  })

  test('gets no cache that was replaced by a link', async () => {
    const board = await startAgentBoard({}, { sandbox: 'require' })
    try {
      mkdirSync(join(home, 'keys'))
      symlinkSync(join(home, 'keys'), join(home, '.tool-cache'))
      await board.client.projects.update({ id: board.projectId, sandbox: { caches: ['~/.tool-cache'] } })
      const { id } = await board.client.cards.create({
        projectId: board.projectId,
        title: 'Cache',
        kind: 'terminal',
        columnId: board.columns.active,
        command: 'touch ~/.tool-cache/planted',
      })
      expect(await board.untilStatus(id, 'failed')).toMatchObject({ statusReason: 'launch_failed' })
      expect(existsSync(join(home, 'keys/planted'))).toBe(false)
    } finally {
      await board.close()
    }
  })
})

/** Runs the attempts on a separate board. Returns which of them succeeded. */
async function attack(sandbox: 'off' | 'require'): Promise<Record<string, boolean>> {
  const board = await startAgentBoard({}, { sandbox }, makeTarget)
  const victims = await openVictims()
  try {
    const aims = await placeAims(board, victims)
    await board.client.projects.update({ id: board.projectId, sandbox: { network: 'none', fileMiB: 16 } })
    const card = await board.client.cards.create({
      projectId: board.projectId,
      title: 'Attack',
      kind: 'terminal',
      columnId: board.columns.active,
      command: `git config user.name x 2> /dev/null; node attack.mjs '${JSON.stringify(aims)}' > log 2>&1`,
    })
    const ended = await board.until(
      card.id,
      'an end',
      ({ status }) => ['completed', 'failed'].includes(status),
      120_000,
    )
    const worktree = worktreeOf(board, card.id)
    expect(ended.status, readFileSync(join(worktree, 'log'), 'utf8')).toBe('completed')
    const { results, seen } = JSON.parse(readFileSync(join(worktree, 'results.json'), 'utf8')) as {
      results: Record<string, boolean>
      seen: Record<string, string>
    }
    for (const [name, path] of Object.entries(seen)) {
      results[name] = existsSync(path)
      rmSync(path, { force: true })
    }
    for (const [name, isDone] of Object.entries(changesOf(board.path))) results[name] &&= isDone
    await keepAlive(worktree, results)
    return results
  } finally {
    await victims.close()
    await board.close()
  }
}

const worktreeOf = ({ dataDir, projectId }: AgentBoard, cardId: string) => join(dataDir, 'worktrees', projectId, cardId)

/** A leftover process lives if its file changes. */
async function keepAlive(worktree: string, results: Record<string, boolean>): Promise<void> {
  const read = (name: string) => {
    const path = join(worktree, name)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }
  const names = Object.keys(results).filter(name => name.startsWith('outlive'))
  const before = names.map((_, index) => read(`alive-${index + 1}`))
  const isAlive = () => names.map((_, index) => read(`alive-${index + 1}`) !== before[index])
  // Waits longer on a busy machine: a living process writes twenty times a second.
  const until = performance.now() + 500 * slowdown()
  while (performance.now() < until && isAlive().includes(false)) await delay(20)
  for (const [index, alive] of isAlive().entries()) results[names[index]!] = alive
  // It would continue during the removal of the folder.
  writeFileSync(join(worktree, 'stop'), '')
}

interface Victims {
  mark: string
  victimPid: number
  segment: number
  socket: string
  /** The user's own terminal. */
  terminal: string
  loopbackPort: number
  close(): Promise<void>
}

/** Another program of the same account, with its own sockets and shared memory. */
async function openVictims(): Promise<Victims> {
  const mark = `mark${process.pid}${Date.now()}`
  const victim: ChildProcess = spawn('/bin/sh', ['-c', 'read line', `victim-${mark}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const { terminal, script } = await openTerminal()
  const socket = join(home, `${mark}.sock`)
  const listen = (where: string | number) =>
    new Promise<Server>(done => {
      const server = createServer(connection => connection.end())
      if (typeof where === 'string') server.listen(where, () => done(server))
      else server.listen(where, '127.0.0.1', () => done(server))
    })
  const servers = [await listen(socket), await listen(`\0${mark}`), await listen(0)]
  const segment = Number(/id: (\d+)/.exec(execFileSync('ipcmk', ['-M', '4096'], { encoding: 'utf8' }))![1])
  return {
    mark,
    victimPid: victim.pid!,
    segment,
    socket,
    terminal,
    loopbackPort: (servers[2]!.address() as { port: number }).port,
    close: async () => {
      victim.kill('SIGKILL')
      script.kill('SIGKILL')
      execFileSync('ipcrm', ['-m', String(segment)])
      await Promise.all(servers.map(server => new Promise(done => server.close(done))))
    },
  }
}

/** A terminal with an interactive user. */
async function openTerminal(): Promise<{ terminal: string; script: ChildProcess }> {
  const file = join(home, 'terminal')
  const script = spawn('script', ['-qc', `tty > '${file}'; exec sleep 1000`, '/dev/null'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const terminal = await eventually('a terminal', () => existsSync(file) && readFileSync(file, 'utf8').trim())
  return { terminal: String(terminal), script }
}

/** The folder in which this account can create a control group, if any. */
const controlGroups =
  ['/sys/fs/cgroup/unified', '/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find(path => existsSync(path)) ?? '/sys/fs/cgroup'

/** A project with branches, a tag and the attacker's program. */
function makeTarget(path: string): string {
  makeRepository(path)
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', path, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
      stdio: 'ignore',
    })
  copyFileSync(program, join(path, 'attack.mjs'))
  git('add', '.')
  git('commit', '-m', 'Add the program')
  git('branch', 'aim-branch')
  git('branch', 'aim-gone')
  git('tag', 'aim-tag')
  return path
}

/** The attempts on a repository whose effect is visible in it. Inside, Git uses the session's own Git folder. */
function changesOf(path: string): Record<string, boolean> {
  const git = (...args: string[]) => {
    try {
      return execFileSync('git', ['-C', path, ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    } catch {
      return ''
    }
  }
  const tip = git('rev-parse', 'refs/heads/main')
  return {
    "write the repository's configuration": git('config', '--local', 'board.planted') !== '',
    'plant a file monitor': git('config', '--local', 'core.fsmonitor') !== '',
    'move another branch': git('rev-parse', 'refs/heads/aim-branch') !== tip,
    'delete another branch': git('rev-parse', '--verify', 'refs/heads/aim-gone') === '',
    'move a tag': git('rev-parse', 'refs/tags/aim-tag') !== tip,
  }
}

/** Creates the aims of the attempts: files with the secret, a second project, another card's worktree. */
async function placeAims(board: AgentBoard, { close: _, ...victims }: Victims) {
  const other = board.folder('other')
  mkdirSync(other, { recursive: true })
  for (const file of [join(other, 'file'), join(home, 'secret')]) writeFileSync(file, secret)
  writeFileSync(join(board.dataDir, 'secret.key'), secret, { mode: 0o600 })
  // On a libSQL server, an empty file replaces the database.
  if (!existsSync(join(board.dataDir, 'board.db'))) writeFileSync(join(board.dataDir, 'board.db'), '')
  writeFileSync(join(board.dataDir, 'daemon.json'), '{}', { mode: 0o600 })
  const first = await board.client.cards.create({
    projectId: board.projectId,
    title: 'Other',
    kind: 'terminal',
    columnId: board.columns.active,
    command: 'touch kept',
  })
  await board.untilStatus(first.id, 'completed')
  const worktreePath = worktreeOf(board, first.id)
  writeFileSync(join(worktreePath, 'theirs'), secret)
  // The device of the worktrees, for hard links.
  writeFileSync(join(board.dataDir, 'beside'), secret)
  const object = execFileSync('git', ['-C', board.path, 'rev-parse', 'HEAD~1:README'], { encoding: 'utf8' }).trim()
  return {
    ...victims,
    secret,
    home,
    controlGroups,
    homeFile: join(home, 'secret'),
    dataDir: board.dataDir,
    besideFile: join(board.dataDir, 'beside'),
    serverPid: process.pid,
    project: board.path,
    otherProject: other,
    otherWorktreeFile: join(worktreePath, 'theirs'),
    otherGitDir: join(board.path, '.git/worktrees', first.id),
    gitDir: join(board.path, '.git/worktrees', String(Number(first.id) + 1)),
    object,
  }
}
