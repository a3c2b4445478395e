import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let file: string
beforeEach(async () => {
  ;({ board, projectId } = await startBoardWithProject())
  file = join((await board.client.projects.get({ id: projectId })).path, 'board.json')
})
afterEach(() => board.close())

const found = async (content: string | Buffer) => {
  rmSync(file, { force: true })
  writeFileSync(file, content)
  return (await board.client.projects.getWorktree({ id: projectId })).boardFile!
}

test('a version of board.json is the full SHA-256 of its content, so that no other file has the same', async () => {
  const { version, settings } = await found('{ "setup": "npm ci", "ports": 2 }')
  const sorted = Object.entries(settings!).toSorted(([one], [other]) => (one < other ? -1 : 1))
  expect(version).toBe(createHash('sha256').update(JSON.stringify(sorted)).digest('hex'))
  // Half of it, as if another file shared that half.
  await expect(
    board.client.projects.agreeToBoardFile({ id: projectId, version: version!.slice(0, 32) }),
  ).rejects.toMatchObject({ code: 'CONFLICT' })
})

const leaves = "copiedFiles.0: must not leave the project's folder, to which it is relative: config/*.local"
test.each<[string, string | Buffer, string]>([
  ['a list', '[]', 'it must be an object'],
  ['null', 'null', 'it must be an object'],
  ['a setting of another type', '{"setup":1}', 'setup: must be text'],
  ['an unknown setting', '{"setUp":"x"}', 'setUp: is not a known field'],
  ['a setting with the name of a built-in property', '{"__proto__":{"setup":"x"}}', '__proto__: is not a known field'],
  ['a list in a list', '{"copiedFiles":["a",[]]}', 'copiedFiles.1: must be text'],
  ['the pattern ../a of copied files', '{"copiedFiles":["../a"]}', leaves],
  ['the pattern !../a of copied files', '{"copiedFiles":["!../a"]}', leaves],
  ['the pattern a/../../b of copied files', '{"copiedFiles":["a/../../b"]}', leaves],
  ['the pattern .. of copied files', '{"copiedFiles":[".."]}', leaves],
  ['the pattern a/.. of copied files', '{"copiedFiles":["a/.."]}', leaves],
  ['the pattern /../a of copied files', '{"copiedFiles":["/../a"]}', leaves],
  ['the pattern ~/.ssh/id of copied files', '{"copiedFiles":["~/.ssh/id"]}', leaves],
  ['a pattern of two lines', '{"copiedFiles":["a\\n../b"]}', 'copiedFiles.0: must be one line'],
  ['a command with NUL', '{"setup":"a\\u0000b"}', 'setup: must not contain the NUL character'],
  ['Latin-1', Buffer.from('{"setup":"\xff"}', 'latin1'), 'it is not UTF-8'],
  ['a list 65,536 deep', '['.repeat(65_536), 'it is not JSON'],
])('board.json with %s is not used, and the reason is reported', async (_, content, problem) => {
  expect(await found(content)).toEqual({ problem, version: null, settings: null, agreed: null })
})

test('board.json can name copied files by each pattern that stays in the folder of the project', async () => {
  const copiedFiles = ['/.env', '!.env', '~', 'a~/b', '..a', 'a..', 'a/...', '**/*.key', 'secrets/', '# none', '\\!a']
  expect((await found(JSON.stringify({ copiedFiles }))).settings!.copiedFiles).toEqual(copiedFiles)
})

test('board.json can start with a byte order mark, and have exactly 64 KiB', async () => {
  expect((await found('\ufeff{"setup":"npm ci"}')).settings!.setup).toBe('npm ci')
  expect((await found('{}'.padEnd(65_536))).problem).toBe(null)
  expect((await found('{}'.padEnd(65_537))).problem).toBe('it is larger than 64 KiB')
})

const isAgreed = async (content: string) => (await found(content)).agreed !== null
const agree = async (content: string) =>
  board.client.projects.agreeToBoardFile({ id: projectId, version: (await found(content)).version! })
const [first, second] = ['{ "setup": "npm ci" }', '{ "setup": "npm install" }']

test.each([
  ['agreed to as well', () => agree(second)],
  ['read without an agreement', () => found(second)],
  ['deleted', () => (rmSync(file), board.client.projects.getWorktree({ id: projectId }))],
])('a return to an approved board.json requires another approval if the file was %s in between', async (_, change) => {
  expect((await agree(first)).boardFile!.agreed).not.toBe(null)
  await change()
  expect(await isAgreed(first)).toBe(false)
  const { effective } = await board.client.projects.getWorktree({ id: projectId })
  expect(effective.setup).toBe('')
  expect((await agree(first)).effective.setup).toBe('npm ci')
  expect(await isAgreed(second)).toBe(false)
})

test('an approved board.json stays approved if its format changes, or if it is temporarily invalid', async () => {
  await agree(first)
  expect(await isAgreed('{"setup":"npm ci"}')).toBe(true)
  expect((await found('{ "setup": ')).problem).not.toBe(null)
  expect(await isAgreed(first)).toBe(true)
})

test('a return to an earlier approved board.json requires no approval while the base branch has exactly this version', async () => {
  const folder = dirname(file)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
      cwd: folder,
      stdio: 'pipe',
    })
  const commit = async (content: string) => {
    const { agreed } = await found(content)
    git('add', 'board.json')
    git('commit', '-qm', 'Change board.json')
    return agreed
  }
  git('init', '-q')
  await board.client.projects.update({ id: projectId, path: folder })
  expect(await commit(first)).toBe(null)
  // A version in the base branch that no member has approved also requires an approval.
  expect(await isAgreed(first)).toBe(false)
  const { agreed } = (await agree(first)).boardFile!
  expect(await isAgreed(second)).toBe(false)
  expect((await found(first)).agreed).toEqual(agreed)

  await agree(second)
  expect(await isAgreed(first)).toBe(true)
  await commit('{ "setup": "npm ci", "ports": 1 }')
  expect(await isAgreed(first)).toBe(false)
  await commit(first)
  expect((await found('{"setup":"npm ci"}')).agreed).toEqual(agreed)
  await board.client.projects.withdrawAgreement({ id: projectId })
  expect(await isAgreed(first)).toBe(false)
})
