import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient, type ApiFailure, type Client } from '../../src/client/index.ts'
import { drive } from '../bench/load.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { fillDisk, mayMount, mountDisk, resizeDisk, unmountDisk } from '../support/processes/smallDisk.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'

let root: string
let dataDir: string
let child: ChildProcess | undefined
let client: Client
let url: string
let token: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-full-'))
  dataDir = join(root, 'disk', 'data')
  mkdirSync(join(root, 'disk'))
})
afterEach(async () => {
  if (child?.exitCode === null) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  for (const folder of [join(dataDir, 'logs'), join(root, 'disk')]) unmountDisk(folder)
  rmSync(root, { recursive: true, force: true })
})

const hasLimits = process.platform !== 'win32'
if (!hasLimits) reportSkipped('A limit of the process', 'Windows has none')

/** Starts a server in a shell that has set limits. */
async function start(before = ':'): Promise<void> {
  hideAgents(dataDir)
  child = spawn(
    'sh',
    [
      '-c',
      `${before}; exec "$0" "$@"`,
      process.execPath,
      resolve('bin/board.js'),
      'serve',
      '--port',
      '0',
      '--data-dir',
      dataDir,
    ],
    { env: { PATH: process.env.PATH, HOME: root }, stdio: ['ignore', 'pipe', 'ignore'] },
  )
  let said = ''
  child.stdout!.on('data', (text: Buffer) => {
    said += String(text)
  })
  url = await eventually('a server that listens', () => /Listening on (\S+)/.exec(said)?.[1], 15_000)
  token = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8')).token
  client = createClient({ url, token })
}

const failureOf = (work: Promise<unknown>): Promise<ApiFailure | undefined> =>
  work.then(
    () => undefined,
    (error: ApiFailure) => error,
  )
const prompt = 'x'.repeat(60_000)

/** Writes until the disk is full, and returns the first rejection and the titles acknowledged before. */
async function writeUntilFull(projectId: string): Promise<{ failure: ApiFailure; acknowledged: string[] }> {
  const acknowledged: string[] = []
  for (let number = 0; number < 2000; number++) {
    const failure = await failureOf(client.cards.create({ projectId, title: `card ${number}`, prompt, deferred: true }))
    if (failure) return { failure, acknowledged }
    acknowledged.push(`card ${number}`)
  }
  throw new Error('The disk was never full.')
}

const titles = async (projectId: string) => (await client.cards.list({ projectId })).map(({ title }) => title)

/** Expects the behavior on a full disk, regardless of the cause. */
async function expectReadsOnly(projectId: string, failure: ApiFailure, acknowledged: string[]): Promise<void> {
  expect([failure.status, failure.code, failure.retryAfterSecs]).toEqual([503, 'DISK_FULL', 30])
  for (let round = 0; round < 5; round++)
    expect(await failureOf(client.cards.create({ projectId, title: 'refused', prompt, deferred: true }))).toMatchObject(
      { code: 'DISK_FULL' },
    )
  expect(await titles(projectId)).toEqual(acknowledged)
  expect((await fetch(`${url}/api/health`)).status).toBe(200)
}

describe.skipIf(!mayMount)('on a separate disk (needs the right to mount one)', () => {
  it('a full disk rejects writes with 503 DISK_FULL, answers reads, and accepts writes again when there is space', async () => {
    mountDisk(join(root, 'disk'), '24m')
    await start()
    const { id: projectId } = await client.projects.create({ name: 'Full', path: root })
    const { failure, acknowledged } = await writeUntilFull(projectId)
    await expectReadsOnly(projectId, failure, acknowledged)
    const attached = join(root, 'attached')
    writeFileSync(attached, Buffer.alloc(3_000_000))
    const cardId = (await client.cards.list({ projectId, limit: 1 }))[0]!.id
    expect(await failureOf(client.attachments.create({ projectId, cardId, file: { path: attached } }))).toMatchObject({
      status: 503,
      code: 'DISK_FULL',
    })
    expect(await failureOf(client.backups.create())).toMatchObject({ status: 503, code: 'DISK_FULL' })
    expect(readdirSync(join(dataDir, 'attachments'))).toEqual([])
    expect(readdirSync(join(dataDir, 'backups'))).toEqual([])
    resizeDisk(join(root, 'disk'), '128m')
    await client.cards.create({ projectId, title: 'room again', deferred: true })
    expect(await titles(projectId)).toEqual([...acknowledged, 'room again'])
    await eventually('a server that is ready', async () => (await fetch(`${url}/api/ready`)).ok)
    const { filename } = await client.backups.create()
    expect(await client.backups.restore({ filename })).toMatchObject({ filename })
    expect(await titles(projectId)).toEqual([...acknowledged, 'room again'])
  })

  it('a restore that does not fit changes nothing', async () => {
    mountDisk(join(root, 'disk'), '64m')
    await start()
    const { id: projectId } = await client.projects.create({ name: 'Full', path: root })
    const attached = join(root, 'attached')
    writeFileSync(attached, Buffer.from(Array.from({ length: 6_000_000 }, (_, index) => (index * 7919) % 251)))
    const { id: cardId } = await client.cards.create({ projectId, title: 'with a file', deferred: true })
    const attachment = await client.attachments.create({ projectId, cardId, file: { path: attached } })
    const { filename } = await client.backups.create()
    await client.attachments.delete({ attachmentId: attachment.id })
    const left = Number(
      execFileSync('df', ['--output=avail', '-B1', join(root, 'disk')], { encoding: 'utf8' }).split('\n')[1],
    )
    writeFileSync(join(root, 'disk', 'ballast'), Buffer.alloc(left - 2_000_000))
    expect(await failureOf(client.backups.restore({ filename }))).toMatchObject({ status: 503, code: 'DISK_FULL' })
    expect(await titles(projectId)).toEqual(['with a file'])
    expect(readdirSync(dataDir).filter(name => /^(restor|replaced|damaged)/.test(name))).toEqual([])
    rmSync(join(root, 'disk', 'ballast'))
    await client.backups.restore({ filename })
    expect(await client.attachments.list({ projectId, cardId })).toHaveLength(1)
  })

  it('a full disk below the log drops only log entries, reports their number, and accepts entries again when there is space', async () => {
    const folder = join(dataDir, 'logs')
    mkdirSync(folder, { recursive: true })
    mountDisk(folder, '1m')
    await start()
    const { id: projectId } = await client.projects.create({ name: 'Logged', path: root })
    /** Requests missing paths: each response is one log entry. */
    const fill = () =>
      drive({
        port: Number(new URL(url).port),
        clients: 8,
        durationMs: 300,
        token,
        next: () => ({ method: 'GET', path: `/api/projects/${projectId}/cards/999999` }),
      })
    const dropped = async () =>
      Number(/board_log_dropped_total\{to="files"\} (\d+)/.exec(await text((await client.server.metrics()).body))![1])
    const lines = () => readFileSync(join(folder, 'board.log'), 'utf8').split('\n').slice(0, -1)
    const empty = fillDisk(folder)
    await eventually('entries that were dropped', async () => {
      await fill()
      return (await dropped()) > 0
    })
    expect(await client.logs.list({ search: 'CARD_NOT_FOUND', limit: 10 })).toHaveLength(10)
    expect((await fetch(`${url}/api/ready`)).status).toBe(200)
    empty()
    const before = lines().at(-1)
    await eventually('a line in the file', async () => {
      await client.cards.create({ projectId, title: 'room again', deferred: true })
      return lines().at(-1) !== before
    })
    for (const line of lines()) expect(() => JSON.parse(line)).not.toThrow()
  })
})

describe.skipIf(!hasLimits)('under a limit of the process', () => {
  it('a file size limit is treated like a full disk, and no acknowledged write is lost', async () => {
    await start('trap "" XFSZ; ulimit -f 6000')
    const { id: projectId } = await client.projects.create({ name: 'Full', path: root })
    const { failure, acknowledged } = await writeUntilFull(projectId)
    await expectReadsOnly(projectId, failure, acknowledged)
    const ended = once(child!, 'exit')
    child!.kill('SIGTERM')
    await ended
    await start()
    expect(await titles(projectId)).toEqual(acknowledged)
    await client.cards.create({ projectId, title: 'room again', deferred: true })
  })
})
