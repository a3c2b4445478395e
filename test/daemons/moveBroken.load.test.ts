import { spawn, type ChildProcess } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/store/engine/database.ts'
import { openSharedDatabase } from '../../src/store/engine/open.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'
import { suspendProcess } from '../support/processes/suspendProcess.ts'
import { isSharable, secretKey } from './sharing.ts'

const cardCount = Number(process.env.BOARD_TEST_CARDS ?? 1500)
const program = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')

describe.skipIf(!isSharable)('an interrupted move', () => {
  let own: TestBoard
  let server: LibsqlServer
  let cli: CommandLine
  let target: Database
  const running = new Set<ChildProcess>()

  beforeAll(async () => {
    ;[own, server, cli] = [
      await startBoard({ secretKey }),
      await startLibsqlServer(),
      commandLine({ BOARD_SECRET_KEY: secretKey }),
    ]
    target = await openSharedDatabase({ url: server.url, host: 'test', clock: () => new Date() })
    const { id: projectId } = await own.client.projects.create({ name: 'Moving', path: own.folder('project') })
    for (let at = 0; at < cardCount; at += 300)
      await Promise.all(
        Array.from({ length: 300 }, (_, number) =>
          own.client.cards.create({ projectId, title: `card ${at + number}`, deferred: true }),
        ),
      )
    await own.server.stop()
  })
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL')
    await target.close()
    cli.close()
    await server.close()
    await own.close()
  })

  const args = (to: string, ...more: string[]) => [
    'database',
    'move',
    '--to',
    to,
    '--data-dir',
    own.dataDir,
    '--machine',
    'one',
    '--yes',
    ...more,
  ]
  /** Starts a move, and waits until some of the cards have been copied. */
  async function halfMoved(
    ...more: string[]
  ): Promise<{ child: ChildProcess; ended: Promise<unknown>; stderr: () => string }> {
    const copyNow = () =>
      target
        .get<{ id: string; some: number }>(
          `SELECT value AS id, EXISTS (SELECT 1 FROM cards) AS some FROM server_settings WHERE name = 'unfinished-copy'`,
        )
        .catch(() => undefined)
    const before = await copyNow()
    const child = spawn(process.execPath, [program, ...args(server.url, ...more)], {
      env: cli.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    running.add(child)
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const ended = once(child, 'close')
    const copied = async () => {
      const present = await copyNow()
      return present?.some === 1 && present.id !== before?.id
    }
    const until = performance.now() + 20_000
    while (!(await copied()))
      if (child.exitCode !== null || performance.now() > until)
        throw new Error(`The move did not come half way: ${stderr}`)
    return { child, ended, stderr: () => stderr }
  }
  /** The board is served from its file as before. */
  async function servesAtHome(): Promise<void> {
    expect([existsSync(join(own.dataDir, 'board.db')), existsSync(join(own.dataDir, 'moved.json'))]).toEqual([
      true,
      false,
    ])
    const board = await startBoard({ dataDir: own.dataDir, secretKey })
    const [project] = await board.client.projects.list()
    expect((await board.client.projects.stats({ id: project!.id })).total).toBe(cardCount)
    await board.server.stop()
  }
  /** Expects that no daemon accepts the content of the server as a board. */
  async function isNoBoard(): Promise<void> {
    await expect(startBoard({ secretKey, database: { url: server.url, host: 'two' } })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('incomplete copy'),
    })
    const back = await cli.board([
      'database',
      'move',
      '--from',
      server.url,
      '--data-dir',
      join(cli.home, 'back'),
      '--machine',
      'one',
      '--yes',
    ])
    expect([back.code, back.stderr]).toEqual([5, expect.stringContaining('incomplete copy')])
    expect(existsSync(join(cli.home, 'back', 'board.db'))).toBe(false)
  }

  it('by a kill keeps the board in place, and leaves nothing on the server that is accepted as one', async () => {
    const { child, ended } = await halfMoved()
    child.kill('SIGKILL')
    await ended
    await isNoBoard()
    await servesAtHome()
  })

  it('by the end of the server is reported within seconds, and leaves the same state', async () => {
    const { ended, stderr, child } = await halfMoved('--replace')
    const killedAt = performance.now()
    await server.kill()
    await ended
    expect(performance.now() - killedAt).toBeLessThan(10_000)
    expect([child.exitCode, stderr()]).toEqual([7, expect.stringMatching(/database server/)])
    await servesAtHome()
    await server.restart()
    await isNoBoard()
  })

  it('by another move that started later writes nothing more', async () => {
    const { child, ended, stderr } = await halfMoved('--replace')
    await suspendProcess(child.pid!)
    const other = await startBoard({ secretKey })
    await other.server.stop()
    // A commit of the paused daemon delays all others for some seconds.
    await eventually(
      'the later move',
      async () => {
        const { code, stderr: told } = await cli.board([
          'database',
          'move',
          '--to',
          server.url,
          '--data-dir',
          other.dataDir,
          '--machine',
          'one',
          '--yes',
          '--replace',
        ])
        expect([[0, 7].includes(code!), told]).toEqual([true, expect.any(String)])
        return code === 0
      },
      20_000,
    )
    child.kill('SIGCONT')
    await ended
    expect([child.exitCode, stderr()]).toEqual([
      expect.toSatisfy((code: number) => code === 5 || code === 7),
      expect.stringMatching(/Another copy|another copy|database server/),
    ])
    expect(
      await target.get('SELECT (SELECT count(*) FROM cards) AS cards, (SELECT count(*) FROM projects) AS projects'),
    ).toEqual({ cards: 0, projects: 0 })
    expect(existsSync(join(own.dataDir, 'moved.json'))).toBe(false)
    await other.close()
  })

  it('fails within seconds if the server is down', async () => {
    const gone = await startLibsqlServer()
    await gone.close()
    const beganAt = performance.now()
    const { code, stderr } = await cli.board(args(gone.url))
    expect([code, stderr]).toEqual([7, expect.stringContaining('cannot be reached')])
    expect(performance.now() - beganAt).toBeLessThan(10_000)
    await servesAtHome()
  })

  it('reports a rejected token, without the token', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const guarded = await startLibsqlServer({ jwtKey: publicKey.export({ format: 'jwk' }).x! })
    try {
      const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const tokenOf = (key: typeof privateKey) => {
        const body = `${text({ alg: 'EdDSA', typ: 'JWT' })}.${text({ a: 'rw' })}`
        return `${body}.${sign(null, Buffer.from(body), key).toString('base64url')}`
      }
      const wrong = tokenOf(generateKeyPairSync('ed25519').privateKey)
      for (const token of ['', wrong]) {
        for (const way of [
          args(guarded.url),
          [
            'database',
            'move',
            '--from',
            guarded.url,
            '--data-dir',
            join(cli.home, 'back'),
            '--machine',
            'one',
            '--yes',
          ],
        ]) {
          const { code, stderr } = await cli.board(way, { env: { BOARD_DATABASE_TOKEN: token } })
          expect([token, code, stderr]).toEqual([token, 4, expect.stringContaining('BOARD_DATABASE_TOKEN')])
          if (token !== '') expect(stderr).not.toContain(token)
        }
      }
      await servesAtHome()
      expect(
        await cli.board(args(guarded.url, '--dry-run'), { env: { BOARD_DATABASE_TOKEN: tokenOf(privateKey) } }),
      ).toMatchObject({ code: 0 })
    } finally {
      await guarded.close()
    }
  })

  it('can be completed by a second one', async () => {
    const { child, ended } = await halfMoved('--replace')
    child.kill('SIGKILL')
    await ended
    const { code, stderr } = await cli.board(args(server.url, '--replace'))
    expect([code, stderr]).toEqual([0, expect.stringContaining('The board is on')])
    const shared = await startBoard({ secretKey, database: { url: server.url, host: 'one' } })
    try {
      const [project] = await shared.client.projects.list()
      expect((await shared.client.projects.stats({ id: project!.id })).total).toBe(cardCount)
      expect(
        Number((await shared.client.cards.create({ projectId: project!.id, title: 'one more', deferred: true })).id),
      ).toBe(cardCount + 1)
      // A board cannot be replaced while a daemon works on it.
      const other = await startBoard({ secretKey })
      await other.server.stop()
      const refused = await cli.board([
        'database',
        'move',
        '--to',
        server.url,
        '--data-dir',
        other.dataDir,
        '--machine',
        'one',
        '--yes',
        '--replace',
      ])
      expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('ervers use this database')])
      await other.close()
      expect((await shared.client.projects.stats({ id: project!.id })).total).toBe(cardCount + 1)
    } finally {
      await shared.close()
    }
  })
})
