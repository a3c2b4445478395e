import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'

let board: TestBoard
/** The folder with all files of these tests. `home` is the browse root; the projects are `home/code/own` and `foreign`. */
let root: string
let home: string
let own: string
let foreign: string
const tokens = {} as Record<'super' | 'ada' | 'bob' | 'nobody', string>

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'board-files-')))
  home = join(root, 'home')
  own = join(home, 'code', 'own')
  foreign = join(root, 'foreign')
  for (const folder of [own, foreign, join(own, 'src', 'deep'), join(root, 'outside', 'folder')])
    mkdirSync(folder, { recursive: true })
  writeFileSync(join(root, 'outside', 'secret.txt'), 'not readable by any user')
  writeFileSync(join(own, 'README.md'), '# Ünïcode\n')
  execFileSync('git', ['init', '-q', own])
  board = await startBoard({ browseRoot: home, dataDir: join(home, 'board-data') })
  tokens.super = (await board.as().auth.setup({ email: 'super@example.org', password: 'root password' })).token
  for (const name of ['ada', 'bob', 'nobody'] as const)
    tokens[name] = (await board.as().auth.register({ email: `${name}@example.org`, password: 'a long password' })).token
  await board.as(tokens.ada).projects.create({ name: 'Own', path: own })
  await board.as(tokens.bob).projects.create({ name: 'Foreign', path: foreign })
})
afterAll(async () => {
  await board.close()
  rmSync(root, { recursive: true, force: true })
})

type Who = keyof typeof tokens
const as = (who: Who): Client['filesystem'] => board.as(tokens[who]).filesystem
const browse = async (path: string, who: Who = 'ada') => (await as(who).browse({ path })).entries
const names = async (path: string, who: Who = 'ada') => (await browse(path, who)).map(({ name }) => name)
const get = (what: 'browse' | 'read', path: string, who: Who = 'ada'): Promise<Reply> =>
  board.request('GET', `/api/filesystem/${what}?${new URLSearchParams({ path })}`, { token: tokens[who] })
const code = async (what: 'browse' | 'read', path: string, who: Who = 'ada'): Promise<string> => {
  const { status, body } = await get(what, path, who)
  return status === 200 ? 'ok' : body.error.code
}
const file = (name: string, content: string | Buffer = ''): string => {
  writeFileSync(join(own, name), content)
  return join(own, name)
}

describe('browsing', () => {
  test('lists folders first, then the rest by name, with type, size and time, and marks repositories', async () => {
    mkdirSync(join(own, 'listed', 'b-folder'), { recursive: true })
    mkdirSync(join(own, 'listed', 'a-repository', '.git'), { recursive: true })
    file('listed/z.txt', '12345')
    file('listed/.hidden', '')
    symlinkSync('z.txt', join(own, 'listed', 'm-link'))
    const { path, parent, entries, truncated } = await as('ada').browse({ path: `${own}/listed/../listed//` })
    expect([path, parent, truncated]).toEqual([join(own, 'listed'), own, false])
    expect(entries.map(({ name, type, size, isGitRepository }) => [name, type, size, isGitRepository])).toEqual([
      ['a-repository', 'folder', null, true],
      ['b-folder', 'folder', null, false],
      ['.hidden', 'file', 0, false],
      ['m-link', 'link', null, false],
      ['z.txt', 'file', 5, false],
    ])
    expect(entries.at(-1)).toMatchObject({
      path: join(own, 'listed', 'z.txt'),
      modifiedAt: expect.stringMatching(/^20\d\d-.*Z$/),
    })
  })

  test('begins with the folders of the visible projects, and for a super_admin with the browse root', async () => {
    const roots = async (who: Who) =>
      (await as(who).browse()).entries.map(({ path, isGitRepository }) => [path, isGitRepository])
    expect(await roots('ada')).toEqual([[own, true]])
    expect(await roots('bob')).toEqual([[foreign, false]])
    expect(await roots('nobody')).toEqual([])
    expect((await roots('super')).sort()).toEqual([
      [foreign, false],
      [home, false],
      [own, true],
    ])
  })

  test('leads up to a root and no further', async () => {
    expect((await as('ada').browse({ path: join(own, 'src') })).parent).toBe(own)
    expect((await as('ada').browse({ path: own })).parent).toBeNull()
    expect((await as('super').browse({ path: own })).parent).toBe(join(home, 'code'))
    expect((await as('super').browse({ path: home })).parent).toBeNull()
  })

  test('lists at most ten thousand entries, while others are answered', async () => {
    const folder = join(own, 'thousands')
    mkdirSync(folder)
    for (let number = 0; number < 10_000; number++)
      writeFileSync(join(folder, `file-${String(number).padStart(5, '0')}`), '')
    let waits: number[] = []
    let isOver = false
    const others = (async () => {
      while (!isOver) {
        const startedAtMs = performance.now()
        await board.client.server.health()
        waits.push(performance.now() - startedAtMs)
      }
    })()
    const tookMs: number[] = []
    for (let round = 0; round < 5; round++) {
      const startedAtMs = performance.now()
      const entries = await browse(folder)
      tookMs.push(performance.now() - startedAtMs)
      expect(entries).toHaveLength(10_000)
      expect(entries[1234]!.name).toBe('file-01234')
    }
    isOver = true
    await others
    waits = waits.sort((a, b) => a - b)
    console.info(
      `10,000 entries: ${tookMs.map(ms => ms.toFixed(0)).join(', ')} ms; others waited ${waits[Math.floor(waits.length * 0.99)]!.toFixed(0)} ms at the 99th percentile`,
    )
    expect(Math.min(...tookMs)).toBeLessThan(1500 * slowdown())
    writeFileSync(join(folder, 'one-more'), '')
    const { entries, truncated } = await as('ada').browse({ path: folder })
    expect([entries.length, truncated]).toEqual([10_000, true])
  })

  test('shows names verbatim that have control characters, spaces and other alphabets', async () => {
    const odd = ['\u001b[31mred', 'two\nlines', ' spaces ', 'ünï', '日本', '-rf', '%2e%2e', 'a\\b']
    mkdirSync(join(own, 'odd'))
    for (const name of odd) file(`odd/${name}`, name)
    expect(await names(join(own, 'odd'))).toEqual(odd.toSorted())
    for (const name of odd) expect((await as('ada').read({ path: join(own, 'odd', name) })).content).toBe(name)
  })
})

describe('reading', () => {
  test('returns text with its size and type', async () => {
    expect(await as('ada').read({ path: join(own, 'README.md') })).toEqual({
      path: join(own, 'README.md'),
      size: 12,
      contentType: 'text/markdown',
      encoding: 'utf8',
      content: '# Ünïcode\n',
      truncated: false,
    })
    expect(await as('ada').read({ path: file('empty', '') })).toMatchObject({
      size: 0,
      encoding: 'utf8',
      content: '',
      truncated: false,
    })
    expect((await as('ada').read({ path: file('bom.txt', '\ufeffx') })).content).toBe('\ufeffx')
  })

  test('returns files that are not text as base64, with a type from their content', async () => {
    const picture = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    expect(await as('ada').read({ path: file('picture.txt', picture) })).toMatchObject({
      contentType: 'image/png',
      encoding: 'base64',
      content: picture.toString('base64'),
    })
    for (const bytes of [Buffer.from('a\0b'), Buffer.from([0xff, 0xfe, 0x41]), Buffer.from([0xe2, 0x82])])
      expect(await as('ada').read({ path: file('bytes', bytes) })).toMatchObject({
        encoding: 'base64',
        content: bytes.toString('base64'),
      })
  })

  // With so many bytes before the text, the first chunk ends between two characters, or within one of two, three or four bytes.
  test.each([1, 2, 3, 8, 18, 19, 20])(
    'returns large text in parts that split no character, and together are the file (%i bytes before it)',
    async before => {
      const text = 'x'.repeat(before) + '€uro ünd 日本 🙂 '.repeat(90_000)
      const path = file('large.txt', text)
      const parts: string[] = []
      for (let offset = 0; ;) {
        const part = await as('ada').read({ path, offset })
        expect(part.encoding).toBe('utf8')
        expect(Buffer.byteLength(part.content)).toBeLessThanOrEqual(1024 * 1024)
        parts.push(part.content)
        if (!part.truncated) break
        offset += Buffer.byteLength(part.content)
      }
      expect(parts.length).toBeGreaterThan(2)
      expect(parts.join('') === text).toBe(true)
    },
  )

  test('returns a part of a file of many gigabytes as quickly as of a small one', async () => {
    const path = file('huge.bin', 'start')
    truncateSync(path, 50 * 1024 ** 3)
    const startedAtMs = performance.now()
    expect(await as('ada').read({ path, offset: 49 * 1024 ** 3 })).toMatchObject({
      size: 50 * 1024 ** 3,
      encoding: 'base64',
      truncated: true,
    })
    expect(await as('ada').read({ path, offset: 51 * 1024 ** 3 })).toMatchObject({ content: '', truncated: false })
    expect(performance.now() - startedAtMs).toBeLessThan(1000 * slowdown())
    unlinkSync(path)
  })

  test('requires a file, and browsing a folder', async () => {
    expect([await code('read', own), await code('browse', join(own, 'README.md'))]).toEqual([
      'VALIDATION_FAILED',
      'VALIDATION_FAILED',
    ])
  })

  test('never opens a pipe, a device or a socket', async () => {
    const pipe = join(own, 'pipe')
    execFileSync('mkfifo', [pipe])
    const server = createServer().listen(join(own, 'socket'))
    await once(server, 'listening')
    symlinkSync('pipe', join(own, 'link-to-pipe'))
    for (const name of ['pipe', 'socket', 'link-to-pipe'])
      for (const what of ['read', 'browse'] as const)
        expect(await code(what, join(own, name))).toBe('VALIDATION_FAILED')
    expect((await browse(own)).filter(({ type }) => type === 'other').map(({ name }) => name)).toEqual([
      'pipe',
      'socket',
    ])
    server.close()
    const device = await startBoard({ browseRoot: '/dev' })
    expect((await device.request('GET', '/api/filesystem/read?path=/dev/zero')).body.error.code).toBe(
      'VALIDATION_FAILED',
    )
    await device.close()
    unlinkSync(pipe)
  })
})

describe('the roots', () => {
  test('are the only readable folders, for any form of path', async () => {
    expect([await code('browse', 'code'), await code('browse', './x'), await code('read', 'C:\\x')]).toEqual([
      'PATH_NOT_ABSOLUTE',
      'PATH_NOT_ABSOLUTE',
      'PATH_NOT_ABSOLUTE',
    ])
    for (const path of [
      '/',
      '/etc',
      '/etc/passwd',
      root,
      home,
      `${own}/..`,
      `${own}/../../..`,
      `${own}-other`,
      `${own}/../own2`,
      foreign,
      '/proc/self/environ',
      '//etc',
    ])
      expect(await code('browse', path), path).toBe('PATH_OUTSIDE_ROOTS')
    expect(
      (await board.request('GET', `/api/filesystem/read?path=${own}/README.md%00.png`, { token: tokens.ada })).status,
    ).toBe(400)
  })

  test('do not reveal what exists outside, by a path or by a link', async () => {
    const answer = async (path: string, who: Who = 'ada') =>
      (await get('read', path, who)).text + (await get('browse', path, who)).text
    const [nothing, there] = [join(root, 'outside', 'nothing'), join(root, 'outside', 'secret.txt')]
    expect(await answer(nothing)).toBe(await answer(there))
    const links: Record<string, string> = {
      'to-file': there,
      'to-nothing': nothing,
      'to-folder': join(root, 'outside', 'folder'),
      'to-no-folder': join(root, 'outside', 'no-folder'),
      relative: '../../../outside/secret.txt',
      'relative-nothing': '../../../outside/nothing',
      'to-root': '/',
      through: join(root, 'outside', 'folder', '..', '..', 'home', 'code', 'own', '..', '..', '..', 'outside'),
      'there-and-back': join(root, 'outside', 'folder', '..', '..', 'outside', 'nothing'),
      'to-foreign': foreign,
    }
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(own, name))
    symlinkSync('to-file', join(own, 'chained'))
    symlinkSync(join(root, 'outside'), join(own, 'src', 'away'))
    const refused = await answer(nothing)
    for (const path of [
      ...Object.keys(links),
      'chained',
      'to-folder/x',
      'to-no-folder/x',
      'src/away',
      'src/away/secret.txt',
      'src/away/nothing',
      'to-root/etc/passwd',
      'to-root/etc/nothing',
    ])
      expect(await answer(join(own, path)), path).toBe(refused)
    expect(JSON.parse((await get('read', nothing)).text).error).toEqual({
      code: 'PATH_OUTSIDE_ROOTS',
      message: 'path must be in the folder of a project that you can view.',
    })
  })

  test('answer paths outside them with FILE_NOT_FOUND', async () => {
    symlinkSync('nowhere', join(own, 'dangling'))
    symlinkSync('ring-b', join(own, 'ring-a'))
    symlinkSync('ring-a', join(own, 'ring-b'))
    for (const path of ['nothing', 'nothing/x', 'README.md/x', 'dangling', 'ring-a', 'x'.repeat(300)])
      for (const what of ['read', 'browse'] as const)
        expect(await code(what, join(own, path)), path).toBe('FILE_NOT_FOUND')
  })

  test('can be reached by links inside them, and can be links themselves', async () => {
    symlinkSync('../README.md', join(own, 'src', 'readme'))
    symlinkSync(own, join(own, 'src', 'deep', 'home'))
    expect((await as('ada').read({ path: join(own, 'src', 'deep', 'home', 'src', 'readme') })).content).toBe(
      '# Ünïcode\n',
    )
    const named = join(root, 'named')
    symlinkSync(own, named)
    const { id } = await board.as(tokens.nobody).projects.create({ name: 'By a link', path: named })
    expect((await as('nobody').read({ path: join(named, 'README.md') })).size).toBe(12)
    expect(await names(join(named, 'src'), 'nobody')).toEqual(['deep', 'away', 'readme'])
    expect((await as('nobody').browse({ path: join(named, 'src') })).parent).toBe(named)
    expect(await code('read', join(own, 'README.md'), 'nobody')).toBe('ok')
    await board.as(tokens.nobody).projects.delete({ id })
    expect(await code('read', join(named, 'README.md'), 'nobody')).toBe('PATH_OUTSIDE_ROOTS')
  })

  test("never show the server's data folder, under any name", async () => {
    expect(readdirSync(join(home, 'board-data'))).toContain('config.json')
    symlinkSync('board-data', join(home, 'alias'))
    expect(await names(home, 'super')).toEqual(['code', 'alias'])
    for (const path of [
      'board-data',
      'board-data/config.json',
      'board-data/daemon.json',
      'alias',
      'alias/secret.key',
      'code/../board-data/logs/board.log',
      'board-data/nothing',
    ])
      for (const what of ['read', 'browse'] as const)
        expect(await code(what, join(home, path), 'super'), path).toBe('FILE_NOT_FOUND')
    const inside = await board.as(tokens.ada).projects.create({ name: 'Inside', path: join(home, 'board-data') })
    expect([
      await code('browse', join(home, 'board-data')),
      await code('read', join(home, 'board-data', 'config.json')),
    ]).toEqual(['FILE_NOT_FOUND', 'FILE_NOT_FOUND'])
    expect((await as('ada').browse()).entries.map(({ path }) => path)).toEqual([own])
    await board.as(tokens.ada).projects.delete({ id: inside.id })
  })

  test('hold while links are swapped during a read', async () => {
    const [steady, swapped] = [join(own, 'race'), join(own, 'race-away')]
    mkdirSync(steady)
    writeFileSync(join(steady, 'secret.txt'), 'this is fine')
    const seen = new Map<string, number>()
    let isOver = false
    const swap = (async () => {
      for (let round = 0; !isOver; round++) {
        renameSync(steady, swapped)
        symlinkSync(join(root, 'outside'), steady)
        await new Promise(resolve => {
          setTimeout(resolve, round % 3)
        })
        unlinkSync(steady)
        renameSync(swapped, steady)
        await new Promise(resolve => {
          setTimeout(resolve, round % 4)
        })
      }
    })()
    const endsAtMs = Date.now() + 2500
    while (Date.now() < endsAtMs) {
      for (const { status, body } of await Promise.all(
        Array.from({ length: 16 }, () => get('read', join(steady, 'secret.txt'))),
      )) {
        const outcome = status === 200 ? body.data.content : body.error.code
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
      }
    }
    isOver = true
    await swap
    expect(
      [...seen.keys()].filter(outcome => !['this is fine', 'FILE_NOT_FOUND', 'PATH_OUTSIDE_ROOTS'].includes(outcome)),
    ).toEqual([])
    expect([seen.has('this is fine'), seen.size > 1]).toEqual([true, true])
    expect(existsSync(join(steady, 'secret.txt'))).toBe(true)
  })
})

test('a file that grows during the read, and a deleted open one, are read safely', async () => {
  const path = file('growing.log', 'x\n')
  const read = Array.from({ length: 20 }, async () => {
    appendFileSync(path, 'more\n'.repeat(10_000))
    return (await as('ada').read({ path })).content.length
  })
  expect(Math.max(...(await Promise.all(read)))).toBeGreaterThan(0)
  unlinkSync(path)
  expect(await code('read', path)).toBe('FILE_NOT_FOUND')
})
