import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defaultUserSettings } from '../../src/contract/accounts/defaultUserSettings.ts'
import { defaultShortcuts } from '../../src/contract/accounts/shortcuts.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { boardIn, type TestTerminal } from '../support/terminals/terminal.ts'
import { startWorld, type World } from './world.ts'

let world: World
let terminal: TestTerminal | undefined

beforeAll(async () => {
  world = await startWorld()
  for (const title of ['One', 'Two', 'Three']) await world.card(title, { labels: ['label'] })
})
afterAll(() => world.close())
beforeEach(async () => {
  await world.server.client.settings.setUser(defaultUserSettings)
  await world.server.client.settings.setShortcuts(defaultShortcuts)
})
afterEach(() => terminal?.close())

/** The used colors, as parameters of SGR sequences. */
const colorsIn = (text: string) =>
  [...text.matchAll(/\u001b\[([\d;]*)m/g)]
    .flatMap(([, parameters]) => parameters!.split(';'))
    .filter(each => /^(3[0-8]|4[0-8]|9\d|10\d)$/.test(each))

describe("the user's settings", () => {
  test('the keys are those of the shortcuts, in the board, its last line and its help', async () => {
    await world.server.client.settings.setShortcuts({ down: 's', bottom: 'z z', help: 'f1,ctrl+g', quit: 'ctrl+q' })
    terminal = await world.open()
    await terminal.shows('f1 help')
    terminal.press('j', 's')
    await terminal.shows('▌ Two')
    terminal.press('z', 'z')
    await terminal.shows('▌ Three')
    terminal.process.write('\u0007')
    await terminal.shows(/zz +go to the last card/)
    terminal.press('escape')
    await terminal.lacks('Keys')
    terminal.press('q')
    expect(terminal.ended).toBeUndefined()
    terminal.process.write('\u0011')
    expect((await terminal.end()).code).toBe(0)
  })

  test.each([
    ['dark', 254],
    ['light', 235],
  ] as const)('the theme %s has its own colors', async (theme, color) => {
    await world.server.client.settings.setUser({ theme })
    terminal = await world.open()
    expect(terminal.styleAt('One')?.color).toBe(color)
    terminal.close()
    await world.server.client.settings.setUser({ theme: 'system' })
    terminal = await world.open()
    expect(terminal.styleAt('Two')?.color).toBeUndefined()
  })

  test('high contrast has no dim text', async () => {
    terminal = await world.open()
    expect(terminal.styleAt('#2')?.dim).toBe(true)
    terminal.close()
    await world.server.client.settings.setUser({ highContrast: true })
    terminal = await world.open()
    expect(terminal.styleAt('#2')?.dim).toBe(false)
    expect(terminal.written).not.toMatch(/\u001b\[(?:[\d;]*;)?2m/)
  })

  test('changes from elsewhere apply when the user returns to the terminal', async () => {
    terminal = await world.open()
    expect(terminal.styleAt('One')?.color).toBeUndefined()
    await world.server.client.settings.setUser({ theme: 'dark', statusLine: true })
    await world.server.client.settings.setShortcuts({ down: 's', help: 'f1' })
    await eventually('the new colors', () => {
      terminal!.process.write('\u001b[O\u001b[I')
      return terminal!.styleAt('Two')?.color === 254
    })
    await terminal.shows('f1 help')
    terminal.press('j', 's')
    await terminal.shows('▌ Two')
  })

  test('without the status line the board uses its line', async () => {
    await world.server.client.settings.setUser({ statusLine: false })
    terminal = await world.open()
    expect(terminal.lines().at(-1)).toMatch(/^╰.*╯$/)
    terminal.press('/', 'tw')
    await terminal.shows(/^ \/tw/m)
    terminal.press('enter')
    await eventually('the frame again', () => terminal!.lines().at(-1)!.startsWith('╰'))
  })
})

describe("the terminal's abilities", () => {
  test('NO_COLOR and --no-color show no color, but still the cursor', async () => {
    terminal = await world.open({ env: { NO_COLOR: '1' } })
    await terminal.shows('▌ One')
    expect(terminal.styleAt('One')?.inverse).toBe(true)
    expect(colorsIn(terminal.written)).toEqual([])
    terminal.close()
    terminal = await world.open({ args: ['--no-color'] })
    expect(colorsIn(terminal.written)).toEqual([])
    terminal.close()
    terminal = await world.open()
    expect(colorsIn(terminal.written)).not.toEqual([])
  })

  test('--ascii draws with plain characters only', async () => {
    terminal = await world.open({ args: ['--ascii'] })
    await terminal.shows('> One')
    terminal.press('?')
    await terminal.shows('Keys')
    terminal.press('escape')
    await terminal.lacks('Keys')
    terminal.press('v', 'enter')
    await terminal.shows('[Prompt]')
    expect(terminal.written).not.toMatch(/[^\u0000-\u007f]/)
  })
})

describe('where it cannot run', () => {
  const refused = async (args: readonly string[], env: Record<string, string> = {}) => {
    terminal = boardIn(['ui', ...args], { cwd: world.cli.home, env: { ...world.cli.env, ...env } })
    const { code } = await terminal.end()
    return { code, text: terminal.text().trim() }
  }

  test('without a terminal it exits with 2 and names an alternative', async () => {
    const { code, stdout, stderr } = await world.cli.board(['ui'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      'board: board ui requires a terminal\nin a script, use: board cards list, board events\nsee: board ui --help\n',
    )
  })

  test.each([
    [['--json'], {}],
    [['-q'], {}],
    [['--no-input'], {}],
    [[], { TERM: 'dumb' }],
  ])('%j with %j is rejected with 2', async (args, env) => {
    expect((await refused(args, env as Record<string, string>)).code).toBe(2)
  })

  test('an API key, an unknown board and an offline server exit before drawing', async () => {
    const { key } = await world.server.client.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    expect(await refused([], { BOARD_TOKEN: key })).toMatchObject({
      code: 4,
      text: expect.stringContaining('ui requires a signed-in user'),
    })
    expect(await refused(['--board', 'Baord'])).toMatchObject({
      code: 3,
      text: expect.stringContaining('did you mean: Board'),
    })
    expect(await refused([], { BOARD_URL: 'http://127.0.0.1:1' })).toMatchObject({ code: 7 })
    expect(terminal!.written).not.toContain('?1049')
  })

  test('an action that a viewer has no permission for is rejected, and the card moves back', async () => {
    const { client } = world.server
    await client.auth.setup({ email: 'root@example.org', password: 'correct horse battery', displayName: 'Root' })
    const { user, generatedPassword } = await client.users.create({
      email: 'viewer@example.org',
      name: 'Viewer',
      role: 'user',
    })
    await client.members.add({ id: world.projectId, email: user.email, role: 'viewer' })
    const { token } = await client.auth.login({ email: user.email, password: generatedPassword })
    terminal = await world.open({ env: { BOARD_TOKEN: token } })
    terminal.press('L')
    await terminal.shows('This requires the project role member.')
    await terminal.shows(/│▌ One/)
    expect(await world.titles(world.columns.backlog)).toContain('One')
  })
})
