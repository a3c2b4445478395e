import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { newScript } from '../scripts/scriptBoard.ts'

let server: TestBoard
let projectId: string
let cli: CommandLine
let onTerminal: CommandLine

beforeAll(async () => {
  server = await startBoard()
  projectId = (await server.client.projects.create({ name: 'web', path: server.folder('web') })).id
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token, BOARD_PROJECT: 'web' })
  onTerminal = commandLine({
    BOARD_URL: server.url,
    BOARD_TOKEN: server.token,
    BOARD_PROJECT: 'web',
    BOARD_FORCE_TTY: '100',
  })
})
afterAll(async () => {
  cli.close()
  onTerminal.close()
  await server.close()
})

const script = (name: string, command: string) => newScript(server.client, projectId, command, name)

describe('scripts', () => {
  test('are added, listed, edited, reordered and deleted, by name or id', async () => {
    const project = ['-P', (await server.client.projects.create({ name: 'Other', path: server.folder('other') })).id]
    const added = await cli.board(['scripts', 'add', 'test', 'npm test', ...project])
    expect(added).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^id\t\d+\nname\ttest\ncommand\tnpm test\n$/),
      stderr: expect.stringMatching(/^Added script \d+\.\n$/),
    })
    const deploy = (
      await cli.ok(['script', 'add', 'deploy', '-F', '-', '-q', ...project], { input: 'set -e\n./deploy\n' })
    ).trim()
    expect(await cli.ok(['scripts', 'list', ...project])).toMatch(
      new RegExp(`^\\d+\ttest\tnpm test\n${deploy}\tdeploy\tset -e ./deploy\n$`),
    )
    expect(
      (await cli.json<Array<{ command: string }>>(['scripts', 'list', ...project])).map(({ command }) => command),
    ).toEqual(['npm test', 'set -e\n./deploy'])
    await cli.ok(['scripts', 'edit', 'TEST', '--name', 'check', '--command', 'npm run check', ...project])
    await cli.ok(['scripts', 'reorder', deploy, ...project])
    expect((await cli.json<Array<{ name: string }>>(['scripts', 'list', ...project])).map(({ name }) => name)).toEqual([
      'deploy',
      'check',
    ])
    expect(await cli.board(['scripts', 'delete', 'check', ...project])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('specify --yes'),
    })
    await cli.ok(['scripts', 'delete', 'check', '--yes', ...project])
    expect(await cli.ok(['scripts', 'list', '-q', ...project])).toBe(`${deploy}\n`)
  })

  test.each([
    [['add', 'x'], 2, 'no command is specified'],
    [['add', 'x', 'true', '-F', '-'], 2, 'the command is specified twice'],
    [['edit', 'nobody', '--name', 'x'], 3, 'there is no script "nobody"'],
    [['run', 'nobody'], 3, 'see: board scripts list'],
    [['add', '', 'true'], 2, 'name must not be empty'],
  ])('%j exits with %i and prints %s', async (args, code, said) => {
    expect(await cli.board(['scripts', ...args])).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(said),
    })
  })

  test('an edit without a change lists the options that can change', async () => {
    await script('unchanged', 'true')
    expect(await cli.board(['scripts', 'edit', 'unchanged'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('specify --name, --command or -F'),
    })
  })

  test('are completed by the shell', async () => {
    const { place } = await script('with space', 'true')
    await script('offered', 'true')
    const offered = await cli.ok(['__complete', '--', 'scripts', 'run', ''])
    expect(offered).toContain('offered\n')
    expect(offered).toContain(`${place.scriptId}\twith space\n`)
  })
})

describe('run', () => {
  test('starts a script and does not wait', async () => {
    const { place, ended } = await script('quick', 'sleep 0.3; echo done')
    const { code, stdout, stderr } = await cli.board(['scripts', 'run', 'quick'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `scriptId\t${place.scriptId}\nname\tquick\nstatus\trunning\n` })
    expect(stderr).toContain(`board scripts status ${place.scriptId}`)
    expect((await ended()).output).toBe('done\n')
  })

  test('--wait prints only the output as it arrives, verbatim in a pipe', async () => {
    await script('slow', 'printf "\\033[31mred\\033[0m\\n"; while [ ! -e go ]; do sleep 0.05; done; echo last; rm go')
    const going = cli.start(['scripts', 'run', 'slow', '--wait'])
    await eventually('the first words', () => going.stdout === '\u001b[31mred\u001b[0m\n', 10_000)
    expect(going.code).toBeUndefined()
    await server.client.scripts
      .create({ projectId, name: 'go', command: 'touch go' })
      .then(({ id }) => server.client.scripts.run({ projectId, scriptId: id }))
    await eventually('the end', () => going.code !== undefined, 10_000)
    expect(going).toMatchObject({
      code: 0,
      stdout: '\u001b[31mred\u001b[0m\nlast\n',
      stderr: expect.stringMatching(/^Script \d+ succeeded after \d+\.\d s\.\n$/),
    })
  })

  test('--wait sanitizes the output for a terminal', async () => {
    await script('hostile', 'printf "\\033]0;owned\\007text\\n"')
    expect(await onTerminal.ok(['scripts', 'run', 'hostile', '--wait'])).toBe('␛]0;owned␇text\n')
  })

  test('--wait alone succeeds although the script failed; --exit-status uses its exit code', async () => {
    await script('seven', 'echo out; exit 7')
    expect(await cli.board(['scripts', 'run', 'seven', '--wait'])).toMatchObject({
      code: 0,
      stdout: 'out\n',
      stderr: expect.stringContaining('failed with exit code 7'),
    })
    expect(await cli.board(['scripts', 'run', 'seven', '--exit-status'])).toMatchObject({ code: 7, stdout: 'out\n' })
    await script('struck', 'kill -TERM $$')
    expect(await cli.board(['scripts', 'run', 'struck', '--exit-status', '-q'])).toMatchObject({
      code: 143,
      stderr: '',
    })
    await script('fine', 'true')
    expect((await cli.board(['scripts', 'run', 'fine', '--exit-status'])).code).toBe(0)
  })

  test('--exit-status of a cancelled run is not 0, even if the script exits with 0', async () => {
    const { place, until } = await script('polite', 'trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done')
    const going = cli.start(['scripts', 'run', 'polite', '--exit-status'])
    await until('its words', run => run.output === 'ready\n')
    expect((await cli.board(['scripts', 'cancel', 'polite'])).code).toBe(0)
    await eventually('the end', () => going.code !== undefined, 10_000)
    expect(going).toMatchObject({ code: 1, stderr: expect.stringContaining(`script ${place.scriptId} was cancelled`) })
  })

  test('--wait --json prints the ended run', async () => {
    await script('record', 'echo out; exit 2')
    expect(await cli.json(['scripts', 'run', 'record', '--wait'])).toMatchObject({
      name: 'record',
      status: 'failed',
      exitCode: 2,
      output: 'out\n',
    })
  })

  test('Ctrl-C keeps it running and reports so, with exit code 130', async () => {
    const { place, status } = await script('long', 'echo begun; sleep 60')
    const going = cli.start(['scripts', 'run', 'long', '--wait'])
    await eventually('the first words', () => going.stdout === 'begun\n', 10_000)
    going.interrupt()
    await eventually('the end of the waiting', () => going.code !== undefined)
    expect(going).toMatchObject({
      code: 130,
      stderr: `board: stopped waiting for script ${place.scriptId}\nthe script continues; to cancel it: board scripts cancel ${place.scriptId}\nsee: board scripts status ${place.scriptId}\n`,
    })
    expect((await status()).status).toBe('running')
    expect(await cli.board(['scripts', 'run', 'long'])).toMatchObject({
      code: 5,
      stderr: 'board: the script is already running\nsee: board scripts status\n',
    })
    await cli.ok(['scripts', 'cancel', 'long'])
  })

  test('--timeout ends the wait with 8, and not the script', async () => {
    const { place, status } = await script('longer', 'sleep 60')
    expect(await cli.board(['scripts', 'run', 'longer', '--wait', '--timeout', '1'])).toMatchObject({
      code: 8,
      stderr: expect.stringContaining(`timed out after 1 s; script ${place.scriptId} is still running`),
    })
    expect((await status()).status).toBe('running')
    await cli.ok(['scripts', 'cancel', 'longer'])
  })

  test('of a script that is deleted during the run exits with 3', async () => {
    const { until } = await script('doomed', 'echo begun; sleep 60')
    const going = cli.start(['scripts', 'run', 'doomed', '--wait'])
    await until('its words', run => run.output === 'begun\n')
    await cli.ok(['scripts', 'delete', 'doomed', '--yes'])
    await eventually('the end', () => going.code !== undefined, 10_000)
    expect(going).toMatchObject({ code: 3, stderr: expect.stringContaining('script not found') })
  })

  test('works with an API key that has the permission, and otherwise names the missing one', async () => {
    await script('keyed', 'echo keyed')
    const keyed = async (...permissions: Array<'scripts.read' | 'scripts.run'>) => ({
      BOARD_TOKEN: (await server.client.keys.create({ name: 'cron', scope: 'project', projectId, permissions })).key,
      BOARD_PROJECT: projectId,
    })
    expect(
      await cli.ok(['scripts', 'run', 'keyed', '--exit-status'], { env: await keyed('scripts.read', 'scripts.run') }),
    ).toBe('keyed\n')
    expect(await cli.board(['scripts', 'run', 'keyed'], { env: await keyed('scripts.read') })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('scripts.run'),
    })
  })
})

describe('status', () => {
  test('shows the latest run of each script, and that of a single one with its output', async () => {
    const { place } = await script('shown', 'echo line; exit 4')
    await cli.board(['scripts', 'run', 'shown', '--wait'])
    const line = (await cli.ok(['scripts', 'status'])).split('\n').find(each => each.startsWith(`${place.scriptId}\t`))!
    expect(line.split('\t').slice(0, 4)).toEqual([place.scriptId, 'shown', 'failed', '4'])
    expect(await cli.ok(['scripts', 'status', 'shown'])).toMatch(
      /^scriptId\t\d+\nname\tshown\nstatus\tfailed\nexitCode\t4\n[^]*--\nline\n$/,
    )
    expect(await cli.json(['scripts', 'status', 'shown'])).toMatchObject({ status: 'failed', output: 'line\n' })
    expect(stripVTControlCharacters(await onTerminal.ok(['scripts', 'status']))).toMatch(
      /ID +NAME +STATUS +EXIT +STARTED +FINISHED/,
    )
  })

  test('--watch updates the list on a terminal, and is rejected elsewhere', async () => {
    const { run } = await script('watched', 'sleep 0.2')
    const going = onTerminal.start(['scripts', 'status', '--watch'])
    await eventually('the first drawing', () => /watched +idle/.test(stripVTControlCharacters(going.stdout)), 10_000)
    await run()
    await eventually('the run', () => /watched +succeeded/.test(stripVTControlCharacters(going.stdout)), 15_000)
    going.interrupt()
    await eventually('the end', () => going.code !== undefined)
    expect(await cli.board(['scripts', 'status', '--watch'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--watch requires a terminal'),
    })
  })
})
