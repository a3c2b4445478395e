import LibsqlDatabase from 'libsql'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { onLibsqlServer } from '../support/servers/testBoard.ts'

let root: string
let dataDir: string
let boards: BoardProcess[]

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-copied-'))
  dataDir = join(root, 'data')
  boards = []
})
afterEach(async () => {
  for (const board of boards) await clearAway(board, root)
})

async function serve(folder = dataDir): Promise<BoardProcess> {
  const board = boardProcess(folder, { HOME: root }, ['--log-level', 'warn'])
  boards.push(board)
  await board.start()
  return board
}
const file = (name: string, folder = dataDir) => join(folder, name)
const titlesOf = async ({ client }: BoardProcess): Promise<string[]> => {
  const [project] = await client.projects.list()
  if (!project) return []
  return (await client.cards.list({ projectId: project.id })).map(({ title }) => title).sort()
}
/** A server whose cards are in its log. */
async function filled(): Promise<BoardProcess> {
  const board = await serve()
  const { id: projectId } = await board.client.projects.create({ name: 'Kept', path: root })
  for (const title of ['A', 'B']) await board.client.cards.create({ projectId, title })
  return board
}
/** A server that was killed. */
async function killed(): Promise<void> {
  await (await filled()).end('SIGKILL')
}
/** Starts a server that exits immediately, and returns its exit code and its output. */
function refusal(folder = dataDir): { code: number | null; stderr: string } {
  const { status, stderr } = spawnSync(
    process.execPath,
    [resolve('bin/board.js'), 'serve', '--port', '0', '--data-dir', folder],
    { env: { PATH: process.env.PATH, HOME: root }, encoding: 'utf8', timeout: 30_000 },
  )
  return { code: status, stderr }
}
const lacking = (folder = dataDir) => ({
  code: 5,
  stderr: expect.stringMatching(
    `board.db in ${folder} lacks changes that were saved until \\S+Z\\. It was copied without board\\.db-wal`,
  ),
})
const copiedWarning = 'board.db was copied from a server that had not stopped, without board.db-wal'

describe.skipIf(onLibsqlServer)('a database without its log', () => {
  test('is rejected and unchanged, until the log is in place', async () => {
    await killed()
    copyFileSync(file('board.db-wal'), join(root, 'log'))
    rmSync(file('board.db-wal'))
    const before = readFileSync(file('board.db'))
    for (let start = 0; start < 2; start++) expect(refusal()).toEqual(lacking())
    expect(readFileSync(file('board.db')).equals(before)).toBe(true)
    copyFileSync(join(root, 'log'), file('board.db-wal'))
    const board = await serve()
    expect([await titlesOf(board), board.stderr]).toEqual([['A', 'B'], ''])
  })

  test('is rejected if the log is empty', async () => {
    await killed()
    truncateSync(file('board.db-wal'))
    expect(refusal()).toEqual(lacking())
  })

  test('is rejected in a copy of the folder of a running server', async () => {
    const board = await filled()
    const copy = join(root, 'copy')
    cpSync(dataDir, copy, {
      recursive: true,
      filter: source => !/-(wal|shm)$/.test(source) && !source.endsWith('.lock'),
    })
    expect(refusal(copy)).toEqual(lacking(copy))
    expect(await titlesOf(board)).toEqual(['A', 'B'])
  })

  test('starts if the record of its use is deleted', async () => {
    await killed()
    rmSync(file('board.db-wal'))
    expect(refusal().stderr).toContain(`delete database-use.json in ${dataDir}`)
    rmSync(file('database-use.json'))
    const board = await serve()
    expect(await titlesOf(board)).toEqual([])
    expect(board.stderr).toContain(copiedWarning)
  })

  test('starts with a warning if it was copied alone from a running server', async () => {
    await filled()
    const copy = join(root, 'copy')
    cpSync(file('board.db'), file('board.db', copy))
    const board = await serve(copy)
    expect(board.stderr).toContain(copiedWarning)
    await board.end('SIGTERM')
    await board.start()
    expect(board.stderr).toBe('')
  })

  test('starts if it was copied alone from a server that had stopped', async () => {
    await (await filled()).end('SIGTERM')
    expect(existsSync(file('database-use.json'))).toBe(false)
    const copy = join(root, 'copy')
    cpSync(file('board.db'), file('board.db', copy))
    const board = await serve(copy)
    expect([await titlesOf(board), board.stderr]).toEqual([['A', 'B'], ''])
  })
})

describe.skipIf(onLibsqlServer)('a complete database starts', () => {
  test.each([
    ['after kill -9', () => {}],
    [
      'after kill -9 and a power loss that emptied the record of its use',
      () => writeFileSync(file('database-use.json'), ''),
    ],
    [
      'after kill -9 if another program moved the log into the file',
      () => {
        const script = `const D = require('libsql'); const d = new D(process.argv[1]); d.exec('PRAGMA wal_checkpoint(TRUNCATE)'); d.close()`
        expect(spawnSync(process.execPath, ['-e', script, file('board.db')], { cwd: process.cwd() }).status).toBe(0)
        rmSync(file('board.db-wal'), { force: true })
      },
    ],
    [
      'after kill -9 if VACUUM INTO copied it',
      () => {
        const database = new LibsqlDatabase(file('board.db'))
        database.prepare('VACUUM INTO ?').run([join(root, 'vacuumed.db')])
        database.close()
        for (const name of ['board.db', 'board.db-wal', 'board.db-shm']) rmSync(file(name), { force: true })
        copyFileSync(join(root, 'vacuumed.db'), file('board.db'))
      },
    ],
  ])('%s', async (_name, change) => {
    await killed()
    change()
    const board = await serve()
    expect([await titlesOf(board), board.stderr]).toEqual([['A', 'B'], ''])
  })

  test('after kill -9 if a copy from before the run replaces it', async () => {
    const board = await filled()
    await board.end('SIGTERM')
    copyFileSync(file('board.db'), join(root, 'older.db'))
    await board.start()
    const [project] = await board.client.projects.list()
    await board.client.cards.create({ projectId: project!.id, title: 'C' })
    await board.end('SIGKILL')
    for (const name of ['board.db-wal', 'board.db-shm']) rmSync(file(name))
    copyFileSync(join(root, 'older.db'), file('board.db'))
    const restarted = await serve()
    expect([await titlesOf(restarted), restarted.stderr]).toEqual([['A', 'B'], ''])
  })

  test('after kill -9 if a backup of the same run is restored', async () => {
    const board = await filled()
    const { filename } = await board.client.backups.create()
    const [project] = await board.client.projects.list()
    await board.client.cards.create({ projectId: project!.id, title: 'C' })
    await board.end('SIGKILL')
    const { status, stderr } = spawnSync(
      process.execPath,
      [resolve('bin/board.js'), 'backups', 'restore', filename, '--yes', '--data-dir', dataDir],
      { env: { PATH: process.env.PATH, HOME: root, BOARD_DATA_DIR: dataDir }, encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([0, expect.any(String)])
    const restored = await serve()
    expect([await titlesOf(restored), restored.stderr]).toEqual([['A', 'B'], ''])
  })
})
