import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { draftDocument } from '../../src/transfers/formats/draftDocument.ts'
import { readTrello } from '../../src/transfers/formats/trello.ts'
import { openJson } from '../../src/transfers/jsonFile.ts'
import type { ColumnRow } from '../../src/store/boards/columns.ts'
import type { Doc } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-trello-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function read(board: Doc) {
  const path = join(folder, 'board.json')
  writeFileSync(path, JSON.stringify({ checklists: [], actions: [], members: [], ...board }))
  const file = await openJson(path)
  return readTrello(file).finally(() => file.close())
}

/** The columns, and the cards as "Column: title", with "(archived)". */
async function boardOf(board: Doc, present?: Doc[]) {
  const draft = await read(board)
  const columns = present as ColumnRow[] | undefined
  const { document } = draftDocument(draft, new Map(), {
    name: 'x',
    path: '/',
    columns,
    now: '2030-01-01T00:00:00.000Z',
  })
  const names = new Map<number, string>()
  for await (const { value } of document.records('columns')) {
    const { id, name, columnType } = value as Doc
    names.set(id, `${name} (${columnType})`)
  }
  const cards: string[] = []
  for await (const { value } of document.records('cards')) {
    const { columnId, title, archivedAt } = value as Doc
    cards.push(`${names.get(columnId)}: ${title}${archivedAt ? ' (archived)' : ''}`)
  }
  return { columns: [...names.values()], cards, warnings: draft.warnings }
}

const lists = (...all: Array<[name: string, closed?: boolean]>) =>
  all.map(([name, closed = false], index) => ({ id: `l${index}`, name, closed, pos: index }))
const cardsOf = (...all: Doc[]) =>
  all.map((card, index) => ({ id: `c${index}`, idList: 'l0', name: `C${index}`, pos: 1, ...card }))

describe('lists with equal names', () => {
  it.each<[string, Array<[string, boolean?]>, string[]]>([
    ['archived first', [['Done', true], ['Done']], ['Done (archived) (archive): C0 (archived)', 'Done (done): C1']],
    ['archived last', [['Done'], ['Done', true]], ['Done (done): C0', 'Done (archived) (archive): C1 (archived)']],
    ['in another case', [['DONE', true], ['Done']], ['DONE (archived) (archive): C0 (archived)', 'Done (done): C1']],
    [
      'archived twice',
      [['Done', true], ['Done', true], ['Done']],
      ['Done (archived) (archive): C0 (archived)', 'Done (archived) (archive): C1 (archived)', 'Done (done): C2'],
    ],
    [
      'of which none is open',
      [
        ['Done', true],
        ['Done', true],
      ],
      ['Done (archive): C0 (archived)', 'Done (archive): C1 (archived)'],
    ],
    ['both open', [['To do'], ['To do'], ['Done']], ['To do (backlog): C0', 'To do (backlog): C1', 'Done (done): C2']],
    [
      'named "Archive"',
      [['Archive'], ['Archive', true]],
      ['Archive (archive): C0 (archived)', 'Archive (archived) (archive): C1 (archived)'],
    ],
  ])('keep their states: %s', async (_, named, expected) => {
    const cards = cardsOf(...named.map((_, index) => ({ idList: `l${index}` })))
    expect((await boardOf({ lists: lists(...named), cards })).cards).toEqual(expected)
  })

  it.each<[string, Array<[string, boolean?]>, string, string, string]>([
    ['a column of a project', [['Done', true]], 'Done', 'done', 'Done (archived) (archive): C0 (archived)'],
    ['an archive of a project', [['Ideas']], 'Ideas', 'archive', 'Ideas (open) (backlog): C0'],
    [
      'an archive of a project, archived as well',
      [['Ideas', true]],
      'Ideas',
      'archive',
      'Ideas (archive): C0 (archived)',
    ],
    ['a decorated column', [['✅ Done']], 'Done', 'done', 'Done (done): C0'],
  ])('keep their state next to %s', async (_, named, name, columnType, card) => {
    const present = [{ id: 7, name, columnType }]
    expect((await boardOf({ lists: lists(...named), cards: cardsOf({}) }, present)).cards).toEqual([card])
  })

  it.each([[['Ideas']], [['Doing']], [['A', 'B']], [['Ideas', 'Doing']], [['Archive']], [['Done', 'Ideas']]])(
    'a board of %j has one active and one done column',
    async names => {
      const named = names.map((name): [string] => [name])
      const { columns } = await boardOf({ lists: lists(...named), cards: cardsOf({}) })
      for (const type of ['active', 'done'])
        expect(columns.filter(column => column.endsWith(`(${type})`))).toHaveLength(1)
    },
  )
})

describe('cards without a task', () => {
  it.each([
    ['separators', { cardRole: 'separator', name: 'Line' }],
    ['separators', { name: '---' }],
    ['separators', { name: ' ———— ' }],
    ['separators', { name: '______' }],
    ['separators', { name: '***' }],
    ['separators', { name: '────' }],
    ['template cards', { isTemplate: true }],
    ['mirrors of cards in the file', { cardRole: 'mirror', mirrorSourceId: 'c0' }],
  ])('%s are skipped and counted', async (what, card) => {
    const { cards, warnings } = await boardOf({ lists: lists(['Ideas'], ['Done']), cards: cardsOf({}, card) })
    expect([cards, warnings]).toEqual([['Ideas (backlog): C0'], [`Skipped ${what}: 1.`]])
  })

  it.each([
    { name: '--- Bugs ---' },
    { name: '-' },
    { name: '??' },
    { name: '🎉🎉🎉' },
    { cardRole: 'link', name: 'https://example.org' },
    { cardRole: 'mirror', mirrorSourceId: 'elsewhere' },
    { isTemplate: false },
    { cardRole: null },
  ])('%j is a card', async card => {
    const { cards, warnings } = await boardOf({ lists: lists(['Ideas'], ['Done']), cards: cardsOf({}, card) })
    expect([cards.length, warnings]).toEqual([2, []])
  })
})

it('the case trello-same-list-name.json has both lists, and its columns in the order of the lists', async () => {
  const path = join(import.meta.dirname, '..', 'fixtures', 'imports', 'trello-same-list-name.json')
  expect(await boardOf(JSON.parse(readFileSync(path, 'utf8')))).toEqual({
    columns: ['Done (archived) (archive)', 'To do (backlog)', 'In Progress (active)', 'Done (done)'],
    cards: [
      'Done (archived) (archive): Old, in the archived Done (archived)',
      'To do (backlog): Now being done: open',
      'Done (done): New, in the open Done',
    ],
    warnings: [],
  })
})

describe('comments', () => {
  const ada = { id: 'm1', fullName: 'Ada Lovelace', username: 'ada' }
  const comment = (more: Doc) => ({
    type: 'commentCard',
    date: '2024-01-01T00:00:00.000Z',
    data: { text: 'Hello', card: { id: 'c0' } },
    ...more,
  })
  it.each<[string, Doc[], string]>([
    ['of members', [comment({ memberCreator: ada })], 'Ada Lovelace'],
    ['of a copied card', [comment({ type: 'copyCommentCard', memberCreator: ada })], 'Ada Lovelace'],
    ['of members by id', [comment({ idMemberCreator: 'm2' })], 'Grace'],
    ['of members without a full name', [comment({ memberCreator: { id: 'm3', username: 'kim' } })], 'kim'],
    [
      'of members who left, named by another action',
      [comment({ idMemberCreator: 'm1' }), { type: 'addMemberToCard', member: ada }],
      'Ada Lovelace',
    ],
    ['of members who left without a name', [comment({ idMemberCreator: 'm9', memberCreator: null })], 'Former member'],
    ['of accounts that are deleted', [comment({})], 'Former member'],
  ])('%s are kept', async (_, actions, author) => {
    const draft = await read({
      lists: lists(['A'], ['Done']),
      cards: cardsOf({}),
      actions,
      members: [{ id: 'm2', fullName: 'Grace' }],
    })
    expect(draft.cards[0]!.comments).toMatchObject([{ authorName: author, body: 'Hello' }])
  })

  it('members of cards who left keep their names if an action has them', async () => {
    const draft = await read({
      lists: lists(['A'], ['Done']),
      cards: cardsOf({ idMembers: ['m1', 'm9'] }),
      actions: [{ type: 'createCard', memberCreator: ada }],
    })
    expect([draft.cards[0]!.assignees, draft.warnings]).toEqual([
      ['Ada Lovelace'],
      [
        'Skipped actions other than comments (the history of the board): 1.',
        'Skipped card members who are not in the file: 1.',
      ],
    ])
  })
})
