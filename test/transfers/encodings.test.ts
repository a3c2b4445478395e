import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, faultsOf, imported, type Doc } from './files.ts'

let board: TestBoard
let path: string
beforeAll(async () => {
  board = await startBoard()
  path = board.folder('work')
})
afterAll(() => board.close())

const title = 'Tür 🚪 streichen'
const source = {
  board: async () => {
    const { id } = await board.client.projects.create({ name: 'Out', path })
    await board.client.cards.create({ projectId: id, title })
    return JSON.stringify(await exported(board, id))
  },
  trello: async () =>
    JSON.stringify({ name: 'x', lists: [{ id: 'a', name: 'A' }], cards: [{ id: 'b', idList: 'a', name: title }] }),
  github: async () => JSON.stringify([{ number: 1, title }]),
  markdown: async () => `- [ ] ${title}\n`,
}
const encode = {
  'UTF-8': (text: string) => Buffer.from(text),
  'UTF-8 with a BOM': (text: string) => Buffer.from(`\ufeff${text}`),
  'UTF-16LE with a BOM': (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'UTF-16BE with a BOM': (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
  'UTF-16LE': (text: string) => Buffer.from(text, 'utf16le'),
  'UTF-16BE': (text: string) => Buffer.from(text, 'utf16le').swap16(),
}

describe.each(['board', 'trello', 'github', 'markdown'] as const)('a file of the format %s', format => {
  it.each(Object.keys(encode) as Array<keyof typeof encode>)('is read in %s', async encoding => {
    const bytes = encode[encoding](await source[format]())
    const { projectIds } = await imported(board, { format, path }, bytes)
    expect((await exported(board, projectIds[0])).cards.map((card: Doc) => card.title)).toEqual([title])
  })

  it.each([
    ['Latin-1', (text: string) => Buffer.from(text.replace('🚪', 'x'), 'latin1'), / line 1 of the file is not UTF-8/],
    [
      'truncated UTF-8',
      (text: string) => Buffer.concat([Buffer.from(text), Buffer.from([0xf0, 0x9f])]),
      /is not UTF-8/,
    ],
    [
      'truncated UTF-16',
      (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').subarray(0, -1),
      /is not valid UTF-16LE/,
    ],
    ['UTF-32', (text: string) => Buffer.from(`\ufeff${text}`.replace(/./gsu, '$&\0'), 'utf16le'), /is UTF-32/],
    ['gzip', () => Buffer.from([0x1f, 0x8b, 8, 0, 0, 0]), /is not UTF-8/],
  ])('is rejected in %s', async (_, encodeWrong, message) => {
    expect(await faultsOf(board, { format, path }, encodeWrong(await source[format]()))).toEqual([
      expect.stringMatching(message),
    ])
  })
})

it('the line that is not UTF-8 is named, also deep in a file and after characters at the ends of chunks', async () => {
  const text = `- [ ] A\n${'é🚪\n'.repeat(50_000)}`
  const wrong = Buffer.concat([Buffer.from(text), Buffer.from('Tür\n', 'latin1')])
  expect(await faultsOf(board, { format: 'markdown', path }, wrong)).toEqual([
    ' line 50002 of the file is not UTF-8: save the file as UTF-8, for example with iconv',
  ])
  expect(await imported(board, { format: 'markdown', path }, text)).toMatchObject({ cards: 1 })
})
