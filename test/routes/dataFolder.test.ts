import { lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { onLibsqlServer, startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let usualMask: number
beforeAll(async () => {
  usualMask = process.umask(0o022)
  board = await startBoard({ logLevel: 'info' })
})
afterAll(async () => {
  await board.close()
  process.umask(usualMask)
})

/** Everything below a folder with its permissions in octal, such as 600. */
const rights = (folder: string): Array<[string, string]> =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => {
    const stats = lstatSync(join(folder, name))
    return [stats.isDirectory() ? `${name}/` : name, (stats.mode & 0o777).toString(8)]
  })

it("the server's files are readable by its account alone, regardless of the umask", async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'P', path: board.folder('p') })
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Card' })
  const file = join(board.folder('sent'), 'a.txt')
  writeFileSync(file, 'a')
  await board.client.attachments.create({ projectId, cardId, file: { path: file } })
  await board.client.credentials.create({ name: 'k', provider: 'openai', apiKey: 'sk-0123456789abcdef' })
  if (!onLibsqlServer) await board.client.backups.create()
  const found = rights(board.dataDir).filter(([name]) => name !== 'config.json')
  expect(found.length).toBeGreaterThan(onLibsqlServer ? 4 : 8)
  expect(found.filter(([name, mode]) => mode !== (name.endsWith('/') ? '700' : '600'))).toEqual([])
  expect((lstatSync(board.dataDir).mode & 0o777).toString(8)).toBe('700')
})
