import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let cli: CommandLine
let root: string
const large = 'Zeile mit Ümläuten €\n'.repeat(80_000)
const bytes = Buffer.from(Array.from({ length: 2_500_000 }, (_, at) => (at * 7919) % 256))
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'board-fs-')))
  mkdirSync(join(root, 'folder', '.git'), { recursive: true })
  writeFileSync(join(root, 'notes.md'), '# Notes\nwith \u001b[31mred\u001b[0m\n')
  writeFileSync(join(root, 'large.txt'), large)
  writeFileSync(join(root, 'bytes.bin'), bytes)
  writeFileSync(join(root, 'odd\u001b[2Jname\n'), '')
  board = await startBoard({ browseRoot: root, dataDir: join(root, 'data') })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token })
})
afterAll(async () => {
  cli.close()
  await board.close()
  rmSync(root, { recursive: true, force: true })
})

const onTerminal = { env: { BOARD_FORCE_TTY: '100', PAGER: 'cat', NO_COLOR: '1' } }

describe('board fs ls', () => {
  test('lists the roots without a path, and a folder with one', async () => {
    expect(await cli.ok(['fs', 'ls', '-q'])).toBe(`${root}\n`)
    expect((await cli.ok(['fs', 'ls'])).trimEnd().split('\t').at(-1)).toBe(root)
    const lines = (await cli.ok(['fs', 'ls', root]))
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t'))
    expect(lines.map(([type, size, , git, name]) => [type, size, git, name])).toEqual([
      ['folder', '', 'git', 'folder'],
      ['file', '2500000', '', 'bytes.bin'],
      ['file', String(Buffer.byteLength(large)), '', 'large.txt'],
      ['file', '26', '', 'notes.md'],
      ['file', '0', '', 'odd␛[2Jname'],
    ])
    expect((await cli.json<Array<{ path: string }>>(['fs', 'ls', root]))[0]).toMatchObject({
      name: 'folder',
      path: join(root, 'folder'),
      isGitRepository: true,
    })
    expect(await cli.ok(['fs', 'ls', root, '-q'])).toContain(`${join(root, 'notes.md')}\n`)
  })

  test('is a table on a terminal, and reports an empty folder', async () => {
    const fiveHoursAgo = Date.now() / 1000 - 5.5 * 3600
    utimesSync(join(root, 'folder'), fiveHoursAgo, fiveHoursAgo)
    expect(await cli.ok(['fs', 'ls', root], onTerminal)).toMatch(
      /^TYPE +SIZE +MODIFIED +GIT +NAME\nfolder +5h ago +git +folder\n/m,
    )
    mkdirSync(join(root, 'folder', 'empty'))
    const { stdout, stderr } = await cli.board(['fs', 'ls', join(root, 'folder', 'empty')], onTerminal)
    expect([stdout, stderr]).toEqual(['', 'The folder is empty.\n'])
  })

  test('reports invalid paths, each with its exit code', async () => {
    const ended = async (path: string) => (await cli.board(['fs', 'ls', path])).code
    expect([
      await ended('relative'),
      await ended('/etc'),
      await ended(join(root, 'nothing')),
      await ended(join(root, 'data')),
    ]).toEqual([2, 4, 3, 3])
  })

  test('resolves a local path for the server of this machine', async () => {
    const env = { BOARD_URL: '', BOARD_TOKEN: '', BOARD_DATA_DIR: board.dataDir }
    expect(await cli.ok(['fs', 'ls', 'folder', '-q'], { env, cwd: root })).toContain(join(root, 'folder', '.git'))
    expect(await cli.ok(['fs', 'cat', './notes.md'], { env, cwd: root })).toContain('# Notes')
  })
})

describe('board fs cat', () => {
  test('prints a file verbatim in a pipe, regardless of size and content', async () => {
    expect(await cli.ok(['fs', 'cat', join(root, 'notes.md')])).toBe('# Notes\nwith \u001b[31mred\u001b[0m\n')
    expect((await cli.ok(['fs', 'cat', join(root, 'large.txt')])) === large).toBe(true)
    await cli.ok(['fs', 'cat', join(root, 'bytes.bin'), '-o', join(cli.home, 'saved.bin')])
    expect(readFileSync(join(cli.home, 'saved.bin')).equals(bytes)).toBe(true)
    expect(await cli.ok(['fs', 'cat', join(root, 'notes.md'), '-o', cli.home])).toBe(`${join(cli.home, 'notes.md')}\n`)
    expect(statSync(join(cli.home, 'notes.md')).size).toBe(26)
  })

  test('is sanitized on a terminal, where files that are not text are not printed', async () => {
    expect(await cli.ok(['fs', 'cat', join(root, 'notes.md')], onTerminal)).toBe('# Notes\nwith ␛[31mred␛[0m\n')
    const { code, stderr } = await cli.board(['fs', 'cat', join(root, 'bytes.bin')], onTerminal)
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/is not a text file \(application\/octet-stream\)\nto save it: -o FILE/),
    ])
  })

  test('prints the response with --json', async () => {
    expect(await cli.json(['fs', 'cat', join(root, 'notes.md')])).toMatchObject({
      size: 26,
      contentType: 'text/markdown',
      encoding: 'utf8',
      truncated: false,
    })
  })

  test('reports invalid paths', async () => {
    const ended = async (path: string) => (await cli.board(['fs', 'cat', path])).code
    expect([await ended('/etc/passwd'), await ended(join(root, 'nothing')), await ended(root)]).toEqual([4, 3, 2])
  })
})
