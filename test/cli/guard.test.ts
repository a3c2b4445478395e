import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { refined } from '../support/contract/seed.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'

let server: TestBoard
let cli: CommandLine
let here: string
let projectId: string
let card: string
let foreign: string
let attachment: string

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token })
  here = server.folder('here')
  const { client } = server
  projectId = (await client.projects.create({ name: 'here', path: here })).id
  const web = await client.projects.create({ name: 'web', path: server.folder('web') })
  card = (await client.cards.create({ projectId, title: 'Ours' })).id
  foreign = (await client.cards.create({ projectId: web.id, title: 'Theirs' })).id
  writeFileSync(join(cli.home, 'note.txt'), 'a note')
  attachment = (
    await client.attachments.create({ projectId: web.id, cardId: foreign, file: { path: join(cli.home, 'note.txt') } })
  ).id
})
afterAll(async () => {
  cli.close()
  await server.close()
})

const columnOf = async (id: string) => (await server.client.cards.getFlat({ id })).columnName
const addCards = async (count: number, columnId?: string) => {
  const ids: string[] = []
  for (let at = 0; at < count; at++)
    ids.push((await server.client.cards.create({ projectId, columnId, title: `Card ${at}`, deferred: true })).id)
  return ids
}

describe('a card of another project', () => {
  test('is rejected with its name, for any source of the current project', async () => {
    await cli.ok(['profile', 'set', 'ours', '--url', server.url, '--project', 'here'])
    const ways: [string, Parameters<CommandLine['board']>[1], string[]][] = [
      ['the folder', { cwd: here }, []],
      ['the environment', { env: { BOARD_PROJECT: 'here' } }, []],
      ['the flag', {}, ['-P', 'here']],
      ['the profile', {}, ['--profile', 'ours']],
    ]
    for (const [from, surroundings, flags] of ways)
      for (const command of [
        ['cards', 'move', foreign, '--to', 'Done'],
        ['cards', 'delete', foreign, '--yes'],
        ['cards', 'view', foreign],
        ['cards', 'attach', foreign, join(cli.home, 'note.txt')],
        ['agents', 'sessions', foreign],
        ['presession', 'start', foreign],
        ['monitors', 'list', foreign],
      ])
        expect(await cli.board([...command, ...flags], surroundings), `${command.join(' ')} by ${from}`).toMatchObject({
          code: 3,
          stdout: '',
          stderr: expect.stringContaining(`card ${foreign} belongs to project "web"\nto use that project: -P web\n`),
        })
    await cli.ok(['profile', 'delete', 'ours', '--yes'])
    expect(await columnOf(foreign)).toBe('Backlog')
    expect(await cli.board(['cards', 'move', foreign, '--to', 'Backlog', '-P', 'web'])).toMatchObject({ code: 0 })
  })

  test('is rejected the same way for boards, columns, scripts and pre-sessions', async () => {
    const { client } = server
    const web = (await client.projects.list()).find(({ name }) => name === 'web')!.id
    const [column] = await client.columns.list({ projectId: web })
    const { id: script } = await client.scripts.create({ projectId: web, name: 'Clean', command: 'true' })
    const session = await refined(server, { projectId: web, cardId: foreign })
    const asked: [string, string[]][] = [
      [`column ${column!.id}`, ['cards', 'add', 'x', '-c', column!.id]],
      [`column ${column!.id}`, ['cards', 'move', card, '--to', column!.id]],
      [`column ${column!.id}`, ['columns', 'clear', `#${column!.id}`, '--yes']],
      [`column ${column!.id}`, ['columns', 'delete', column!.id, '--yes']],
      [`board ${column!.boardId}`, ['boards', 'delete', column!.boardId, '--yes']],
      [`script ${script}`, ['scripts', 'run', script]],
      [`script ${script}`, ['scripts', 'delete', script, '--yes']],
      [`pre-session ${session}`, ['presession', 'view', session]],
      [`pre-session ${session}`, ['presession', 'messages', session]],
      [`pre-session ${session}`, ['presession', 'send', session, 'Hello']],
      [`pre-session ${session}`, ['presession', 'accept', session]],
      [`pre-session ${session}`, ['presession', 'cancel', session]],
    ]
    const ways: [Parameters<CommandLine['board']>[1], string[]][] = [
      [{ cwd: here }, []],
      [{ env: { BOARD_PROJECT: 'here' } }, []],
      [{}, ['-P', 'here']],
    ]
    for (const [at, [what, command]] of asked.entries()) {
      const [surroundings, flags] = ways[at % ways.length]!
      expect(await cli.board([...command, ...flags], surroundings), command.join(' ')).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringContaining(`${what} belongs to project "web"\nto use that project: -P web\n`),
      })
    }
    expect(await cli.board(['scripts', 'run', '999999'], { cwd: here })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('there is no script "999999"'),
    })
    expect(await client.scripts.list({ projectId: web })).toHaveLength(1)
  })

  test('keeps its attachments also', async () => {
    for (const command of [
      ['cards', 'detach', attachment, '--yes'],
      ['cards', 'download', attachment, '-o', '-'],
    ])
      expect(await cli.board(command, { cwd: here }), command.join(' ')).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringContaining(`attachment ${attachment} belongs to project "web"`),
      })
    expect(await cli.board(['cards', 'download', attachment, '-o', '-'])).toMatchObject({ code: 0, stdout: 'a note' })
  })

  test('is reached by its id alone if there is no current project, and by #id', async () => {
    expect(await cli.board(['cards', 'view', `#${foreign}`, '--json', 'title'])).toMatchObject({
      code: 0,
      stdout: '{"title":"Theirs"}\n',
    })
    expect(await cli.ok(['cards', 'move', `#${card}`, '--to', 'Backlog'], { cwd: here })).toBe(`${card}\tmoved\n`)
  })
})

describe('a second project', () => {
  test('in the same folder or with the same name requires a confirmation, or --yes in a script', async () => {
    expect(await cli.board(['projects', 'create', 'other'], { cwd: here })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Project \d+ "here" already has this folder.*\n.*--yes/),
    })
    const other = server.folder('other')
    expect(await cli.board(['projects', 'create', 'Here'], { cwd: other })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/already has this name.*\n.*--yes/),
    })
    const { code, text } = await onTerminal(['projects', 'create', 'other'], {
      cwd: here,
      env: cli.env,
      answers: [['Create another project for it? [y/N]', 'n\r']],
    })
    expect([code, text]).toEqual([1, expect.stringContaining('nothing was changed')])
    const twice = server.folder('twice')
    await cli.ok(['projects', 'create', 'twice', '--path', twice])
    await cli.ok(['projects', 'create', 'thrice', '--path', twice, '--yes'])
    // The folder belongs to both projects, so a card of either is found by its id and a card of another project is not.
    expect(await cli.board(['cards', 'view', foreign], { cwd: twice })).toMatchObject({ code: 3 })
  })

  test('is not created by an import in the folder of a project', async () => {
    writeFileSync(join(cli.home, 'TODO.md'), '# Plans\n- [ ] First\n- [ ] Second\n')
    const todo = join(cli.home, 'TODO.md')
    const before = (await server.client.projects.list()).length
    const report = await cli.json<{ projectIds: string[] }>(['import', 'markdown', todo], { cwd: here })
    expect(report.projectIds).toEqual([projectId])
    const file = join(cli.home, 'here.board.json')
    await cli.ok(['projects', 'export', 'here', '-o', file])
    expect(await cli.board(['import', 'board', file], { cwd: here })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('specify --yes'),
    })
    expect(await cli.board(['import', 'markdown', todo, '--path', here])).toMatchObject({ code: 2 })
    expect(await server.client.projects.list()).toHaveLength(before)
    const fresh = join(cli.home, 'fresh')
    mkdirSync(fresh)
    await cli.ok(['import', 'markdown', todo, '--path', fresh], { cwd: here })
    expect(await server.client.projects.list()).toHaveLength(before + 1)
  })
})

describe('ids from stdin', () => {
  test('are all words of each line up to its first tab', async () => {
    const ids = await addCards(4)
    const input = `${ids[0]} #${ids[1]}\r\n${ids[2]}\t77 a title with 3 words\n\n  ${ids[3]}  \n`
    expect(await cli.board(['cards', 'move', '-', '--to', 'Done'], { cwd: here, input })).toMatchObject({
      code: 0,
      stdout: ids.map(id => `${id}\tmoved\n`).join(''),
    })
  })

  test('are rejected before any action if one is invalid', async () => {
    const [first] = await addCards(1)
    for (const input of [`${first}\nFix the login\n`, `${first} 0\n`, `ID\tTITLE\n${first}\tCard 0\n`])
      expect(await cli.board(['cards', 'move', '-', '--to', 'Done'], { cwd: here, input })).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('which is not an ID; nothing was changed'),
      })
    expect(await cli.board(['cards', 'archive', first!, 'login'], { cwd: here })).toMatchObject({ code: 3, stdout: '' })
    expect(await columnOf(first!)).toBe('Backlog')
  })
})

describe('a move that starts agents', () => {
  test('asks with their number if there is more than one, and reports it in a dry run', async () => {
    const [active] = (await server.client.columns.list({ projectId })).filter(
      ({ columnType }) => columnType === 'active',
    )
    const idle = await addCards(3)
    const [inside] = await addCards(1, active!.id)
    const move = ['cards', 'move', ...idle, inside!, '--to', active!.name]
    expect(await cli.board(move, { cwd: here })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Start 3 agents?\nspecify --yes'),
    })
    const dry = await cli.board([...move, '--dry-run'], { cwd: here })
    expect(dry.stderr).toContain('3 agents would start.\n')
    expect(dry.stdout.split('\n').filter(line => line.includes('which starts its agent'))).toHaveLength(3)
    const { code } = await onTerminal(move, { cwd: here, env: cli.env, answers: [['Start 3 agents? [y/N]', 'n\r']] })
    expect([code, await columnOf(idle[0]!)]).toEqual([1, 'Backlog'])

    expect(await cli.board(['cards', 'move', idle[0]!, '--to', active!.name], { cwd: here })).toMatchObject({ code: 0 })
    expect(await cli.board(['cards', 'move', ...idle, '--to', 'Done'], { cwd: here })).toMatchObject({ code: 0 })
    expect(await cli.board([...move, '--yes'], { cwd: here })).toMatchObject({ code: 0 })
  })

  test('asks before completed cards move to their next steps', async () => {
    const { client } = server
    const active = (await client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!
    await client.columns.create({ projectId, boardId: active.boardId, name: 'Review', columnType: 'active' })
    const done = await addCards(2, active.id)
    for (const id of done)
      await server.server.app.db.transaction(tx => tx.run("UPDATE cards SET status = 'completed' WHERE id = ?", [id]))
    expect(await cli.board(['cards', 'approve', ...done], { cwd: here })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Start 2 agents?\nspecify --yes'),
    })
    expect(await cli.board(['cards', 'approve', ...done, '--yes'], { cwd: here })).toMatchObject({ code: 0 })
    expect(await columnOf(done[1]!)).toBe('Review')
  })

  test('does not ask for an API key, whose moves start none', async () => {
    const { key } = await server.client.keys.create({
      name: 'cron',
      scope: 'project',
      projectId,
      permissions: ['cards.read', 'cards.move'],
    })
    const idle = await addCards(2)
    expect(
      await cli.board(['cards', 'move', ...idle, '--to', 'In Progress', '-P', projectId], {
        env: { BOARD_TOKEN: key },
      }),
    ).toMatchObject({ code: 0 })
  })
})
