import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, faultsOf, imported, importFile, type Doc } from './files.ts'

const fixture = (name: string) => readFileSync(join(import.meta.dirname, '..', 'fixtures', 'imports', name), 'utf8')

let board: TestBoard
let path: string
beforeAll(async () => {
  board = await startBoard()
  path = board.folder('work')
})
afterAll(() => board.close())

/** The columns of a project in order, with their cards in order. Archived cards without an order come last. */
async function shown(projectId: string): Promise<Record<string, string[]>> {
  const { columns, cards } = await exported(board, projectId)
  const entries = columns
    .sort((a: Doc, b: Doc) => a.position - b.position)
    .map(({ id, name, columnType }: Doc) => [
      `${name} (${columnType})`,
      cards
        .filter((card: Doc) => card.columnId === id)
        .sort((a: Doc, b: Doc) => (a.position ?? 1e9) - (b.position ?? 1e9))
        .map(({ title, position }: Doc) => (position === null ? `${title} (archived)` : title)),
    ])
  return Object.fromEntries(entries)
}
const cardOf = async (projectId: string, title: string): Promise<Doc> =>
  (await exported(board, projectId)).cards.find((card: Doc) => card.title === title)
const commentsOn = async (projectId: string, title: string): Promise<string[][]> => {
  const { cards, comments } = await exported(board, projectId)
  const { id } = cards.find((card: Doc) => card.title === title)
  return comments
    .filter(({ cardId }: Doc) => cardId === id)
    .map(({ authorName, createdAt, body }: Doc) => [authorName, createdAt, body])
}
const newProject = async (name = 'There') => (await board.client.projects.create({ name, path })).id

describe('a board of Trello', () => {
  it('becomes a project with its lists and cards in order', async () => {
    const report = await imported(board, { format: 'trello', path }, fixture('trello.json'))
    expect(report).toMatchObject({ dryRun: false, projects: 1, boards: 1, columns: 4, cards: 6, attachments: 0 })
    expect(await shown(report.projectIds[0])).toEqual({
      'Ideas (backlog)': ['Design the landing page', 'Second idea', 'Dropped idea (archived)'],
      'In progress (active)': ['Write the copy'],
      'Shipped to customers (done)': ['Buy the domain'],
      'Old sprint (archive)': ['From an old sprint'],
    })
    expect((await board.client.projects.get({ id: report.projectIds[0] })).name).toBe('Launch 🚀')
    expect(report.warnings).toEqual([
      'Skipped actions other than comments (the history of the board): 1.',
      'Skipped custom fields: 1.',
      'Skipped cards in a list that is not in the file: 1.',
      'Attached files that remain in Trello, linked in the prompts: 1.',
      'Skipped values of custom fields: 1.',
    ])
  })

  it('names unreadable titles "Untitled"', async () => {
    const unseen = '\u200b\u2060 \u00ad'
    const { projectIds } = await imported(
      board,
      { format: 'trello', path },
      JSON.stringify({
        name: unseen,
        lists: [{ id: 'list', name: unseen, closed: false }],
        cards: [{ id: 'card', name: unseen, idList: 'list', closed: false }],
      }),
    )
    expect((await board.client.projects.get({ id: projectIds[0] })).name).toBe('Untitled')
    expect(await shown(projectIds[0])).toEqual({
      'Untitled (backlog)': ['Untitled'],
      'In Progress (active)': [],
      'Done (done)': [],
    })
  })

  it('keeps the fields of a card: labels, dates, checklists, links and comments', async () => {
    const {
      projectIds: [id],
    } = await imported(board, { format: 'trello', path }, fixture('trello.json'))
    expect(await cardOf(id, 'Design the landing page')).toMatchObject({
      labels: ['ready', 'red'],
      createdAt: '2024-01-14T14:32:32.000Z',
      updatedAt: '2024-02-03T10:20:30.456Z',
      archivedAt: null,
      status: 'idle',
      autoMode: false,
      prompt: `Make it **bright**.

And quick.

The due date was met.
Trello card: https://trello.com/c/first

## Before review
- [x] Pick colours
- [ ] Check contrast

## Attachments
- [mockup.png](https://trello.com/1/cards/65a3/attachments/5f00/download/mockup.png)
- [https://example.org/brief](https://example.org/brief)`,
      assignees: [{ name: 'Ada Lovelace' }],
      dueAt: '2024-03-01T17:00:00.000Z',
    })
    expect(await commentsOn(id, 'Design the landing page')).toEqual([
      ['Bob', '2024-02-01T09:00:00.000Z', 'Which font?'],
      ['Ada Lovelace', '2024-02-03T10:20:30.456Z', 'Done, see the mockup.'],
    ])
    expect(await cardOf(id, 'Dropped idea')).toMatchObject({ archivedAt: '2024-01-21T00:00:00.000Z', position: null })
  })

  it('starts no agent in the column that becomes active', async () => {
    const {
      projectIds: [id],
    } = await imported(board, { format: 'trello', path }, fixture('trello.json'))
    const { columns } = await exported(board, id)
    const active = columns.find(({ columnType }: Doc) => columnType === 'active').id
    expect(await cardOf(id, 'Write the copy')).toMatchObject({
      columnId: active,
      deferred: true,
      status: 'idle',
      pipeline: [{ columnId: active, prompt: '', approval: 'auto' }],
    })
    expect(await board.client.agents.active({ projectId: id })).toEqual([])
  })

  it('is imported into an existing project, into the columns of the same name or of the map, after the existing cards', async () => {
    const projectId = await newProject()
    await board.client.cards.create({ projectId, title: 'Here before' })
    const report = await imported(
      board,
      {
        format: 'trello',
        projectId,
        map: JSON.stringify({ ideas: 'Backlog', 'Shipped to customers': 'done', 'Old sprint': 'Old' }),
      },
      fixture('trello.json'),
    )
    expect(report).toMatchObject({ projectIds: [projectId], projects: 0, boards: 0, columns: 1, cards: 6 })
    expect(await shown(projectId)).toEqual({
      'Backlog (backlog)': ['Here before', 'Design the landing page', 'Second idea', 'Dropped idea (archived)'],
      'In Progress (active)': ['Write the copy'],
      'Done (done)': ['Buy the domain'],
      'Old (archive)': ['From an old sprint'],
    })
  })

  it('is rejected if it is not one', async () => {
    expect(await faultsOf(board, { format: 'trello', path }, [])).toEqual([
      'lists is required: this is not an exported Trello board',
    ])
    expect(await faultsOf(board, { format: 'trello', path }, { lists: [], cards: {} })).toEqual([
      'cards must be a list',
    ])
    expect(await faultsOf(board, { format: 'trello', path }, { lists: [3], cards: [] })).toEqual([
      'lists.0 must be an object',
    ])
  })
})

describe('issues of GitHub', () => {
  it('become cards: open ones in a backlog column, closed ones in a done column, the oldest first', async () => {
    const report = await imported(board, { format: 'github', path }, fixture('github.json'))
    expect(report).toMatchObject({
      projects: 1,
      columns: 3,
      cards: 3,
      warnings: ['Issues with the unsupported field reactionGroups: 1.'],
    })
    expect((await board.client.projects.get({ id: report.projectIds[0] })).name).toBe('acme/web')
    expect(await shown(report.projectIds[0])).toEqual({
      'Backlog (backlog)': ['Say what the export holds', 'Login fails with a long password'],
      'In Progress (active)': [],
      'Done (done)': ['Blink tags'],
    })
    expect(await cardOf(report.projectIds[0], 'Login fails with a long password')).toMatchObject({
      labels: ['bug', 'area: login'],
      createdAt: '2024-05-01T07:30:00.000Z',
      updatedAt: '2024-05-03T09:00:00.000Z',
      prompt: `It shows a 500.

Steps:
1. Sign in

GitHub issue: https://github.com/acme/web/issues/12
Milestone: v2.0`,
      creatorName: 'bob',
      assignees: [{ name: 'ada' }],
    })
    expect(await commentsOn(report.projectIds[0], 'Login fails with a long password')).toEqual([
      ['ada', '2024-05-02T08:00:00.000Z', 'I can see it too.'],
    ])
    expect((await cardOf(report.projectIds[0], 'Blink tags')).prompt).toContain('Closed as: not planned')
  })

  it('are added to the first backlog and the first done column of a project, or as mapped', async () => {
    const projectId = await newProject()
    await imported(board, { format: 'github', projectId }, fixture('github.json'))
    expect(await shown(projectId)).toMatchObject({
      'Backlog (backlog)': [expect.any(String), expect.any(String)],
      'Done (done)': ['Blink tags'],
    })
    const other = await newProject()
    await imported(board, { format: 'github', projectId: other, map: '{"OPEN":"Triage"}' }, fixture('github.json'))
    expect(await shown(other)).toMatchObject({
      'Triage (backlog)': [expect.any(String), expect.any(String)],
      'Done (done)': ['Blink tags'],
    })
  })

  it('are imported by number, in any order of the file, and pull requests only on request', async () => {
    const at = 'https://github.com/acme/web'
    const issues = [
      { number: 7, title: 'Seventh', url: `${at}/issues/7` },
      { number: 3, title: 'A pull', url: `${at}/pull/3`, state: 'MERGED' },
      { number: 9, title: 'Ninth' },
      { number: 2, title: 'Second', state: 'CLOSED' },
      { number: 5, title: 'Of the API', pull_request: { url: `${at}/pulls/5` } },
    ]
    const without = await imported(board, { format: 'github', path }, issues)
    expect(without).toMatchObject({
      cards: 3,
      warnings: ['Skipped pull requests, which are included only on request: 2.'],
    })
    const { cards } = await exported(board, without.projectIds[0])
    expect(cards.toSorted((a: Doc, b: Doc) => a.id - b.id).map(({ title }: Doc) => title)).toEqual([
      'Second',
      'Seventh',
      'Ninth',
    ])
    const whole = await imported(board, { format: 'github', path, withPullRequests: 'true' }, issues)
    expect(whole).toMatchObject({ cards: 5, warnings: [] })
    expect((await cardOf(whole.projectIds[0], 'A pull')).prompt).toBe(`GitHub pull request: ${at}/pull/3`)
  })

  it('are rejected without titles, and if they are not a list', async () => {
    expect(await faultsOf(board, { format: 'github', path }, [{ number: 1 }])).toEqual([
      '0.title is required. Add title to the fields of gh issue list --json',
    ])
    expect(await faultsOf(board, { format: 'github', path }, {})).toEqual([
      ' the file must be a list of issues, as gh issue list --json prints it',
    ])
  })
})

describe('task lists in Markdown', () => {
  it('become cards, by their headings and checkboxes', async () => {
    const report = await imported(board, { format: 'markdown', path }, fixture('tasks.md'), { filename: 'tasks.md' })
    expect(report).toMatchObject({
      projects: 1,
      columns: 4,
      cards: 9,
      warnings: ['Skipped lines of text outside tasks: 3.'],
    })
    expect(await shown(report.projectIds[0])).toEqual({
      'Garden app (backlog)': ['Before any heading with tasks'],
      'To do (backlog)': ['Plant **tomatoes**', 'Water', 'A star', 'A number'],
      'Doing (active)': ['Dig'],
      'Done (done)': ['Pull weeds', 'Buy land', 'Sign the papers'],
    })
    expect((await cardOf(report.projectIds[0], 'Plant **tomatoes**')).prompt).toBe(
      'They need sun.\n\n- [ ] buy seeds\n- [x] find pots',
    )
    expect((await cardOf(report.projectIds[0], 'A number')).prompt).toBe('```md\n- [ ] Not a task: code\n```')
    expect((await cardOf(report.projectIds[0], 'Dig')).prompt).toBe('- [ ] nested by a tab')
    expect((await board.client.projects.get({ id: report.projectIds[0] })).name).toBe('tasks')
  })

  it('without headings are sorted by their state', async () => {
    const report = await imported(board, { format: 'markdown', path }, '- [ ] One\r\n- [x] Two\r\n', {
      filename: 'My list.md',
    })
    expect(await shown(report.projectIds[0])).toEqual({
      'Backlog (backlog)': ['One'],
      'In Progress (active)': [],
      'Done (done)': ['Two'],
    })
    const projectId = await newProject()
    await imported(board, { format: 'markdown', projectId, map: '{"[x]":"Finished"}' }, '\ufeff- [ ] One\n- [x] Two\n')
    expect(await shown(projectId)).toEqual({
      'Backlog (backlog)': ['One'],
      'In Progress (active)': [],
      'Done (done)': [],
      'Finished (done)': ['Two'],
    })
  })

  it('with a text of very many lines are imported up to the limit of a prompt', async () => {
    const report = await imported(board, { format: 'markdown', path }, `- [ ] Read the log\n${'  x\n'.repeat(200_000)}`)
    expect(report).toMatchObject({ cards: 1, warnings: ['Truncated prompts of more than 64 KiB: 1.'] })
    expect((await cardOf(report.projectIds[0], 'Read the log')).prompt.startsWith('x\nx\n')).toBe(true)
  })

  it('are rejected without a task', async () => {
    expect(await faultsOf(board, { format: 'markdown', path }, '# Only\n- words\n')).toEqual([
      ' the file must contain tasks: lines like "- [ ] Something to do"',
    ])
  })
})

it.each([
  ['trello', 'trello.json'],
  ['github', 'github.json'],
  ['markdown', 'tasks.md'],
])('a dry run of %s reports the records it would create, and creates none', async (format, file) => {
  const projectId = await newProject()
  for (const query of [
    { format, path },
    { format, projectId },
  ] as Array<Record<string, string>>) {
    const [before, projects] = [await exported(board, projectId), await board.client.projects.list()]
    const { projectIds, organizationId, dryRun, ...planned } = await imported(
      board,
      { ...query, dryRun: 'true' },
      fixture(file),
    )
    expect([projectIds, organizationId, dryRun]).toEqual([[], null, true])
    expect([
      { ...(await exported(board, projectId)), exportedAt: before.exportedAt },
      await board.client.projects.list(),
    ]).toEqual([before, projects])
    expect(await imported(board, query, fixture(file))).toMatchObject(planned)
  }
})

it('text that is too long for a card is truncated, and reported', async () => {
  const issue = {
    title: 'T'.repeat(600),
    body: `${'é'.repeat(40_000)}`,
    labels: Array.from({ length: 60 }, (_, at) => ({ name: `label ${at} ${'x'.repeat(120)}` })),
    state: 'OPEN',
  }
  const report = await imported(board, { format: 'github', path }, [
    issue,
    { title: ' \u0000 ', body: 'NUL\u0000 and \ud800' },
  ])
  const { cards } = await exported(board, report.projectIds[0])
  expect([
    cards[1].title.length,
    cards[1].title.endsWith('…'),
    cards[1].labels.length,
    Buffer.byteLength(cards[1].prompt) <= 65_536,
    cards[1].prompt.endsWith('[The rest did not fit into a prompt.]'),
  ]).toEqual([500, true, 50, true, true])
  expect(cards[0]).toMatchObject({ title: 'Untitled', prompt: 'NUL and \ufffd' })
  expect(report.warnings).toEqual([
    'Shortened titles of more than 500 characters, complete in the prompts: 1.',
    'Skipped labels beyond 50 per card: 10.',
    'Truncated prompts of more than 64 KiB: 1.',
  ])
})

it('a new project needs an existing folder, and a map must be valid', async () => {
  for (const [query, code] of [
    [{ format: 'github' }, 'PATH_NOT_FOUND'],
    [{ format: 'github', path: 'not/absolute' }, 'PATH_NOT_ABSOLUTE'],
    [{ format: 'github', path: '/nonexistent/folder' }, 'PATH_NOT_FOUND'],
    [{ format: 'github', path, map: '[1]' }, 'VALIDATION_FAILED'],
    [{ format: 'github', path, map: '{"a":""}' }, 'VALIDATION_FAILED'],
    [{ format: 'github', path, projectId: '1' }, 'VALIDATION_FAILED'],
    [{ format: 'excel', path }, 'VALIDATION_FAILED'],
    [{ format: 'board', path, map: '{}' }, 'VALIDATION_FAILED'],
  ] as const) {
    const reply = await importFile(board, query, fixture('github.json'))
    expect([query, reply.body?.error?.code]).toEqual([query, code])
  }
})
