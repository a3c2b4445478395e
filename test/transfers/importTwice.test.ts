import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readMarkdown } from '../../src/transfers/formats/markdown.ts'
import { issueSource } from '../../src/transfers/formats/cardSource.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, imported, type Doc } from './files.ts'

const fixture = (name: string) => readFileSync(join(import.meta.dirname, '..', 'fixtures', 'imports', name), 'utf8')

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

const newProject = async () => (await board.client.projects.create({ name: 'There', path: board.folder('work') })).id
const contents = async (projectId: string) => ({ ...(await exported(board, projectId)), exportedAt: undefined })
const titlesIn = async (projectId: string) => (await exported(board, projectId)).cards.map(({ title }: Doc) => title)

const files: Record<string, { file: string; more: string; kind: string }> = {
  trello: {
    kind: 'trello',
    file: fixture('trello.json'),
    more: JSON.stringify({
      ...JSON.parse(fixture('trello.json')),
      cards: [
        { id: 'new', name: 'New', idList: JSON.parse(fixture('trello.json')).lists[0].id },
        ...JSON.parse(fixture('trello.json')).cards,
      ],
    }),
  },
  github: {
    kind: 'github',
    file: fixture('github.json'),
    more: JSON.stringify([
      { number: 99, title: 'New', url: 'https://github.com/acme/web/issues/99' },
      ...JSON.parse(fixture('github.json')),
    ]),
  },
  markdown: { kind: 'markdown', file: fixture('tasks.md'), more: `- [ ] New\n\n${fixture('tasks.md')}` },
}

describe.each(Object.keys(files))('importing %s twice', format => {
  const { file, more, kind } = files[format]!
  it('updates nothing, adds only new entries, and reports both counts', async () => {
    const projectId = await newProject()
    const first = await imported(board, { format, projectId }, file, { filename: 'tasks' })
    expect(first).toMatchObject({ cards: expect.any(Number), skipped: 0 })
    const [card] = (await exported(board, projectId)).cards
    expect(card.source).toMatchObject({ kind, id: expect.any(String) })
    const { id } = (await board.client.cards.list({ projectId }))[0]!
    await board.client.cards.update({ projectId, cardId: id, title: 'Changed here' })
    expect(await board.client.cards.get({ projectId, cardId: id })).toMatchObject({ source: { kind } })
    const before = await contents(projectId)
    for (const dryRun of ['true', 'false'])
      expect(await imported(board, { format, projectId, dryRun }, file, { filename: 'tasks' })).toMatchObject({
        cards: 0,
        columns: 0,
        skipped: first.cards,
      })
    expect(await contents(projectId)).toEqual(before)
    const third = await imported(board, { format, projectId }, more, { filename: 'tasks' })
    expect(third).toMatchObject({ cards: 1, skipped: first.cards })
    expect((await titlesIn(projectId)).filter((title: string) => title === 'New')).toEqual(['New'])
  })

  it('skips cards in the trash, and none of another project', async () => {
    const [projectId, other] = [await newProject(), await newProject()]
    const { cards } = await imported(board, { format, projectId }, file)
    const { id } = (await board.client.cards.list({ projectId }))[0]!
    await board.client.cards.delete({ projectId, cardId: id })
    expect(await imported(board, { format, projectId }, file)).toMatchObject({ cards: 0, skipped: cards })
    expect(await imported(board, { format, projectId: other }, file)).toMatchObject({ cards, skipped: 0 })
  })

  it('recreates no column that was renamed since', async () => {
    const projectId = await newProject()
    await imported(board, { format, projectId }, file)
    const columns = await board.client.columns.list({ projectId })
    for (const [index, { id }] of columns.entries())
      await board.client.columns.update({ projectId, columnId: id, name: `Renamed ${index}` })
    expect(await imported(board, { format, projectId }, file)).toMatchObject({ cards: 0, columns: 0 })
  })

  it('recognizes the cards of a new project, and of an export of it', async () => {
    const path = board.folder('new')
    const { projectIds, cards } = await imported(board, { format, path }, file)
    expect(await imported(board, { format, projectId: projectIds[0] }, file)).toMatchObject({
      cards: 0,
      skipped: cards,
    })
    const copy = await imported(board, { format: 'board', path }, await exported(board, projectIds[0]))
    expect(await imported(board, { format, projectId: copy.projectIds[0] }, file)).toMatchObject({
      cards: 0,
      skipped: cards,
    })
  })
})

it('an issue that is in a file twice, in overlapping pages, becomes one card', async () => {
  const issue = { number: 1, title: 'A', url: 'https://github.com/acme/web/issues/1' }
  const pages = `${JSON.stringify([issue])}${JSON.stringify([issue, { ...issue, number: 2, url: `${issue.url}2` }])}`
  expect(await imported(board, { format: 'github', path: board.folder('work') }, pages)).toMatchObject({
    cards: 2,
    skipped: 1,
  })
})

it.each<[string, Doc, string]>([
  ['https://github.com/acme/web/issues/1', {}, 'acme/web#1'],
  ['https://github.com/acme/web/pull/1', {}, 'acme/web#1'],
  ['https://git.example.org/acme/web/issues/1', {}, 'git.example.org/acme/web#1'],
  ['', { id: 'I_1', number: 1 }, 'I_1'],
  ['', { id: 123, node_id: 'I_1' }, 'I_1'],
  ['', { number: 1, title: 'A' }, '#1 559aead08264d579'],
])('the issue at "%s" with %j has the ID %s', (address, issue, id) => {
  expect(issueSource(address, issue)?.id).toBe(id)
})

describe('the ID of a task', () => {
  const idsOf = (text: string, filename?: string) => readMarkdown(text, filename).cards.map(({ source }) => source!.id)
  it.each([
    ['another state', '- [x] A\n- [ ] B\n'],
    ['another order', '- [ ] B\n- [ ] A\n'],
    ['another heading', '## Later\n- [ ] A\n## Done\n- [ ] B\n'],
    ['another prompt', '- [ ] A\n  more\n- [ ] B\n'],
    ['another list', '> * [ ] A\n\n- Group\n  - [ ] B\n'],
  ])('stays with %s', (_, changed) => {
    expect(idsOf(changed, 'a.md').toSorted()).toEqual(idsOf('- [ ] A\n- [ ] B\n', 'a.md').toSorted())
  })

  it('differs with another title or file, and for each of two equal titles', () => {
    const ids = [...idsOf('- [ ] A\n- [ ] A\n- [ ] B\n', 'a.md'), ...idsOf('- [ ] A\n', 'b.md'), ...idsOf('- [ ] A\n')]
    expect(new Set(ids).size).toBe(5)
  })
})
