import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defaultTreeAdapter, parse, type DefaultTreeAdapterTypes } from 'parse5'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertMessage, insertPiece } from '../../src/store/transcripts.ts'
import { newSession } from '../support/agents/agentRows.ts'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

type Element = DefaultTreeAdapterTypes.Element
interface Read {
  text: string
  elements: Element[]
  faults: string[]
}

/** Everything at once that could run, load, lead away, or turn what is around it. */
const hostile =
  '</title></style></pre><script>MARK()</script><img src=x onerror=MARK()>"\'><svg onload=MARK()> [a](javascript:MARK()) [b](data:text/html,x) [c](//evil.example) ![p](http://evil.example/p.png) <javascript:MARK()> &lt;b&gt; &#x202e; \u202eturned\u2066 \u001b[2J\u009b1m \u0007'
const markdown = `# Head\n\n${hostile}\n\n- [x] done\n- [ ] open\n\n| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n<iframe src="http://evil.example">\n\n[![p](http://evil.example/q.png)](https://example.org/kept "t&quot; onclick=MARK()")\n\n[r]: javascript:MARK()\n[r] https://example.org/plain mailto:ada@example.org\n\n\`\`\`html\n</code></pre><script>MARK()</script>\n\`\`\`\n`
const hostileFile = '<img src=x onerror=MARK()>\u202e.txt'
/** What pages are made of. */
const harmlessElements = new Set(
  'html head meta title style body header main footer section aside article div h1 h2 h3 h4 h5 h6 p span b i em strong s a code pre blockquote hr br ul ol li dl dt dd table thead tbody tr th td details summary time svg rect line text path'.split(
    ' ',
  ),
)
const unsafeCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

let board: AgentBoard
let cli: CommandLine
let card: Card

beforeAll(async () => {
  board = await startAgentBoard({
    echo: { fixture: 'echoing', env: { FIXTURE_FILE: hostileFile } },
    good: { fixture: 'well-behaved' },
    lines: {
      protocol: 'command',
      command: ['sh', '-c', 'seq 1 21000 > many.txt; printf "%03000d\\n" 7 > long.txt; echo last > z.txt'],
    },
  })
  cli = commandLine({
    BOARD_URL: board.url,
    BOARD_TOKEN: board.token,
    BOARD_PROJECT: board.projectId,
    TZ: 'Europe/Berlin',
  })
  const { client, projectId, columns } = board
  await client.projects.update({ id: projectId, name: hostile.slice(0, 200) })
  await client.columns.update({ projectId, columnId: columns.active, name: hostile.slice(0, 150) })
  card = await board.start('echo', {
    title: hostile,
    prompt: markdown,
    labels: [hostile.slice(0, 100)],
    groupId: hostile.slice(0, 200),
  })
  await board.untilStatus(card.id, 'completed')
  const form = new FormData()
  form.append('file', new Blob(['x'.repeat(2048)]), '<script>MARK()<\uff0fscript>\u202e.png')
  await fetch(`${board.url}/api/projects/${projectId}/cards/${card.id}/attachments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${board.token}` },
    body: form,
  })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

/** Makes a page and reads it as a browser would. */
async function made(...args: string[]): Promise<Read> {
  const path = (await cli.ok([...args, '--web'])).trimEnd()
  const source = readFileSync(path, 'utf8')
  expect(source).not.toContain(board.token)
  expect(unsafeCharacters.exec(source)).toBe(null)
  const faults: string[] = []
  const document = parse(source, { onParseError: ({ code, startLine }) => faults.push(`${code} in line ${startLine}`) })
  const elements = [...below(document)]
  return {
    text: elements
      .filter(({ tagName }) => tagName === 'body')
      .map(textOf)
      .join(''),
    elements,
    faults,
  }
}

function* below(node: DefaultTreeAdapterTypes.ParentNode): Generator<Element> {
  for (const child of node.childNodes) {
    if (!defaultTreeAdapter.isElementNode(child)) continue
    yield child
    yield* below(child)
  }
}

const textOf = (node: DefaultTreeAdapterTypes.ParentNode): string =>
  node.childNodes
    .map(child => (defaultTreeAdapter.isTextNode(child) ? child.value : 'childNodes' in child ? textOf(child) : ''))
    .join('')
const attribute = (element: Element, wanted: string): string | undefined =>
  element.attrs.find(({ name }) => name === wanted)?.value
const named = ({ elements }: Read, tag: string): Element[] => elements.filter(({ tagName }) => tagName === tag)
const withClass = ({ elements }: Read, name: string): Element[] =>
  elements.filter(element => attribute(element, 'class')?.split(' ').includes(name))
const texts = (elements: readonly Element[]): string[] =>
  elements.map(element => textOf(element).replaceAll(/\s+/g, ' ').trim())

/** Nothing in it runs, loads or is sent, and its links lead to where people may go. */
function expectInert(read: Read): void {
  expect(read.faults).toEqual([])
  expect([...new Set(read.elements.map(({ tagName }) => tagName))].filter(name => !harmlessElements.has(name))).toEqual(
    [],
  )
  const attributes = read.elements.flatMap(({ tagName, attrs }) =>
    attrs.map(({ name, value }) => ({ tagName, name, value })),
  )
  expect(
    attributes.filter(
      ({ name, tagName }) =>
        /^on|^(src|srcset|srcdoc|style|action|formaction|background|poster|ping|target|data)$/.test(name) ||
        (name === 'href' && tagName !== 'a') ||
        name.includes(':'),
    ),
  ).toEqual([])
  for (const link of named(read, 'a')) {
    expect(attribute(link, 'href')).toMatch(/^(https?:\/\/|mailto:|#file-\d+$)/)
    if (!attribute(link, 'href')!.startsWith('#')) expect(attribute(link, 'rel')).toBe('noreferrer')
  }
  const [style, ...styles] = named(read, 'style')
  expect(styles).toEqual([])
  const policies = named(read, 'meta').filter(element => attribute(element, 'http-equiv') !== undefined)
  const hash = createHash('sha256').update(textOf(style!)).digest('base64')
  expect(policies.map(({ attrs }) => attrs.map(({ value }) => value))).toEqual([
    ['Content-Security-Policy', `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`],
  ])
  // What stands before the policy in the head is not under it.
  expect(read.elements.slice(0, 4).map(({ tagName, attrs }) => [tagName, attrs[0]?.name])).toEqual([
    ['html', 'lang'],
    ['head', undefined],
    ['meta', 'charset'],
    ['meta', 'http-equiv'],
  ])
}

/** A hostile text as pages show it. */
const shown = hostile
  .replace('\u202e', '\ufffd')
  .replace('\u2066', '\ufffd')
  .replace('\u001b', '\u241b')
  .replace('\u009b', '\ufffd')
  .replace('\u0007', '\u2407')

describe('of what others wrote nothing runs, loads or leads away', () => {
  test('on the page of a card, which shows its prompt, what its agent said and did, and its files', async () => {
    const read = await made('cards', 'view', card.id)
    expectInert(read)
    expect(texts(named(read, 'h1'))).toEqual([shown])
    expect(texts(withClass(read, 'sheet'))[0]).toContain(`Head ${shown.slice(0, 60)}`)
    expect(texts(withClass(read, 'message')).map(text => text.split(' ')[0]!.replace(/\d.*/, ''))).toEqual([
      'you',
      'plan',
      'echo',
    ])
    expect(named(read, 'summary').map(element => textOf(element).slice(0, 6))).toEqual(['Though', '# Head'])
    expect(texts(withClass(read, 'tool'))[0]).toContain('failed')
    expect([...new Set(named(read, 'a').map(link => attribute(link, 'href')))].toSorted()).toEqual([
      'http://evil.example',
      'http://evil.example/p.png',
      'https://example.org/kept',
      'https://example.org/plain',
      'mailto:ada@example.org',
    ])
    expect(read.text).toContain('\u2611 done')
    expect(
      named(read, 'td')
        .slice(0, 2)
        .map(cell => attribute(cell, 'class')),
    ).toEqual(['right', 'center'])
    expect(read.text).toContain('tokens: 120 (100 in, 20 out)')
    expect(read.text).toMatch(/<script>MARK\(\)<.{1,3}script>.*\.png 2 KB/)
  })

  test('on the page of a diff, whatever its files are called', async () => {
    const read = await made('cards', 'diff', card.id)
    expectInert(read)
    expect(texts(withClass(read, 'file')).map(text => text.split('.txt')[0])).toEqual([
      expect.stringContaining('<img src=x onerror=MARK()>'),
    ])
    expect(texts(withClass(read, 'added'))).toContain('1+# Head')
    expect(texts(withClass(read, 'added')).filter(text => text.endsWith(`+${shown}`))).toHaveLength(1)
  })

  test('on the pages of a project and of its board', async () => {
    for (const words of [
      ['projects', 'view'],
      ['cards', 'list'],
    ]) {
      const read = await made(...words)
      expectInert(read)
      expect(texts(named(read, 'h1'))).toEqual([shown.slice(0, 200).trim()])
      expect(texts(withClass(read, 'column')).some(text => text.startsWith(shown.slice(0, 150).trim()))).toBe(true)
      expect(texts(withClass(read, 'label'))).toEqual([shown.slice(0, 100)])
    }
  })
})

test('a board stands column beside column, with the cards that the filters let through, and says when there are more', async () => {
  const { client, projectId, columns } = board
  for (const title of ['Second', 'First', 'Third'])
    await client.cards.create({ projectId, title, columnId: columns.backlog, labels: title === 'Third' ? ['odd'] : [] })
  const [, first] = await client.cards.list({ projectId, columnId: Number(columns.backlog) })
  await client.cards.move({ projectId, cardId: first!.id, columnId: Number(columns.backlog), position: 0 })
  const titles = (read: Read) =>
    texts(withClass(read, 'column').flatMap(column => [...below(column)].filter(({ tagName }) => tagName === 'p')))
  const all = await made('cards', 'list')
  expect(
    texts(withClass(all, 'column').flatMap(column => [...below(column)].filter(({ tagName }) => tagName === 'h3'))).map(
      text => text.slice(-10),
    ),
  ).toEqual(['Backlog 3', expect.stringMatching(/ 1$/), 'Done 0'])
  expect(titles(all).slice(0, 3)).toEqual(['First', 'Second', 'Third'])
  expect(titles(await made('cards', 'list', '-c', 'backlog'))).toEqual(['First', 'Second', 'Third'])
  expect(titles(await made('cards', 'list', '--label', 'odd'))).toEqual(['Third'])
  const some = await made('cards', 'list', '--limit', '2')
  expect(some.text).toContain('There are more cards: the first 2 of 4 are shown.')
  expect(texts(withClass(some, 'column'))[0]).toContain('Backlog 3')
  expect((await made('cards', 'list', '-c', 'backlog', '--limit', '2')).text).toContain('the first 2 of 3 are shown.')
  expect((await cli.board(['cards', 'list', '--web', '--watch'])).code).toBe(2)
})

test('a project shows its figures, and its days as curves', async () => {
  await board.server.app.db.transaction(async tx => {
    for (let age = 1; age <= 5; age++)
      await tx.run('INSERT OR REPLACE INTO project_days VALUES (?, ?, 4, 0, ?, 0)', [
        Number(board.projectId),
        new Date(Date.now() - age * 86_400_000).toISOString().slice(0, 10),
        5 - age,
      ])
  })
  const read = await made('projects', 'view')
  expectInert(read)
  expect(
    texts(withClass(read, 'bars').flatMap(bars => [...below(bars)].filter(({ tagName }) => tagName === 'tr'))),
  ).toEqual(expect.arrayContaining([expect.stringMatching(/^Backlog ?\d$/), 'Done0', 'completed1']))
  expect(named(read, 'path').map(path => attribute(path, 'd')!.split(' L').length)).toEqual([8, 6, 6])
})

test('a diff tells its lines with their numbers, and where it is too long that it goes on', async () => {
  const { id } = await board.start('lines', { title: 'Many lines' })
  await board.untilStatus(id, 'completed')
  const read = await made('cards', 'diff', id)
  expectInert(read)
  expect(
    texts(
      withClass(read, 'files')[0]!.childNodes.flatMap(body =>
        [...below(body as Element)].filter(({ tagName }) => tagName === 'tr'),
      ),
    ),
  ).toEqual(['long.txt+1 \u22120', 'many.txt+21000 \u22120', 'z.txt+1 \u22120'])
  expect(named(read, 'a').map(link => attribute(link, 'href'))).toEqual(['#file-1', '#file-2'])
  expect(withClass(read, 'file').map(file => [attribute(file, 'id'), attribute(file, 'open') !== undefined])).toEqual([
    ['file-1', true],
    ['file-2', false],
  ])
  expect(texts(withClass(read, 'note'))).toEqual([
    expect.stringMatching(/^The page shows the first 20,000 of 21,\d{3} lines\. All of them: board cards diff \d+$/),
  ])
  expect(texts(withClass(read, 'added')).slice(0, 3)).toEqual([
    expect.stringMatching(/^1\+0{1999} … 1,001 more characters$/),
    '1+1',
    '2+2',
  ])
  expect(
    texts([(await made('cards', 'diff', card.id)).elements.find(({ tagName }) => tagName === 'main')!])[0],
  ).toMatch(/^1 file changed/)
})

test('an API key gets the pages of what it may read, and that of a card says what is missing', async () => {
  const { key } = await board.client.keys.create({
    name: 'reads',
    scope: 'project',
    projectId: board.projectId,
    permissions: ['cards.read', 'boards.read'],
  })
  const path = (await cli.ok(['cards', 'view', card.id, '--web'], { env: { BOARD_TOKEN: key } })).trimEnd()
  const source = readFileSync(path, 'utf8')
  expect(source).toContain('The token may not read what its agents said.')
  expect(source).not.toContain(key)
  const listed = readFileSync(
    (await cli.ok(['cards', 'list', '--web', '-c', 'done'], { env: { BOARD_TOKEN: key } })).trimEnd(),
    'utf8',
  )
  expect(listed).toContain('<h3>Done <span>0</span></h3>')
  expect((await cli.board(['projects', 'view', '--web'], { env: { BOARD_TOKEN: key } })).code).toBe(4)
})

test('a long transcript is shown by its end, and says so', async () => {
  const { projectId } = board
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Long talk' })
  const session = await newSession(board, { projectId, cardId }, { status: 'completed' })
  await board.server.app.db.transaction(async tx => {
    for (let at = 0; at < 1009; at++)
      await insertPiece(
        tx,
        await insertMessage(tx, { sessionId: session.id, cardId: session.cardId, role: at % 2 ? 'agent' : 'user' }),
        JSON.stringify(`message ${at}`),
      )
    await insertPiece(
      tx,
      await insertMessage(tx, { sessionId: session.id, cardId: session.cardId, role: 'tool', callId: 'call' }),
      JSON.stringify({
        name: 'Print',
        kind: 'execute',
        status: 'completed',
        input: ['print'],
        output: 'x'.repeat(25_000),
      }),
    )
  })
  const read = await made('cards', 'view', cardId)
  expect(texts(withClass(read, 'note'))).toEqual([
    `These are the last 1000 messages. All of them: board agents messages ${cardId} --all`,
  ])
  expect(texts(withClass(read, 'message')).map(text => /message \d+$/.exec(text)?.[0])).toEqual(
    Array.from({ length: 999 }, (_, at) => `message ${at + 10}`),
  )
  expect(texts(withClass(read, 'tool'))).toEqual([
    expect.stringMatching(/^Print execute \[ "print" \]x{20000} \u2026 5,000 more characters are left out\.$/),
  ])
})

describe('a page', () => {
  test("is a file of one's own in a folder of one's own, where none stays for more than a day", async () => {
    const path = (await cli.ok(['cards', 'view', card.id, '--web'])).trimEnd()
    expect(dirname(path)).toBe(join(cli.home, '.cache', 'board', 'pages'))
    expect([statSync(path), statSync(dirname(path))].map(({ mode }) => (mode & 0o777).toString(8))).toEqual([
      '600',
      '700',
    ])
    const old = (await cli.json<{ path: string }>(['cards', 'view', card.id, '--web'])).path
    const beforeYesterday = Date.now() / 1000 - 2 * 86_400
    utimesSync(old, beforeYesterday, beforeYesterday)
    await cli.ok(['projects', 'view', '--web'])
    expect([existsSync(path), existsSync(old)]).toEqual([true, false])
  })

  test('opens in the browser on a terminal, and where there is none says where it is', async () => {
    const seen = join(cli.home, 'seen')
    const browser = join(cli.home, 'browser')
    writeFileSync(browser, `#!/bin/sh\nprintf '%s' "$1" > "${seen}.part" && mv "${seen}.part" "${seen}"\n`, {
      mode: 0o755,
    })
    const opened = await cli.board(['cards', 'diff', card.id, '--web'], {
      env: { BOARD_FORCE_TTY: '100', BROWSER: browser },
    })
    expect(opened).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^Opened \/.*\/diff-\d+-[0-9a-f]{12}\.html\n$/),
    })
    await eventually('the browser', () => existsSync(seen))
    expect(fileURLToPath(readFileSync(seen, 'utf8'))).toBe(opened.stderr.slice('Opened '.length).trimEnd())
    const without = await cli.board(['cards', 'diff', card.id, '--web'], {
      env: { BOARD_FORCE_TTY: '100', BROWSER: join(cli.home, 'missing') },
    })
    expect(without).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\/.*\.html\n$/),
      stderr: expect.stringContaining('BROWSER'),
    })
  })

  test('goes into the temporary folder where there is no other, and never where somebody else leads it', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'board-web-'))
    const pages = join(temporary, `board-pages-${process.getuid!()}`)
    const env = { XDG_CACHE_HOME: '/dev/null/none', TMPDIR: temporary }
    try {
      expect(dirname(await cli.ok(['cards', 'list', '--web'], { env }))).toBe(pages)
      rmSync(pages, { recursive: true })
      mkdirSync(join(temporary, 'elsewhere'))
      symlinkSync(join(temporary, 'elsewhere'), pages)
      expect(await cli.board(['cards', 'list', '--web'], { env })).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^board: the page cannot be written: /),
      })
      expect(readdirSync(join(temporary, 'elsewhere'))).toEqual([])
    } finally {
      rmSync(temporary, { recursive: true })
    }
  })
})
