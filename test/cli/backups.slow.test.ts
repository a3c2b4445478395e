import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'

interface Backup {
  filename: string
  createdAt: string
  size: number
  sha256: string
  verified: boolean
  origin: string
}

let board: TestBoard
let cli: CommandLine
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token })
  projectId = (await board.client.projects.create({ name: 'Kept', path: board.folder('kept') })).id
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const newCard = (title: string) => board.client.cards.create({ projectId, title, deferred: true })
const titles = async () => (await board.client.cards.list({ projectId })).map(({ title }) => title)
const create = async () => (await cli.ok(['backups', 'create', '-q'])).trim()
const list = () => cli.json<Backup[]>(['backups', 'list'])
const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

describe('board backups', () => {
  it('creates a backup, lists it, and downloads it by its name, as the latest and to stdout', async () => {
    const filename = await create()
    const [newest] = await list()
    expect(newest).toMatchObject({ filename, verified: true, origin: 'request' })
    expect(await cli.ok(['backups', 'download', filename])).toBe(`${filename}\n`)
    expect(sha256(join(cli.home, filename))).toBe(newest!.sha256)
    expect(await cli.board(['backups', 'download', filename])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('exists'),
    })
    expect(await cli.ok(['backups', 'download', '--latest', '-o', 'latest.tar.gz'])).toBe('latest.tar.gz\n')
    expect(sha256(join(cli.home, 'latest.tar.gz'))).toBe(newest!.sha256)
    expect(statSync(join(cli.home, 'latest.tar.gz')).mode & 0o777).toBe(0o600)
    expect(await cli.board(['backups', 'download', '--latest', '-o', 'missing/latest.tar.gz'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/folder missing does not exist\n.*mkdir -p missing/),
    })
    expect(await cli.json(['backups', 'verify', '--latest'], { env: { BOARD_DATA_DIR: board.dataDir } })).toMatchObject(
      {
        filename,
      },
    )
    expect((await cli.ok(['backups', 'download', '--latest', '-o', '-'])).length).toBeGreaterThan(1000)
    expect(await cli.board(['backups', 'download'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('specify either a backup or --latest'),
    })
    expect(await cli.board(['backups', 'download', 'board-2020-01-01T00-00-00.000Z.tar.gz'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('see: board backups list'),
    })
  })

  it('creates and downloads a backup in one step', async () => {
    expect(await cli.ok(['backups', 'create', '--with-key', '-o', 'mine.tar.gz'])).toBe('mine.tar.gz\n')
    expect(sha256(join(cli.home, 'mine.tar.gz'))).toBe((await list())[0]!.sha256)
  })

  it('creates no backup for a missing folder', async () => {
    const before = await list()
    expect(await cli.board(['backups', 'create', '-o', 'missing/mine.tar.gz'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'board: folder missing does not exist\ncreate it first: mkdir -p missing\n',
    })
    expect(await list()).toEqual(before)
  })

  it('verifies a file without a server', async () => {
    const alone = { BOARD_URL: '', BOARD_TOKEN: '' }
    const good = await cli.json(['backups', 'verify', 'mine.tar.gz'], { env: alone })
    expect(good).toMatchObject({
      filename: 'mine.tar.gz',
      sha256: sha256(join(cli.home, 'mine.tar.gz')),
      attachments: 0,
      missing: 0,
      databaseSize: expect.any(Number),
    })
    const bytes = readFileSync(join(cli.home, 'mine.tar.gz'))
    writeFileSync(join(cli.home, 'half.tar.gz'), bytes.subarray(0, bytes.length / 2))
    expect(await cli.board(['backups', 'verify', 'half.tar.gz'], { env: alone })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'board: the file is not a complete backup of a board: it is damaged or incomplete\n',
    })
    expect(await cli.board(['backups', 'verify', 'none.tar.gz'], { env: alone })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('none.tar.gz is not a file on this machine'),
    })
  })

  it('uploads a file to the server', async () => {
    const filename = await create()
    await cli.ok(['backups', 'download', filename, '-o', 'moved.tar.gz'])
    expect(await cli.board(['backups', 'upload', 'moved.tar.gz'])).toMatchObject({ code: 5 })
    await cli.ok(['backups', 'delete', filename, '--yes'])
    expect((await cli.ok(['backups', 'upload', 'moved.tar.gz', '-q'])).trim()).toBe(filename)
    expect((await list())[0]).toMatchObject({ filename, origin: 'upload', verified: true })
    expect(await cli.board(['backups', 'upload', 'half.tar.gz'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not a complete backup'),
    })
  })

  it('restores by name, from a file and the latest, after a confirmation', async () => {
    await newCard('before')
    const filename = await create()
    await newCard('after')
    expect(await cli.board(['backups', 'restore', filename])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('specify --yes'),
    })
    expect(await cli.ok(['backups', 'restore', filename, '--dry-run'])).toMatch(
      new RegExp(`^would restore ${filename} from .* on ${board.url}, and keep the current data as a backup\n$`),
    )
    expect(await titles()).toContain('after')
    const restored = await cli.json(['backups', 'restore', filename, '--yes'])
    expect([restored.filename, await titles()]).toEqual([filename, ['before']])
    await cli.ok(['backups', 'download', restored.keptAs!, '-o', 'kept.tar.gz'])
    await cli.ok(['backups', 'delete', restored.keptAs!, '--yes'])
    await cli.ok(['backups', 'restore', 'kept.tar.gz', '--yes'])
    expect(await titles()).toEqual(['before', 'after'])
    const before = (await list()).length
    await cli.ok(['backups', 'restore', 'kept.tar.gz', '--yes'])
    expect((await list()).length).toBe(before + 1)
    expect(await cli.board(['backups', 'restore', 'half.tar.gz', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not a complete backup'),
    })
    expect(await cli.board(['backups', 'restore', 'none.tar.gz', '--yes'])).toMatchObject({ code: 3 })
  })

  it('deletes all but the newest, and automatically after creating one', async () => {
    await Promise.all([create(), create(), create()])
    const made = (await list()).filter(({ origin }) => origin === 'request').map(({ filename }) => filename)
    const filename = (await cli.ok(['backups', 'create', '--keep', '2', '-q'])).trim()
    expect((await list()).filter(({ origin }) => origin === 'request').map(each => each.filename)).toEqual([
      filename,
      made[0],
    ])
    expect((await list()).some(({ origin }) => origin === 'restore')).toBe(true)
    expect(await cli.board(['backups', 'delete', '--keep', '1'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    })
    await cli.ok(['backups', 'delete', '--keep', '1', '--yes'])
    expect((await list()).map(each => each.filename)).toEqual([filename])
    expect(await cli.board(['backups', 'delete'])).toMatchObject({ code: 2 })
  })

  it('works with a key in cron, which cannot delete or restore', async () => {
    const { key } = await board.client.keys.create({
      name: 'nightly',
      scope: 'server',
      permissions: ['backups.create', 'backups.read'],
    })
    const env = { BOARD_TOKEN: key }
    const filename = (await cli.ok(['backups', 'create', '-q'], { env })).trim()
    expect(await cli.ok(['backups', 'list', '-q'], { env })).toContain(filename)
    expect(await cli.ok(['backups', 'download', '--latest', '-o', 'cron.tar.gz'], { env })).toBe('cron.tar.gz\n')
    for (const args of [
      ['delete', filename, '--yes'],
      ['restore', filename, '--yes'],
      ['upload', 'cron.tar.gz'],
      ['create', '--keep', '1'],
    ])
      expect([args, (await cli.board(['backups', ...args], { env })).code]).toEqual([args, 4])
  })
})

it('on a terminal a restore requires the typed name', async () => {
  const filename = await create()
  const attempt = (typed: string) =>
    onTerminal(['backups', 'restore', filename], {
      cwd: cli.home,
      env: cli.env,
      answers: [['to confirm:', `${typed}\r`]],
    })
  expect(await attempt('yes')).toMatchObject({
    code: 1,
    text: expect.stringContaining('that is not the name; nothing was changed'),
  })
  await newCard('gone soon')
  expect(await attempt(filename)).toMatchObject({ code: 0, text: expect.stringContaining(`Restored ${filename}.`) })
  expect(await titles()).not.toContain('gone soon')
})

describe('without a server', () => {
  const alone = { BOARD_URL: '', BOARD_TOKEN: '' }

  it('a restore works on the data folder, and fails while a server uses it', async () => {
    await newCard('kept offline')
    const filename = await create()
    await newCard('lost offline')
    await cli.ok(['backups', 'download', filename, '-o', 'offline.tar.gz'])
    const here = ['backups', 'restore', 'offline.tar.gz', '--yes', '--data-dir', board.dataDir]
    expect(await cli.board(here, { env: alone })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('stop it first'),
    })
    await board.server.stop()
    expect(await cli.ok([...here, '--dry-run'], { env: alone })).toContain(`would restore offline.tar.gz from`)
    const restored = await cli.json(here, { env: alone })
    expect(restored).toEqual({ filename: 'offline.tar.gz', keptAs: expect.stringMatching(/^board-.*\.tar\.gz$/) })
    expect(
      await cli.json(['backups', 'restore', restored.keptAs!, '--yes'], {
        env: { ...alone, BOARD_DATA_DIR: board.dataDir },
      }),
    ).toMatchObject({ filename: restored.keptAs })
    expect(
      await cli.json(['backups', 'restore', filename, '--yes'], { env: { ...alone, BOARD_DATA_DIR: board.dataDir } }),
    ).toMatchObject({ filename })
    const again = await startBoard({ dataDir: board.dataDir })
    board = { ...again, close: board.close, folder: board.folder }
    expect(await titles()).toContain('kept offline')
    expect(await titles()).not.toContain('lost offline')
  })

  it('a restore creates a board in an empty folder', async () => {
    const dataDir = join(cli.home, 'new')
    expect(
      await cli.json(['backups', 'restore', 'offline.tar.gz', '--yes', '--data-dir', dataDir], { env: alone }),
    ).toEqual({ filename: 'offline.tar.gz', keptAs: null })
    const fresh = await startBoard({ dataDir })
    expect((await fresh.client.cards.list({ projectId })).map(({ title }) => title)).toContain('kept offline')
    await fresh.close()
    expect(readdirSync(dataDir).filter(name => /^(restor|replaced|damaged)/.test(name))).toEqual([])
  })

  it('a damaged database keeps the server from starting, names the good backup, and is kept when that is restored', async () => {
    const dataDir = join(cli.home, 'new')
    const env = { ...alone, BOARD_DATA_DIR: dataDir }
    const fresh = await startBoard({ dataDir })
    const { filename } = await fresh.client.backups.create()
    await fresh.close()
    writeFileSync(join(dataDir, 'board.db'), 'garbage '.repeat(1000))
    const refused = await cli.board(['serve', '--port', '0'], { env })
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /board: the database board\.db is damaged: it is not a database\. Nothing is written to it, and a copy of it is in damaged-\S+\. The newest valid backup is (\S+)\. To restore it: board backups restore \1\n/,
      ),
    })
    expect(refused.stderr).toContain(filename)
    expect(readFileSync(join(dataDir, 'board.db'), 'utf8')).toMatch(/^garbage /)
    const { keptAs } = await cli.json(['backups', 'restore', filename, '--yes'], { env })
    expect(readFileSync(join(dataDir, keptAs!, 'board.db'), 'utf8')).toMatch(/^garbage /)
    const mended = cli.start(['serve', '--port', '0'], env)
    await eventually('the server', () => mended.stdout.startsWith('Listening'), 10_000)
    mended.interrupt()
    await eventually('its end', () => mended.code !== undefined, 10_000)
    expect(mended.code).toBe(0)
  })
})
