import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { boardProcess } from '../support/processes/boardProcess.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { boardIn, terminal as runIn, type TestTerminal } from '../support/terminals/terminal.ts'
import { startWorld, type World } from './world.ts'

let world: World
let terminal: TestTerminal

beforeAll(async () => {
  world = await startWorld()
  await world.card('A card')
})
afterAll(() => world.close())
afterEach(() => terminal?.close())

/** Expects that all modes that the board enables are disabled again, in any order. */
function expectRestored(): void {
  for (const mode of ['1049', '2004', '1004'])
    expect(terminal.written.lastIndexOf(`\u001b[?${mode}l`), `mode ${mode}`).toBeGreaterThan(
      terminal.written.lastIndexOf(`\u001b[?${mode}h`),
    )
  for (const mode of ['7', '25'])
    expect(terminal.written.lastIndexOf(`\u001b[?${mode}h`), `mode ${mode}`).toBeGreaterThan(
      terminal.written.lastIndexOf(`\u001b[?${mode}l`),
    )
  expect(terminal.isAlternate).toBe(false)
  expect(terminal.isCursorShown).toBe(true)
}

describe('leaving', () => {
  test('q restores the terminal and exits with 0', async () => {
    terminal = await world.open()
    expect(terminal.isAlternate).toBe(true)
    terminal.press('q')
    expect(await terminal.end()).toEqual({ code: 0, signal: 0 })
    expectRestored()
    expect(terminal.text().trim()).toBe('')
  })

  test('Ctrl-C exits with 130', async () => {
    terminal = await world.open()
    terminal.press('ctrl+c')
    expect((await terminal.end()).code).toBe(130)
    expectRestored()
  })

  test.each([
    ['SIGTERM', 15],
    ['SIGINT', 2],
    ['SIGHUP', 1],
    ['SIGQUIT', 3],
  ] as const)('%s gives the terminal back and ends the process', async (signal, number) => {
    terminal = await world.open()
    terminal.process.kill(signal)
    expect((await terminal.end()).signal).toBe(number)
    expectRestored()
  })

  test('a crash restores the terminal and shows the error', async () => {
    const crash = join(world.cli.home, 'crash.cjs')
    writeFileSync(crash, 'process.on("SIGUSR2", () => { throw new Error("It fell over") })\n')
    terminal = await world.open({ env: { NODE_OPTIONS: `--require ${crash}` } })
    terminal.process.kill('SIGUSR2')
    expect((await terminal.end()).code).not.toBe(0)
    expectRestored()
    expect(terminal.text()).toContain('It fell over')
  })

  test('when suspended, it returns the terminal to the shell, and takes it back on resume', async () => {
    terminal = runIn('bash', ['--norc', '--noprofile', '-i'], {
      cwd: world.cli.home,
      env: { ...world.cli.env, PS1: 'ready> ' },
    })
    await terminal.shows('ready>')
    terminal.process.write(`${process.execPath} ${join(import.meta.dirname, '..', '..', 'bin', 'board.js')} ui\r`)
    await terminal.shows('live')
    terminal.press('ctrl+z')
    await terminal.shows(/Stopped/)
    expect(terminal.isAlternate).toBe(false)
    terminal.process.write('echo cooked mode\r')
    await terminal.shows(/^cooked mode/m)
    terminal.process.write('fg\r')
    await terminal.shows('▌ A card')
    expect(terminal.isAlternate).toBe(true)
    terminal.press('/', 'once')
    await terminal.shows(/^ \/once/m)
    terminal.press('escape')
    await terminal.lacks('/once')
    terminal.press('q')
    await terminal.shows(/fg\n.*\nready>\s*$/)
    expect(terminal.isAlternate).toBe(false)
  })

  test('with --no-alt-screen the last frame stays', async () => {
    terminal = await world.open({ args: ['--no-alt-screen'] })
    expect(terminal.written).not.toContain('?1049')
    terminal.press('q')
    await terminal.end()
    expect(terminal.text()).toContain('▌ A card')
    expect(terminal.isCursorShown).toBe(true)
  })
})

describe('the connection', () => {
  test('it waits for a stopped server, and shows the events of the meantime', async () => {
    const root = mkdtempSync(join(tmpdir(), 'board-ui-'))
    const dataDir = join(root, 'data')
    hideAgents(dataDir)
    const server = boardProcess(dataDir, { HOME: root })
    await server.start()
    const port = new URL(server.url).port
    const { id: projectId } = await server.client.projects.create({ name: 'web', path: root })
    await server.client.cards.create({ projectId, title: 'Before' })
    const { token } = await server.client.auth.setup({
      email: 'a@example.org',
      password: 'correct horse battery',
      displayName: 'A',
    })
    terminal = boardIn(['ui', '-P', 'web'], {
      env: { PATH: process.env.PATH!, HOME: root, BOARD_URL: server.url, BOARD_TOKEN: token },
    })
    await terminal.shows('live')
    await server.end('SIGTERM')
    await terminal.shows('connecting again')
    terminal.press('?')
    await terminal.shows('Keys')
    terminal.press('escape')
    const again = boardProcess(dataDir, { HOME: root }, ['--port', port])
    await again.start()
    await again.client.cards.create({ projectId, title: 'Meanwhile' })
    await terminal.shows('live', 15_000)
    await terminal.shows('Meanwhile')
    await again.end('SIGTERM')
    rmSync(root, { recursive: true, force: true })
  })

  test('a sign-in that ends while the board is open closes it with a reason', async () => {
    const { token } = await world.server.client.auth.setup({
      email: 'b@example.org',
      password: 'correct horse battery',
      displayName: 'B',
    })
    terminal = await world.open({ env: { BOARD_TOKEN: token } })
    await world.server.as(token).auth.logout()
    expect((await terminal.end()).code).toBe(4)
    expectRestored()
    expect(terminal.text()).toContain('sign in with: board auth login')
  })
})

describe('the picture', () => {
  test('each change is one synchronized update of the changed cells', async () => {
    terminal = await world.open()
    const before = terminal.written.length
    await world.card('Another card')
    await terminal.shows('Another card')
    const change = terminal.written.slice(before)
    expect(change.replace(/\u001b\[\?2026h[^]*?\u001b\[\?2026l/g, '')).toBe('')
    expect(change.length).toBeLessThan(600)
    expect(terminal.written).not.toContain('\u001b[3J')
  })

  test('nothing is written without a change', async () => {
    terminal = await world.open()
    await eventually('a picture that stays', async () => {
      const { length } = terminal.written
      await new Promise(resolve => setTimeout(resolve, 1500))
      return terminal.written.length === length
    })
  })

  test('CI=true has no effect', async () => {
    terminal = await world.open({ env: { CI: 'true' } })
    await terminal.shows('▌ A card')
  })

  test('titles cannot control the terminal', async () => {
    const title = 'evil\u001b]0;stolen\u0007\u001b[2J\u001b[31m\u009b5A\u202egnp.exe \u2066'
    const id = await world.card(title)
    terminal = await world.open()
    await terminal.shows('evil␛]0;stolen␇␛[2J␛[31m')
    expect(terminal.written).not.toMatch(/\u001b\]0|\u0007|\u009b|\u202e|\u2066/)
    terminal.press('G', 'enter')
    await terminal.shows('evil␛]0;stolen')
    expect(terminal.written).not.toMatch(/\u001b\]0|\u0007|\u009b|\u202e|\u2066/)
    await world.server.client.cards.delete({ projectId: world.projectId, cardId: id })
  })

  test('wide and joined characters keep the columns aligned', async () => {
    const ids = await Promise.all(
      ['日本語のとても長いタイトルが折り返される場合', 'Familie 👩‍👩‍👧‍👦 🇩🇪 ❤️ e\u0301a\u0308', 'नमस्ते สวัสดี مرحبا'].map(
        title => world.card(title),
      ),
    )
    terminal = await world.open()
    await terminal.shows('日本語')
    await terminal.shows('Familie')
    const borders = terminal
      .lines()
      .slice(2, -2)
      .map(each => each.at(-1))
    expect(borders.every(border => border === '│')).toBe(true)
    for (const cardId of ids) await world.server.client.cards.delete({ projectId: world.projectId, cardId })
    await terminal.lacks('日')
    await terminal.lacks('Familie')
  })
})
