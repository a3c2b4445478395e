import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { draftDocument } from '../../src/transfers/formats/draftDocument.ts'
import { readMarkdown } from '../../src/transfers/formats/markdown.ts'

/** Lines of "Column (type): title", with "(archived)" and the prompt after the title. */
async function boardOf(text: string): Promise<{ columns: string[]; cards: string[]; warnings: readonly string[] }> {
  const draft = readMarkdown(text)
  const { document } = draftDocument(draft, new Map(), { name: 'x', path: '/', now: '2030-01-01T00:00:00.000Z' })
  const columns = new Map<number, string>()
  for await (const { value } of document.records('columns')) {
    const { id, name, columnType } = value as { id: number; name: string; columnType: string }
    columns.set(id, `${name} (${columnType})`)
  }
  const cards: string[] = []
  for await (const { value } of document.records('cards')) {
    const card = value as { columnId: number; title: string; prompt: string; archivedAt: string | null }
    const marks = [card.archivedAt && '(archived)', card.prompt && `| ${card.prompt}`].filter(Boolean)
    cards.push([`${columns.get(card.columnId)}: ${card.title}`, ...marks].join(' '))
  }
  return { columns: [...columns.values()], cards, warnings: draft.warnings }
}
const lines = (...all: string[]) => `${all.join('\n')}\n`
const todo = (...titles: string[]) => titles.map(title => `Todo (backlog): ${title}`)

describe('fences', () => {
  it.each([
    ['closed on its line', ['  ```npm run paint``` starts'], '| ```npm run paint``` starts'],
    ['with four backticks around three', ['  ````', '  ```', '  ````'], '| ````\n```\n````'],
    ['without an end in its task', ['  ```sh', '  npm run paint'], '| ```sh\nnpm run paint'],
    ['without an end, of tildes', ['  ~~~', '  - [ ] code'], '| ~~~\n- [ ] code'],
    ['below the task and not indented', ['```sh', '- [ ] code', '```'], '| ```sh\n- [ ] code\n```'],
    ['ended by a longer one', ['  ```', '  - [ ] code', '  `````'], '| ```\n- [ ] code\n`````'],
  ])('a fence %s is part of one card only', async (_, fence, prompt) => {
    const { cards } = await boardOf(
      lines('## Todo', '- [ ] Paint', ...fence, '- [ ] Roof', '', '## Done', '- [x] Boat'),
    )
    expect(cards).toEqual([...todo(`Paint ${prompt}`, 'Roof'), 'Done (done): Boat'])
  })

  it('a fence without an end outside of tasks is text', async () => {
    expect(
      await boardOf(lines('## Todo', '', '```sh', 'npm run paint', '', '- [ ] Roof', '## Done', '- [x] Boat')),
    ).toMatchObject({
      cards: [...todo('Roof'), 'Done (done): Boat'],
      warnings: ['Unclosed code blocks, imported as text: 1.', 'Skipped lines of text outside tasks: 1.'],
    })
  })
})

describe('states', () => {
  it.each([
    [' ', 'Todo (backlog): T'],
    ['', 'Todo (backlog): T'],
    ['x', 'Done (done): T'],
    ['X', 'Done (done): T'],
    [' x ', 'Done (done): T'],
    ['✓', 'Done (done): T'],
    ['/', 'In Progress (active): T'],
    ['-', 'Todo (backlog): T (archived)'],
    ['~', 'Todo (backlog): T (archived)'],
    ['>', 'Todo (backlog): T'],
    ['<', 'Todo (backlog): T'],
    ['!', 'Todo (backlog): T'],
    ['?', 'Todo (backlog): T'],
    ['*', 'Todo (backlog): T'],
    ['🔥', 'Todo (backlog): T'],
  ])('[%s] sets the column of the card', async (mark, card) => {
    expect((await boardOf(lines('## Todo', '- [ ] First', `- [${mark}] T`))).cards).toEqual([...todo('First'), card])
  })

  it.each(['- [link](a.md) T', '- [1] T', '- [[Page]] T', '- [x]T', '- plain'])('%s is not a task', async line => {
    expect((await boardOf(lines('## Todo', '- [ ] First', line))).cards).toEqual(todo('First'))
  })

  it('a task in an active column stays there', async () => {
    expect((await boardOf(lines('## Doing', '- [/] A', '- [ ] B', '## Review', '- [/] C'))).cards).toEqual([
      'Doing (active): A',
      'Doing (active): B',
      'Review (active): C',
    ])
  })
})

describe('tasks in other blocks', () => {
  it.each([
    ['a plain bullet', ['- Roof', '  - [ ] Tiles', '  - [ ] Gutter'], ['Part of: Roof', 'Part of: Roof']],
    [
      'bullets of bullets',
      ['- House', '  * Roof', '    1. [ ] Tiles', '  * [ ] Gutter'],
      ['Part of: House > Roof', 'Part of: House'],
    ],
    [
      'a bullet with text',
      ['- **Roof**', '', '  Some words.', '', '  - [ ] Tiles', '  - [ ] Gutter'],
      ['Part of: Roof', 'Part of: Roof'],
    ],
    ['a quote', ['> - [ ] Tiles', '> - [ ] Gutter'], ['', '']],
    ['quotes of quotes', ['> > - [ ] Tiles', '> - [ ] Gutter'], ['', '']],
    ['a callout', ['> [!todo] Roof', '> - [ ] Tiles', '> - [ ] Gutter'], ['', '']],
    ['a quote in a bullet', ['- Roof', '  > - [ ] Tiles', '  > - [ ] Gutter'], ['Part of: Roof', 'Part of: Roof']],
    ['a bullet by tabs', ['- Roof', '\t- [ ] Tiles', '\t- [ ] Gutter'], ['Part of: Roof', 'Part of: Roof']],
    [
      'details',
      ['<details>', '<summary>Roof</summary>', '', '- [ ] Tiles', '- [ ] Gutter', '', '</details>'],
      ['', ''],
    ],
  ])('tasks below %s are separate cards', async (_, block, prompts) => {
    const cards = ['Tiles', 'Gutter'].map((title, at) => `${title}${prompts[at] && ` | ${prompts[at]}`}`)
    expect((await boardOf(lines('## Todo', '- [ ] Paint', '', ...block, '', '- [ ] Last'))).cards).toEqual(
      todo('Paint', ...cards, 'Last'),
    )
  })

  it('the content of a task stays in its prompt, also in a quote', async () => {
    expect(
      (
        await boardOf(
          lines(
            '## Todo',
            '> - [ ] Paint',
            '>   the door',
            '>   - [ ] buy',
            '>',
            '>     more',
            '- [ ] Roof',
            '  > - [ ] quoted',
          ),
        )
      ).cards,
    ).toEqual(todo('Paint | the door\n- [ ] buy\n\n  more', 'Roof | > - [ ] quoted'))
  })

  it('lines that only look like tasks are counted', async () => {
    expect(
      (await boardOf(lines('## Todo', '- [ ] Paint', '## Other', 'Roof:', '    - [ ] Tiles', '', '    - [ ] Gutter')))
        .warnings,
    ).toEqual(['Skipped lines of text outside tasks: 1.', 'Skipped lines like tasks in code or within a paragraph: 2.'])
  })

  it('plain bullets between tasks are counted and added to no prompt', async () => {
    expect(await boardOf(lines('## Todo', '- [ ] Paint', '- eggs', '- [ ] Roof'))).toMatchObject({
      cards: todo('Paint', 'Roof'),
      warnings: ['Skipped lines of text outside tasks: 1.'],
    })
  })
})

describe('headings', () => {
  it.each([
    ['underlined', ['Todo', '====', '- [ ] A', '', 'Done', '----', '- [x] B']],
    ['with decoration around them', ['## Todo ##', '- [ ] A', '# Done #', '- [x] B']],
    ['with inline marks', ['## **Todo**', '- [ ] A', '## `Done`', '- [x] B']],
    ['directly below tasks', ['# Todo', '- [ ] A', '# Done', '- [x] B']],
  ])('headings that are %s become columns', async (_, all) => {
    expect((await boardOf(lines(...all))).cards).toEqual(['Todo (backlog): A', 'Done (done): B'])
  })

  it.each([
    'Done ✓',
    '✅ Done',
    'Done:',
    '**Done**',
    'DONE (12)',
    'Completed 🎉',
    'Done this week',
    'Erledigt',
    '完了',
    '~~Closed~~',
  ])('done tasks under "%s" need no second done column', async name => {
    const { columns } = await boardOf(lines('### Todo', '- [ ] A', `### ${name}`, '- [x] B', '- [x] C'))
    expect(columns.filter(column => column.endsWith('(done)'))).toHaveLength(1)
    expect(columns).toHaveLength(3)
  })

  it.each([
    ['no heading', ['- [ ] A']],
    ['one heading', ['# Chores', '- [ ] A']],
    ['done tasks only', ['# Done', '- [x] A']],
    ['active tasks only', ['# Doing', '- [ ] A']],
    ['an archive only', ['# Archive', '- [x] A']],
    ['weeks', ['# Week 1', '- [x] A', '# Week 2', '- [x] B', '- [ ] C']],
  ])('a file with %s creates a board with an active column followed by a done column', async (_, all) => {
    const types = (await boardOf(lines(...all))).columns.map(column => /\((\w+)\)$/.exec(column)![1])
    expect(types.filter(type => type !== 'backlog' && type !== 'archive')).toEqual(['active', 'done'])
    expect(types.lastIndexOf('archive') === -1 || types.at(-1) === 'archive').toBe(true)
  })
})

describe('comments', () => {
  it.each([
    ['one line', ['<!-- - [ ] No -->']],
    ['several lines', ['<!--', '- [ ] No', '', '## Old', '- [x] No', '-->']],
    ['Obsidian', ['%% - [ ] No %%']],
    ['several lines of Obsidian', ['%%', '- [ ] No', '', '- [ ] No', '%%']],
    ['in a task', ['  <!--', '  - [ ] No', '  -->']],
  ])('tasks in %s become no cards', async (_, comment) => {
    expect((await boardOf(lines('## Todo', '- [ ] A', ...comment, '- [ ] B'))).cards).toEqual(todo('A', 'B'))
  })

  it('are not part of titles, and code in titles stays', async () => {
    expect(
      (await boardOf(lines('## Todo', '- [ ] A <!-- hidden', '  still --> end', '- [ ] B `<!-- shown -->`'))).cards,
    ).toEqual(todo('A end', 'B `<!-- shown -->`'))
  })
})

describe('boards of Obsidian', () => {
  const settings = ['%% kanban:settings', '```', '{"kanban-plugin":"board","list-collapse":[false]}', '```', '%%']
  const head = ['---', '', 'kanban-plugin: board', '', '---', '']
  it.each([
    ['English', '**Complete**', 'Archive'],
    ['German', '**Fertiggestellt**', 'Archiv'],
    ['Chinese', '**完成**', '归档'],
  ])('in %s have no card texts in their settings, and their archive is archived', async (_, complete, archive) => {
    const text = lines(
      ...head,
      '## Next',
      '',
      '- [ ] A',
      '- [ ] B @{2031-05-04}',
      '',
      '',
      '## Shelf',
      '',
      complete,
      '- [x] C',
      '',
      '',
      '***',
      '',
      `## ${archive}`,
      '',
      '- [x] D',
      '',
      ...settings,
    )
    expect(await boardOf(text)).toEqual({
      columns: ['Next (backlog)', 'In Progress (active)', 'Shelf (done)', `${archive} (archive)`],
      cards: [
        'Next (backlog): A',
        'Next (backlog): B @{2031-05-04}',
        'Shelf (done): C',
        `${archive} (archive): D (archived)`,
      ],
      warnings: [],
    })
  })

  it.each([
    ['YAML', ['---', 'kanban-plugin: board', 'tags:', '  - a', '---']],
    ['YAML with an end of dots', ['---', '# a comment', 'title: A', '...']],
    ['TOML', ['+++', 'title = "A"', '+++']],
    ['nothing', ['---', '---']],
  ])('front matter of %s becomes neither a heading nor text', async (_, front) => {
    expect(await boardOf(lines(...front, '- [ ] A'))).toMatchObject({ cards: ['Backlog (backlog): A'], warnings: [] })
  })

  it('a line above tasks is not front matter', async () => {
    expect((await boardOf(lines('---', '## Todo', '- [ ] A', '---', '- [ ] B'))).cards).toEqual(todo('A', 'B'))
  })
})

it.each([
  [
    'md-inline-fence',
    [
      ...todo('Paint the door | ```npm run paint``` starts it', 'Fix the roof', 'Sweep the yard'),
      'Done (done): Sell the boat',
    ],
  ],
  [
    'md-obsidian-kanban',
    [
      'Next (backlog): Paint the door',
      'Next (backlog): Fix the roof @{2031-05-04}',
      'Finished (done): Sweep the yard',
      'Archive (archive): Sell the boat (archived)',
    ],
  ],
  [
    'md-other-states',
    [
      ...todo('Paint the door'),
      'In Progress (active): Fix the roof',
      ...todo('Sell the boat (archived)', 'Sweep the yard'),
      'Done (done): Feed the cat',
    ],
  ],
  ['md-under-bullet', todo('Paint the door', 'Fix the roof | Part of: Roof', 'Clean the gutter | Part of: Roof')],
])('reads %s.md', async (name, cards) => {
  const text = readFileSync(join(import.meta.dirname, '..', 'fixtures', 'imports', `${name}.md`), 'utf8')
  expect(await boardOf(text)).toMatchObject({ cards, warnings: [] })
})
