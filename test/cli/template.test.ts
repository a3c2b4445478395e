import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, inTurn, run, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let cli: CommandLine

beforeAll(async () => {
  board = await startBoard()
  const { id: projectId } = await board.client.projects.create({ name: 'web', path: board.folder('work') })
  await board.client.cards.create({ projectId, title: 'Less <b> & more', labels: ['bug', 'ui'] })
  await board.client.cards.create({ projectId, title: '{{secret}}' })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

/** The output of command lines, or the lines of their errors. */
const printed = async (...lines: string[][]) =>
  (await inTurn(cli, lines)).map(({ code, stdout, stderr }) => (code === 0 ? stdout : stderr.trimEnd().split('\n')))

describe('--template', () => {
  test('prints a text for each row of a list, or for one record, verbatim', async () => {
    expect(
      await printed(
        ['cards', 'list', '--template', '#{{id}}\\t{{title}}{{#labels}} [{{.}}]{{/labels}}{{^labels}} -{{/labels}}'],
        ['cards', 'view', '1', '--template', '{{title}}: {{labels}}'],
        ['cards', 'list', '--json', 'id', '--template', '{{id}}'],
        ['api', '/api/projects', '--template', '{{name}}'],
        ['cards', 'list', '--status', 'failed', '--template', '{{archivedAt}}'],
      ),
    ).toEqual([
      '#1\tLess <b> & more [bug] [ui]\n#2\t{{secret}} -\n',
      'Less <b> & more: ["bug","ui"]\n',
      '1\n2\n',
      'web\n',
      '',
    ])
  })

  test('reports errors in the template', async () => {
    const see = 'see: board help formatting'
    const [unknown, open, partial, both] = await printed(
      ['cards', 'list', '--template', '{{titel}}'],
      ['cards', 'list', '--template', '{{#labels}}'],
      ['cards', 'list', '--template', '{{>other}}'],
      ['cards', 'list', '--template', '{{id}}', '--jq', '.'],
    )
    expect(unknown!.slice(0, 2)).toEqual(['board: unknown field: titel', 'did you mean: title'])
    expect(open).toEqual(['board: --template: Unclosed section "labels" at 11', see])
    expect(partial).toEqual(['board: --template: partials are not supported ({{>name}})', see])
    expect(both).toEqual(['board: --jq and --template are mutually exclusive'])
  })

  test('sanitizes card titles on a terminal', async () => {
    const { id } = await board.client.cards.create({ projectId: '1', title: '\u001b[31mred' })
    const { stdout } = await cli.board(['cards', 'view', id, '--template', '{{title}}'], {
      env: { BOARD_FORCE_TTY: '80' },
    })
    expect(stdout).toBe('␛[31mred\n')
    await board.client.cards.delete({ projectId: '1', cardId: id, force: true })
  })

  test('is not available for the command that creates boards, which has its own option of that name', async () => {
    expect(await cli.json(['boards', 'create', 'Next', '--template', 'Kanban'])).toMatchObject({ name: 'Next' })
    expect((await cli.board(['boards', 'create', 'Last', '--template', 'none'])).stderr).toContain(
      'there is no template "none"',
    )
  })
})

test("completion offers the fields of a command's output, and after each comma the remaining ones", async () => {
  const complete = (...words: string[]) => cli.ok(['__complete', '--', ...words])
  const [first, second, joined, card, none] = await Promise.all([
    complete('cards', 'list', '--json', 'ti'),
    complete('cards', 'list', '--json', 'title,status,stat'),
    complete('projects', 'view', '--json=id,na'),
    complete('cards', 'view', '--json', '1'),
    complete('cards', 'list', '--json', 'x'),
  ])
  expect([first, second, joined, none]).toEqual(['title\n', 'title,status,statusReason\n', '--json=id,name\n', ''])
  expect(card).toBe('1\tLess <b> & more\n')
})

describe('the examples of `board help formatting`', () => {
  const program = resolve(import.meta.dirname, '../../bin/board.js')
  const typed = (line: string, token = board.token) =>
    run('/bin/sh', ['-c', `board() { "${process.execPath}" "${program}" "$@"; }; ${line}`], {
      env: { ...cli.env, BOARD_TOKEN: token },
      cwd: cli.home,
    })

  test('run in a shell, and compare IDs of --json and of /api/external', async () => {
    const { key } = await board.client.keys.create({
      name: 'reader',
      scope: 'project',
      projectId: '1',
      permissions: ['cards.read'],
    })
    const help = await cli.ok(['help', 'formatting'])
    const lines = [...help.matchAll(/^ {2}(board .+)$/gm)].map(([, line]) => line!)
    expect(lines).toHaveLength(8)
    const printed = new Map<string, string>()
    for (const line of lines) {
      const { code, stdout, stderr } = await typed(line, line.includes('/api/external/') ? key : undefined)
      expect({ line, code, stderr: code === 0 ? '' : stderr }).toEqual({
        line,
        code: line.endsWith(' --json x') ? 2 : 0,
        stderr: line.endsWith(' --json x') ? expect.stringContaining('known fields: ') : '',
      })
      printed.set(line, stdout)
    }
    const byId = lines.filter(line => /tonumber|tostring/.test(line)).map(line => printed.get(line))
    expect(byId).toEqual(['Less <b> & more\n{{secret}}\n', '{{secret}}\n', '{{secret}}\n'])
  })

  test('print an ID of either form without quotes', async () => {
    const { key } = await board.client.keys.create({
      name: 'reader 2',
      scope: 'project',
      projectId: '1',
      permissions: ['cards.read'],
    })
    const ids = await Promise.all([
      typed("board cards list --jq '.[0].id'"),
      typed("board api /api/external/projects/1/cards --jq '.items[0].id'", key),
    ])
    expect(ids.map(({ stdout }) => stdout)).toEqual(['1\n', '1\n'])
  })
})
