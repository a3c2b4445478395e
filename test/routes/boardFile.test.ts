import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

test('a version of board.json is the whole SHA-256 of what it says, so that no other file has the same', async () => {
  const { version, settings } = await found('{ "setup": "npm ci", "ports": 2 }')
  const sorted = Object.entries(settings!).toSorted(([one], [other]) => (one < other ? -1 : 1))
  expect(version).toBe(createHash('sha256').update(JSON.stringify(sorted)).digest('hex'))
  // Half of it, as if another file had that half, too.
  await expect(
    board.client.projects.agreeToBoardFile({ id: projectId, version: version!.slice(0, 32) }),
  ).rejects.toMatchObject({ code: 'CONFLICT' })
})

test.each<[string, string | Buffer, string]>([
  ['a list', '[]', 'it: must be an object'],
  ['null', 'null', 'it: must be an object'],
  ['a setting of another type', '{"setup":1}', 'setup: must be text'],
  ['an unknown setting', '{"setUp":"x"}', 'setUp: is not a known field'],
  ['a setting that every object has', '{"__proto__":{"setup":"x"}}', '__proto__: is not a known field'],
  ['a list in a list', '{"copiedFiles":["a",[]]}', 'copiedFiles.1: must be text'],
  ['a command with NUL', '{"setup":"a\\u0000b"}', 'setup: must not contain the NUL character'],
  ['Latin-1', Buffer.from('{"setup":"\xff"}', 'latin1'), 'it is not UTF-8'],
  ['a list 65,536 deep', '['.repeat(65_536), 'it is not JSON'],
])('board.json with %s is not used, and says why', async (_, content, problem) => {
  expect(await found(content)).toEqual({ problem, version: null, settings: null, agreed: null })
})

test('board.json may begin with a byte order mark, and have exactly 64 KiB', async () => {
  expect((await found('\ufeff{"setup":"npm ci"}')).settings!.setup).toBe('npm ci')
  expect((await found('{}'.padEnd(65_536))).problem).toBe(null)
  expect((await found('{}'.padEnd(65_537))).problem).toBe('it is larger than 64 KiB')
})
