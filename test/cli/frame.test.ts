import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { settleJson } from '../../cli/parsing/run.ts'
import { run } from '../support/commands/commandLine.ts'
import { unpackBoard } from '../support/commands/packedBoard.ts'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

const program = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')
const hostile = 'evil \u001b[31mred\u001b]0;title\u0007 \u202eright \u009b2J tab\there\nsecond line'

let { server, cli, projectId, close } = {} as WebProject

beforeAll(async () => {
  ;({ server, cli, projectId, close } = await startWebProject())
  for (const title of ['first', 'second', hostile, '漢字 👍🏽 wide'])
    await server.client.cards.create({ projectId, title, deferred: true })
})
afterAll(async () => {
  await close()
})

describe('in a pipe', () => {
  test('a list has one line per row with tabs, no header, no color, full texts and ISO times', async () => {
    const lines = (await cli.ok(['cards', 'list'], { env: { COLUMNS: '20' } })).trimEnd().split('\n')
    expect(lines).toHaveLength(4)
    expect(lines[0]!.split('\t').slice(0, 2)).toEqual(['1', 'first'])
    expect(lines[0]!.split('\t').at(-1)).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(lines.every(line => line.split('\t').length === lines[0]!.split('\t').length)).toBe(true)
  })

  test('a group without a command prints its help', async () => {
    const { code, stdout, stderr } = await cli.board(['cards'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(await cli.ok(['cards', '--help']))
  })

  test('FORCE_COLOR colors it, and FORCE_COLOR=0 does not', async () => {
    const colored = await cli.ok(['projects', 'list'], { env: { FORCE_COLOR: '1', BOARD_FORCE_TTY: '1' } })
    expect(colored).toContain('\u001b[')
    expect(await cli.ok(['projects', 'list'], { env: { FORCE_COLOR: '0', BOARD_FORCE_TTY: '1' } })).not.toContain(
      '\u001b[',
    )
  })

  test('--color always colors a pipe, and never and auto do not', async () => {
    const isColored = async (args: string[], env: Record<string, string> = {}) =>
      (await cli.ok(['projects', 'list', ...args], { env })).includes('\u001b[')
    expect(await isColored(['--color', 'always'])).toBe(true)
    expect(await isColored(['--color', 'always'], { NO_COLOR: '1' })).toBe(true)
    expect(await isColored(['--color', 'auto'])).toBe(false)
    expect(await isColored(['--color', 'never'], { BOARD_FORCE_TTY: '1' })).toBe(false)
    expect(await isColored(['--no-color'], { BOARD_FORCE_TTY: '1' })).toBe(false)
    expect(await isColored(['--color', 'auto'], { BOARD_FORCE_TTY: '1' })).toBe(true)
    expect((await cli.board(['projects', 'list', '--color', 'maybe'])).code).toBe(2)
  })

  test('a reader that closes the pipe early ends it quietly', async () => {
    const { code, stdout, stderr } = await run(
      '/bin/bash',
      ['-c', `set -o pipefail; for i in 1 2 3; do node ${program} cards list --json | head -c 5; done`],
      { env: cli.env },
    )
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '[{"id[{"id[{"id', stderr: '' })
  })

  test('a full disk is reported', async () => {
    const { code, stderr } = await run('/bin/sh', ['-c', `node ${program} cards list > /dev/full`], { env: cli.env })
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'board: cannot write to stdout: ENOSPC\n' })
  })
})

describe('on a terminal', () => {
  test('a list is a table with a header that fits the width, with relative times', async () => {
    const lines = (await cli.ok(['cards', 'list'], { env: { BOARD_FORCE_TTY: '60', NO_COLOR: '1' } }))
      .trimEnd()
      .split('\n')
    expect(lines[0]).toMatch(/^ID +TITLE +COLUMN/)
    expect(lines[1]).toMatch(/first .*(now|ago)$/)
    expect(Math.max(...lines.map(line => [...line].length))).toBeLessThanOrEqual(60)
  })

  test('it is colored, but not with NO_COLOR, --no-color or TERM=dumb', async () => {
    const shown = async (env: Record<string, string>, ...flags: string[]) =>
      cli.ok(['cards', 'list', ...flags], { env: { BOARD_FORCE_TTY: '1', ...env } })
    expect(await shown({})).toContain('\u001b[1mfirst')
    expect(await shown({ NO_COLOR: '1' })).not.toContain('\u001b')
    expect(await shown({ TERM: 'dumb' })).not.toContain('\u001b')
    expect(await shown({}, '--no-color')).not.toContain('\u001b')
  })

  test('a title can neither control it nor break a row', async () => {
    for (const args of [
      ['cards', 'list'],
      ['cards', 'view', '3'],
      ['cards', 'list', '--json'],
      ['cards', 'list', '--jq', '.[].title'],
    ]) {
      const shown = await cli.ok(args, { env: { BOARD_FORCE_TTY: '200', NO_COLOR: '1' } })
      expect(shown).toContain('evil')
      expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    expect((await cli.ok(['cards', 'list'], { env: { BOARD_FORCE_TTY: '200' } })).trimEnd().split('\n')).toHaveLength(5)
    expect(JSON.parse(await cli.ok(['cards', 'view', '3', '--json'], { env: { BOARD_FORCE_TTY: '1' } })).title).toBe(
      hostile,
    )
  })

  test('long text is shown through PAGER, verbatim', async () => {
    const shown = await cli.ok(['help', 'environment'], { env: { BOARD_FORCE_TTY: '1', PAGER: 'sed s/^/paged:/' } })
    expect(shown).toMatch(/^paged:The server is selected/)
    expect(await cli.ok(['help', 'environment'], { env: { BOARD_FORCE_TTY: '1', PAGER: 'no-such-pager' } })).toMatch(
      /^The server is selected/,
    )
    expect(await cli.ok(['help', 'environment'], { env: { PAGER: 'sed s/^/paged:/' } })).toMatch(
      /^The server is selected/,
    )
  })
})

describe('JSON', () => {
  test('--json is the plain data, and an empty list is []', async () => {
    expect((await cli.json<{ id: string }[]>(['cards', 'list'])).map(({ id }) => id)).toEqual(['1', '2', '3', '4'])
    expect(await cli.ok(['cards', 'list', '--status', 'failed', '--json'])).toBe('[]\n')
  })

  test('--json selects fields, and an unknown one lists the known ones', async () => {
    expect(await cli.ok(['cards', 'view', '1', '--json', 'id,title'])).toBe('{"id":"1","title":"first"}\n')
    const { code, stdout, stderr } = await cli.board(['cards', 'list', '--json', 'id,titel'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n').slice(0, 2)).toEqual(['board: unknown field: titel', 'did you mean: title'])
    expect(stderr).toMatch(/known fields: id, title, /)
    expect((await cli.board(['cards', 'list', '--status', 'failed', '--json', 'titel'])).code).toBe(2)
  })

  test('--json does not treat an id as its fields', async () => {
    expect(JSON.parse(await cli.ok(['cards', 'view', '--json', '2'])).title).toBe('second')
    expect(settleJson(['--json', 'cards', 'list'])).toEqual(['--json', 'cards', 'list'])
    expect(settleJson(['cards', 'list', '--json', '-q'])).toEqual(['cards', 'list', '-q', '--json'])
    expect(settleJson(['cards', 'add', '--', '--json'])).toEqual(['cards', 'add', '--', '--json'])
  })

  test('--jq is jq: texts are printed without quotes, errors as one line', async () => {
    expect(await cli.ok(['cards', 'list', '--jq', 'map(select(.id | tonumber < 3)) | .[].title'])).toBe(
      'first\nsecond\n',
    )
    expect(await cli.ok(['cards', 'list', '--jq', 'group_by(.columnId) | map({n: length})'])).toBe('[{"n":4}]\n')
    expect(await cli.board(['cards', 'list', '--jq', '.[|'])).toMatchObject({ code: 2, stdout: '' })
    expect(await cli.board(['cards', 'list', '--jq', '.[0] + 1'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^board: --jq: .*cannot be added\nsee: board help formatting\n$/),
    })
  })

  test('-q prints ids only', async () => {
    expect(await cli.board(['cards', 'list', '-q'])).toEqual({ code: 0, stdout: '1\n2\n3\n4\n', stderr: '' })
    const { stdout, stderr } = await cli.board(['projects', 'create', 'quiet', '--path', server.folder('quiet'), '-q'])
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^\d+\n$/), stderr: '' })
  })
})

describe('a mistake', () => {
  test.each([
    [
      ['cards', 'list', '--status', 'compleeted'],
      [
        "board: option '-s, --status <status>' argument 'compleeted' is invalid: must be one of idle, queued, running, waiting, completed, failed, cancelled, interrupted",
        'did you mean: completed',
        'see: board cards list --help',
      ],
    ],
    [
      ['browse', 'doc'],
      [
        'board: page must be one of home, board, card, diff, docs, api, openapi',
        'did you mean: docs',
        'see: board browse --help',
      ],
    ],
    [
      ['cards', 'view', 'The first one'],
      [
        'board: there is no card "The first one"',
        'use the ID of a card; to find cards by words: board search "The first one"',
        'see: board cards list',
      ],
    ],
    [
      ['cards', 'add', 'x', '--prompt-file', 'nowhere.md'],
      ['board: --prompt-file nowhere.md cannot be read: the file does not exist'],
    ],
    [
      ['agents', 'cancel', '12'],
      ["board: unknown command 'cancel'", 'did you mean: board cards cancel', 'see: board agents --help'],
    ],
    [['crads'], ["board: unknown command 'crads'", 'did you mean: board cards', 'see: board --help']],
    [
      ['cards', 'lst'],
      ["board: unknown command 'lst'", 'did you mean: board cards list', 'see: board cards --help'],
    ],
    [
      ['cards', 'rm', '1'],
      [
        "board: unknown command 'rm'",
        'did you mean: board cards delete, board cards detach',
        'see: board cards --help',
      ],
    ],
    [
      ['projects', 'show'],
      ["board: unknown command 'show'", 'did you mean: board projects view', 'see: board projects --help'],
    ],
    [
      ['server', 'start', '--port', '1'],
      [
        "board: unknown option '--port'",
        'put the options of board serve after --: board server start -- --port',
        'see: board server start --help',
      ],
    ],
    [
      ['api', '/api/health', '-X', 'PUSH'],
      ['board: PUSH is not an HTTP method', 'known: GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS'],
    ],
    [
      ['cards', 'add', 'x', '-F', 'missing.md'],
      ['board: --prompt-file missing.md cannot be read: the file does not exist'],
    ],
    [
      ['users', 'edit', '9', '--name', 'X'],
      ['board: user not found: 9', 'see: board users list'],
    ],
    [['users', 'create', 'ada@example.org'], ['board: create the first user with board auth setup']],
    [
      ['cards', 'list', '--stauts', 'idle'],
      ["board: unknown option '--stauts'", 'did you mean: --status', 'see: board cards list --help'],
    ],
    [
      ['cards', 'view', '1', '2'],
      ["board: too many arguments for 'view'. Expected 1 argument but got 2", 'see: board cards view --help'],
    ],
    [
      ['profile', 'use'],
      ["board: missing required argument 'profile'", 'see: board profile use --help'],
    ],
    [
      ['cards', 'list', '-P', 'wbe'],
      ['board: there is no project "wbe"', 'did you mean: web', 'see: board projects list'],
    ],
    [
      ['help', 'environmet'],
      ['board: there is no command or topic "environmet"', 'did you mean: environment', 'see: board help'],
    ],
  ])('%j is reported in at most three lines', async (args, lines) => {
    const { code, stdout, stderr } = await cli.board(args)
    expect({ code: code === 3 || code === 5 ? 2 : code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(`${lines.join('\n')}\n`)
  })

  test('exit codes identify the kind of error', async () => {
    const codeOf = async (...args: string[]) => (await cli.board(args)).code
    expect(await codeOf('cards', 'view', '99')).toBe(3)
    expect(await codeOf('boards', 'delete', 'Board', '--yes')).toBe(5)
    expect(await codeOf('api', '/api/cards', '-f', 'title=x')).toBe(2)
    expect(await codeOf('whoami', '--url', 'http://127.0.0.1:1')).toBe(7)
  })

  test('no command prompts without a terminal: it exits with 2 and names the flag', async () => {
    for (const args of [
      ['projects', 'delete', 'web'],
      ['profile', 'delete', 'x'],
      ['auth', 'login'],
      ['auth', 'register', '--email', 'a@b.c'],
    ]) {
      await cli.board(['profile', 'set', 'x', '--url', 'http://127.0.0.1:1'])
      const { code, stdout, stderr } = await cli.board(args)
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' })
      expect(stderr).toMatch(/^board: this command cannot prompt: .*\nspecify --(yes|email|password-stdin)\n$/)
    }
    await cli.ok(['profile', 'delete', 'x', '--yes'])
  })
})

describe('help', () => {
  test('the topics are listed', async () => {
    expect(await cli.ok(['help', 'exit-codes'])).toMatch(/^ +7 .*No server/m)
    for (const topic of ['environment', 'formatting', 'scripting'])
      expect(await cli.ok(['help', topic])).toContain('BOARD_'.slice(0, topic === 'formatting' ? 0 : 6))
  })
})

describe('the program', () => {
  test('it prints the command to build it if it is not built', async () => {
    const folder = server.folder('copy')
    await run('/bin/cp', ['-r', resolve(program, '..'), folder])
    expect(await run(process.execPath, [`${folder}/bin/board.js`, '--version'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'board is not built; run: npm ci\n',
    })
  })

  test('it runs with an empty environment and no home', async () => {
    expect(
      await run(process.execPath, [program, 'cards', 'list', '-q', '-P', 'web', '--url', server.url], {
        env: { BOARD_TOKEN: server.token },
      }),
    ).toEqual({ code: 0, stdout: '1\n2\n3\n4\n', stderr: '' })
    expect((await run(process.execPath, [program, '--version'], { env: {} })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test('it runs from the packed files and its few dependencies alone', async () => {
    const copy = server.folder('packed')
    await unpackBoard(copy, { withDependencies: true })
    const packedProgram = resolve(copy, 'bin', 'board.js')
    expect((await run(process.execPath, [packedProgram, 'cards', 'list', '-q'], { env: cli.env })).stdout).toBe(
      '1\n2\n3\n4\n',
    )
    const child = spawn(process.execPath, [packedProgram, 'serve', '--port', '0', '--data-dir', `${copy}/data`], {
      env: cli.env,
    })
    expect(await new Promise(heard => child.stdout.once('data', line => heard(String(line))))).toMatch(
      /^Listening on http:/,
    )
    child.kill('SIGTERM')
    expect(await new Promise(ended => child.once('close', ended))).toBe(0)
  })

  test('--debug reports each request on stderr, and never a token', async () => {
    const { stdout, stderr } = await cli.board(['cards', 'list', '-q', '--debug'])
    expect(stdout).toBe('1\n2\n3\n4\n')
    expect(stderr).toMatch(/^debug: GET \/api\/projects 200 [\d.]+ ms \S+$/m)
    expect(stderr).not.toContain(server.token)
  })

  test('Ctrl-C ends a following command by its signal', async () => {
    const child = spawn(process.execPath, [program, 'events'], { env: { ...cli.env, BOARD_FORCE_TTY: '1' } })
    await new Promise(heard => child.stderr.once('data', heard))
    child.kill('SIGINT')
    expect(await new Promise(ended => child.on('close', (_code, signal) => ended(signal)))).toBe('SIGINT')
  })
})
