import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

let { server, cli, projectId, close } = {} as WebProject

beforeAll(async () => {
  ;({ server, cli, projectId, close } = await startWebProject())
})
afterAll(() => close())

const titles = async () => (await server.client.cards.list({ projectId })).map(({ title }) => title)
const card = async (id: string) => server.client.cards.get({ projectId, cardId: id })

test('a template sets title, prompt, column and labels, and flags override them', async () => {
  const file = join(cli.home, 'release.md')
  writeFileSync(
    file,
    '---\ncolumn: Done\nlabels: [release, "a b"]\n---\n\n# Release the program\n\nTag it.\n\n- [ ] announce\n',
  )
  const id = (await cli.ok(['cards', 'add', '-T', file, '-q'])).trim()
  expect(await card(id)).toMatchObject({
    title: 'Release the program',
    prompt: 'Tag it.\n\n- [ ] announce',
    columnName: 'Done',
    labels: ['release', 'a b'],
  })
  const other = (
    await cli.ok(['cards', 'add', 'Another title', '-T', file, '-c', 'backlog', '-l', 'mine', '-q'])
  ).trim()
  expect(await card(other)).toMatchObject({
    title: 'Another title',
    columnName: 'Backlog',
    labels: ['release', 'a b', 'mine'],
  })
})

test("a commit's message from stdin becomes a title and a prompt", async () => {
  const id = (
    await cli.ok(['cards', 'add', '--template', '-', '-q'], { input: 'Fix the gate\n\nIt was open.\n' })
  ).trim()
  expect(await card(id)).toMatchObject({ title: 'Fix the gate', prompt: 'It was open.' })
})

test('lines of JSON create many cards in order, with one line of output each', async () => {
  const lines = Array.from({ length: 30 }, (_, at) =>
    JSON.stringify({ title: `Line ${at}`, prompt: `p${at}`, column: at % 2 ? 'Done' : 'Backlog', labels: ['many'] }),
  )
  const printed = await cli.ok(['cards', 'add', '--from', '-', '-l', 'more'], { input: `${lines.join('\n')}\n\n` })
  expect(
    printed
      .split('\n')
      .map(line => line.split('\t')[1])
      .filter(Boolean),
  ).toEqual(lines.map(line => (JSON.parse(line) as { title: string }).title))
  const inDone = (await cli.ok(['cards', 'list', '-c', 'done', '--label', 'many', '--json', '--jq', '.[].title']))
    .trim()
    .split('\n')
  expect(inDone).toEqual(Array.from({ length: 15 }, (_, at) => `Line ${2 * at + 1}`))
  expect(await cli.json(['cards', 'list', '--label', 'more', '--limit', '1'])).toMatchObject([
    { labels: ['many', 'more'] },
  ])
})

test('no card is added if a line is invalid, and the error names the line', async () => {
  const before = await titles()
  for (const [input, says] of [
    ['{"title":"a"}\n{"title":', 'line 2 is not a JSON object'],
    ['{"title":"a"}\n[1]', 'line 2 is not a JSON object'],
    ['{"title":"a","colour":"red"}', 'line 1 has an unknown field: colour'],
    ['{"prompt":"b"}', 'line 1 has no title'],
    ['{"title":"a","labels":"x"}', 'labels must be a list of texts'],
  ] as const) {
    const { code, stderr } = await cli.board(['cards', 'add', '--from', '-'], { input })
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)])
  }
  expect(await titles()).toEqual(before)
})

test('a failed card does not stop the others, and the exit code reports it', async () => {
  const { code, stdout, stderr } = await cli.board(['cards', 'add', '--from', '-', '-q'], {
    input: '{"title":"First one"}\n{"title":"Lost","column":"Nowhere"}\n{"title":"Third one"}\n',
  })
  expect([code, stdout.trim().split('\n').length]).toEqual([1, 2])
  expect(stderr).toContain('2: there is no column "Nowhere"')
  expect(await titles()).toEqual(expect.arrayContaining(['First one', 'Third one']))
})

test('a retry with the same key adds no duplicates, and a title is required', async () => {
  const input = '{"title":"Once A"}\n{"title":"Once B"}\n'
  const first = await cli.ok(['cards', 'add', '--from', '-', '--idempotency-key', 'night', '-q'], { input })
  expect(await cli.ok(['cards', 'add', '--from', '-', '--idempotency-key', 'night', '-q'], { input })).toBe(first)
  for (const nothing of [[], [''], ['  ']])
    expect(await cli.board(['cards', 'add', ...nothing])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a card requires a title') as string,
    })
  expect(await cli.board(['cards', 'add', 'x', '--from', '-'], { input })).toMatchObject({ code: 2 })
})

test('a card whose agent cannot start is not added with --run, and a waiting one stays in its column', async () => {
  const unable =
    /^board: no agent is installed on the server\. To install one, for example .+: npm install -g \S+\nsee: board agents providers\n$/
  const refused = { code: 1, stdout: '', stderr: expect.stringMatching(unable) as string }
  expect(await cli.board(['cards', 'add', 'Needs an agent', '--run'])).toEqual(refused)
  expect(await cli.board(['cards', 'add', 'Needs an agent', '--run', '-c', 'In Progress', '-q'])).toEqual(refused)
  expect(await cli.ok(['cards', 'list', '--search', 'Needs an agent', '-q'])).toBe('')
  const id = (await cli.ok(['cards', 'add', 'Needs an agent', '-q'])).trim()
  const waits = { title: 'Needs an agent', columnName: 'Backlog', deferred: true, status: 'idle' }
  expect(await cli.board(['cards', 'run', id])).toEqual(refused)
  expect(await card(id)).toMatchObject(waits)
})

test('a card with files whose agent cannot start keeps them and waits, and its id is shown', async () => {
  const file = join(cli.home, 'note.txt')
  writeFileSync(file, 'Noted.')
  const refused = await cli.board(['cards', 'add', 'Has a file', '--attach', file, '--run'])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toContain('no agent is installed on the server')
  const id = (await cli.ok(['cards', 'list', '--search', 'Has a file', '-q'])).trim()
  expect(refused.stderr).toContain(`card ${id} was still added`)
  expect(await card(id)).toMatchObject({ columnName: 'Backlog', deferred: true, status: 'idle' })
  expect(await server.client.attachments.list({ projectId, cardId: id })).toHaveLength(1)
})

test.each([
  ['of a file', 'log.txt'],
  ['of stdin', '-'],
])('a prompt %s that is too long for a card is attached', async (_, source) => {
  const file = join(cli.home, 'log.txt')
  const text = `${'x'.repeat(70_000)}\n`
  writeFileSync(file, text)
  const [path, name] = source === '-' ? ['-', 'prompt.txt'] : [file, 'log.txt']
  const input = source === '-' ? text : ''
  const attached = async (id: string) => {
    const all = await server.client.attachments.list({ projectId, cardId: id })
    return all.map(({ filename }) => filename)
  }
  const id = (await cli.ok(['cards', 'add', 'Find the fault', '--prompt-file', path, '-q'], { input })).trim()
  expect((await card(id)).prompt).toBe(`The task is in the attached file ${name}.`)
  expect(await attached(id)).toEqual([name])
  const other = (await cli.ok(['cards', 'add', 'Another', '-q'])).trim()
  expect(await cli.board(['cards', 'edit', other, '--prompt-file', path], { input })).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`The text is too long for a prompt, and was attached as ${name}.\n`) as string,
  })
  expect((await card(other)).prompt).toBe(`The task is in the attached file ${name}.`)
  expect(await attached(other)).toEqual([name])
  expect((await cli.board(['cards', 'add', 'Long', '--prompt', text])).code).toBe(2)
})

test('auto mode is an option of add and edit, and auto accepts several cards', async () => {
  const modes = (ids: string[]) => Promise.all(ids.map(async id => (await card(id)).autoMode))
  const first = (await cli.ok(['cards', 'add', 'By itself', '--auto', '-q'])).trim()
  const second = (await cli.ok(['cards', 'add', 'By hand', '-q'])).trim()
  expect(await modes([first, second])).toEqual([true, false])
  await cli.ok(['cards', 'edit', first, second, '--no-auto'])
  expect(await modes([first, second])).toEqual([false, false])
  await cli.ok(['cards', 'edit', first, '--auto', '--title', 'By itself again'])
  expect(await card(first)).toMatchObject({ autoMode: true, title: 'By itself again' })
  await cli.ok(['cards', 'auto', '-', 'on'], { input: `${first}\tBy itself\n${second}\n` })
  expect(await modes([first, second])).toEqual([true, true])
  for (const words of [[first], [first, 'maybe'], ['on']])
    expect(await cli.board(['cards', 'auto', ...words])).toMatchObject({ code: 2 })
})
