import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, type Client } from '../../src/client/index.ts'
import { makeRepository } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { databaseOptions, untilOnDuty } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const deep = 'a/b/c/d/e/f'

let root: string
let settings: string
let server: ChildProcess
let client: Client
let projectId: string
let columnId: string

describe.skipIf(!hasBubblewrap)("the system's settings in the sandbox", () => {
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'board-settings-'))
    settings = join(root, 'etc')
    // Files that the account cannot read are not copied.
    spawnSync('cp', ['-a', '/etc/.', settings], { stdio: 'ignore' })
    ;({ server, client } = await startServer())
    const path = makeRepository(join(root, 'repository'))
    projectId = (await client.projects.create({ name: 'Settings', path })).id
    columnId = (await client.columns.list({ projectId }))[1]!.id
  })
  afterAll(async () => {
    if (server) {
      server.kill('SIGTERM')
      await once(server, 'exit')
    }
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  })

  test.each([
    ['a private file deep in a listed folder', `ssl/certs/${deep}/key`, 0o600, 0o755],
    ['a file deep below a private folder of a listed folder', `ssl/certs/private/${deep}/key`, 0o644, 0o700],
    ['a file of a listed folder that other accounts can list but not enter', 'ssl/certs/closed/key', 0o644, 0o744],
    ['a public file that is not listed', `not-listed/${deep}/key`, 0o644, 0o755],
    ['a private file next to a listed one', 'ssl/private/key', 0o600, 0o755],
  ])('an agent cannot read %s', async (_, name, fileMode, folderMode) => {
    place(name, fileMode)
    chmodSync(dirname(join(settings, name.replace(`/${deep}`, ''))), folderMode)
    expect(await read(name)).toBe('')
  })

  test('an agent can read a listed file, and not after the file becomes private', async () => {
    place('ld.so.conf.d/extra.conf', 0o644)
    expect(await read('ld.so.conf.d/extra.conf')).toBe('secret')
    chmodSync(join(settings, 'ld.so.conf.d/extra.conf'), 0o600)
    expect(await read('ld.so.conf.d/extra.conf')).toBe('')
  })

  test('programs find accounts, hosts, certificates and the time zone', async () => {
    rmSync(join(settings, 'localtime'), { force: true })
    spawnSync('ln', ['-s', '/usr/share/zoneinfo/Asia/Tokyo', join(settings, 'localtime')])
    const script = [
      'set -e',
      'unset TZ',
      'getent passwd root',
      'getent hosts localhost',
      'test -z "$(find -L /etc/ssl/certs -maxdepth 0 -empty)"',
      'git --version && node --version',
      'date +zone=%z',
      'test "$(readlink /etc/localtime)" = /usr/share/zoneinfo/Asia/Tokyo',
      'awk "BEGIN { print 1 }"',
      '! touch /etc/new',
    ].join('\n')
    const { status, output } = await run(script)
    expect(status, output).toBe('completed')
    expect(output).toContain('zone=+0900')
  })
})

/** Writes a file with a secret below the private copy of the system's settings. */
function place(name: string, mode: number): void {
  const path = join(settings, name)
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  writeFileSync(path, 'secret')
  chmodSync(path, mode)
}

/** The content that an agent reads in /etc. Empty if it cannot. */
const read = async (name: string): Promise<string> => (await run(`cat /etc/${name} 2> /dev/null || true`)).output

/** Runs a script as a terminal card. */
async function run(script: string): Promise<{ status: string; output: string }> {
  const { id } = await client.cards.create({
    projectId,
    title: 'Read',
    kind: 'terminal',
    columnId,
    command: `{ ${script}\n} > output`,
  })
  const status = await eventually(
    'the end of the command',
    async () => {
      const card = await client.cards.get({ projectId, cardId: id })
      return ['completed', 'failed'].includes(card.status ?? '') ? card.status! : undefined
    },
    60_000,
  )
  const file = join(root, 'data/worktrees', projectId, id, 'output')
  return { status, output: existsSync(file) ? readFileSync(file, 'utf8') : '' }
}

/** Starts a server that sees the private copy as /etc. */
async function startServer(): Promise<{ server: ChildProcess; client: Client }> {
  const dataDir = join(root, 'data')
  const command = [process.execPath, resolve('bin/board.js'), 'serve', '--port', '0', '--data-dir', dataDir]
  const options = ['--sandbox', 'require', '--log-level', 'error', ...(await databaseOptions(dataDir))]
  const started = spawn(
    'bwrap',
    ['--dev-bind', '/', '/', '--bind', settings, '/etc', '--die-with-parent', '--', ...command, ...options],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { PATH: process.env.PATH ?? '', HOME: root } },
  )
  const { url, token } = await eventually(
    'a server that answers',
    () => {
      if (started.exitCode !== null) throw new Error(`The server ended with ${started.exitCode}.`)
      const file = join(dataDir, 'daemon.json')
      if (!existsSync(file)) return undefined
      return JSON.parse(readFileSync(file, 'utf8')) as { url: string; token: string }
    },
    30_000,
  )
  await untilOnDuty(url, token)
  return { server: started, client: createClient({ url, token }) }
}
