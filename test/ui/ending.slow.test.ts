import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { terminal as runIn, type TestTerminal } from '../support/terminals/terminal.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startWorld, type World } from './world.ts'

let world: World
let cardId: string
const account = { email: 'a@example.org', password: 'correct horse battery' }

beforeAll(async () => {
  world = await startWorld()
  cardId = await world.card('A card', { prompt: 'Its prompt' })
  await world.server.client.auth.setup({ ...account, displayName: 'A' })
  // An editor that changes the modes of the terminal, writes, and exits on a key. It does not restore the modes when a signal ends it.
  writeFileSync(
    join(world.cli.home, 'editor'),
    `#!/bin/sh
modes=$(stty -g); stty raw -echo
printf 'Typed in the editor' >> "$1"
printf '\\033[?1049h\\033[?2004h\\033[?1002h\\033[?25lTHE EDITOR'
dd bs=1 count=1 > "$1.key" 2> /dev/null; rm "$1.key"
printf '\\033[?25h\\033[?1002l\\033[?2004l\\033[?1049l'; stty "$modes"
`,
    { mode: 0o755 },
  )
  writeFileSync(join(world.cli.home, 'crash.cjs'), 'process.on("SIGUSR2", () => { throw new Error("It fell over") })\n')
})
afterAll(() => world.close())

/** A board in a shell that records the modes of the terminal before and after it. */
interface Run {
  terminal: TestTerminal
  token: string
  pid: () => number
  /** Waits for the end. The exit code is that of the shell: 128 plus the number of a signal. */
  ended: () => Promise<{ code: number; kept: string[] }>
  close: () => void
}

async function start(): Promise<Run> {
  const { token } = await world.server.client.auth.login(account)
  const folder = mkdtempSync(join(world.cli.home, 'run-'))
  const board = `echo $$ > pid; exec '${process.execPath}' '${resolve('bin/board.js')}' ui`
  const script = `stty -a > before; (${board.replace('$$', "$(exec sh -c 'echo $PPID')")}); echo $? > code; stty -a > after`
  const env = {
    ...world.cli.env,
    BOARD_TOKEN: token,
    TMPDIR: folder,
    EDITOR: join(world.cli.home, 'editor'),
    NODE_OPTIONS: `--require ${join(world.cli.home, 'crash.cjs')}`,
  }
  const terminal = runIn('sh', ['-c', script], { cwd: folder, env })
  await terminal.shows('live', 30_000)
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  return {
    terminal,
    token,
    pid: () => Number(read('pid')),
    ended: async () => {
      await eventually(
        'the end of the board',
        () => existsSync(join(folder, 'after')) && read('after').length > 0,
        20_000,
      )
      await terminal.end()
      expect(read('after')).toBe(read('before'))
      expectModesRestored(terminal)
      const kept = [
        ...terminal
          .text()
          .replaceAll('\n', '')
          .matchAll(/your text is saved in (\S+?\.md)/g),
      ]
      return { code: Number(read('code')), kept: kept.map(([, path]) => readFileSync(path!, 'utf8')) }
    },
    close: () => terminal.close(),
  }
}

/** Expects every enabled mode to be disabled again, and vice versa. */
function expectModesRestored({ written, isAlternate }: TestTerminal): void {
  const last = (mode: string, letter: string) => written.lastIndexOf(`\u001b[?${mode}${letter}`)
  for (const mode of ['1049', '2004', '1004', '1000', '1002', '1006'])
    expect(last(mode, 'l'), `mode ${mode}`).toBeGreaterThan(last(mode, 'h'))
  for (const mode of ['7', '25']) expect(last(mode, 'h'), `mode ${mode}`).toBeGreaterThan(last(mode, 'l'))
  expect(isAlternate).toBe(false)
}

/** The steps that lead the board to a state, and the text that is kept if it ends there. */
const states: [name: string, keys: string[], shows: string, kept?: string][] = [
  ['the board', [], 'A card'],
  ['a card', ['\r'], '[Prompt]'],
  ['help', ['?'], 'Look for:'],
  ['a search', [':', 'car'], '> car'],
  ['a filter', ['/', 'car'], '/car'],
  ['the form of a merge', ['M'], 'Merge the branch'],
  ['a question', ['D'], 'Delete card'],
  ['a new card', ['n', 'A title', '\r', 'A prompt'], 'A prompt', 'A title\n\nA prompt'],
  ['a comment', ['C', 'A comment'], 'A comment', 'A comment'],
  ['a message', ['m', 'A message'], 'A message', 'A message'],
  ['the editor', ['e'], 'THE EDITOR', 'A card\n\nIts promptTyped in the editor'],
]

const ways: [name: string, code: number, words: string | undefined, end: (run: Run) => unknown][] = [
  ['SIGTERM', 143, undefined, ({ pid }) => process.kill(pid(), 'SIGTERM')],
  ['SIGHUP', 129, undefined, ({ pid }) => process.kill(pid(), 'SIGHUP')],
  ['SIGQUIT', 131, undefined, ({ pid }) => process.kill(pid(), 'SIGQUIT')],
  ['SIGINT', 130, undefined, ({ pid }) => process.kill(pid(), 'SIGINT')],
  ['a crash', 1, 'It fell over', ({ pid }) => process.kill(pid(), 'SIGUSR2')],
  ['the end of the sign-in', 4, 'board auth login', ({ token }) => world.server.as(token).auth.logout()],
]

/** The ends that wait for the user to close the editor first. The editor handles Ctrl-C. */
const waitsForEditor = new Set(['a crash', 'the end of the sign-in'])

describe.each(ways)('%s', (way, code, words, end) => {
  test.each(states.filter(([state]) => way !== 'SIGINT' || state !== 'the editor'))(
    'in %s restores the terminal and names the file with the kept text',
    async (state, keys, shows, kept) => {
      const run = await start()
      try {
        for (const key of keys) run.terminal.press(key)
        await run.terminal.shows(shows)
        await end(run)
        if (state === 'the editor' && waitsForEditor.has(way)) {
          await eventually('the end of the connections', () => !hasConnections(run.pid()), 20_000)
          expect(run.terminal.ended).toBeUndefined()
          run.terminal.press('x')
        }
        const ended = await run.ended()
        expect(ended).toEqual({ code, kept: kept === undefined || isSaved(state, way) ? [] : [kept] })
        if (words !== undefined) expect(run.terminal.text()).toContain(words)
      } finally {
        run.close()
        await restoreCard()
      }
    },
  )
})

const hasConnections = (pid: number): boolean =>
  readdirSync(`/proc/${pid}/fd`).some(fd => readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:'))

/** After a crash, the text of the editor still reaches the server. */
const isSaved = (state: string, way: string): boolean => state === 'the editor' && way === 'a crash'

async function restoreCard(): Promise<void> {
  const { projectId } = world
  await world.server.client.cards.update({ projectId, cardId, title: 'A card', prompt: 'Its prompt' })
}

describe('the editor', () => {
  let run: Run
  beforeEach(async () => {
    run = await start()
  })
  afterEach(async () => {
    run.close()
    await restoreCard()
  })
  const prompt = async () => (await world.server.client.cards.get({ projectId: world.projectId, cardId })).prompt

  test('gets the keys that arrive in one read with the key that opens it', async () => {
    // The first x ends the editor. The board reads what follows.
    run.terminal.process.write('exn')
    await run.terminal.shows('New card in Backlog')
    expect(await prompt()).toBe('Its promptTyped in the editor')
    run.terminal.press('\u001b[200~Pasted: enx\u001b[201~\u0005x')
    await run.terminal.shows('Pasted: enx')
    await eventually('the new card', async () =>
      String(await world.titles(world.columns.backlog)).includes('Pasted: enx'),
    )
    expect(run.terminal.written.split('THE EDITOR')).toHaveLength(3)
    run.terminal.press('q')
    expect(await run.ended()).toEqual({ code: 0, kept: [] })
  })

  test('receives Ctrl-C, and the board returns afterwards', async () => {
    run.terminal.press('e')
    await run.terminal.shows('THE EDITOR')
    process.kill(run.pid(), 'SIGINT')
    run.terminal.press('x')
    await run.terminal.shows(`Card ${cardId} was changed.`)
    run.terminal.press('q')
    expect(await run.ended()).toEqual({ code: 0, kept: [] })
  })

  test('can be opened again only after it has ended', async () => {
    run.terminal.process.write('exexq')
    expect(await run.ended()).toEqual({ code: 0, kept: [] })
    await eventually(
      'both changes',
      async () => (await prompt()) === 'Its promptTyped in the editorTyped in the editor',
    )
  })

  test('names the text that the server rejects, immediately and at the end', async () => {
    run.terminal.press('e')
    await run.terminal.shows('THE EDITOR')
    await world.server.client.cards.update({ projectId: world.projectId, cardId, prompt: 'Theirs' })
    run.terminal.press('x')
    await run.terminal.shows(/your text is saved in/)
    run.terminal.press('q')
    expect(await run.ended()).toEqual({ code: 0, kept: ['A card\n\nIts promptTyped in the editor'] })
    expect(await prompt()).toBe('Theirs')
  })
})

describe('a text that the server rejects', () => {
  test.each([
    ['a comment', 'C', 'A comment'],
    ['a message', 'm', 'A message'],
  ])('%s to a deleted card is named immediately and at the end', async (_, key, text) => {
    const run = await start()
    try {
      const doomed = await world.card('Doomed', { columnId: world.columns.done })
      run.terminal.press(':', doomed, '\r')
      await run.terminal.shows('▌ Doomed')
      run.terminal.press(key, text)
      await run.terminal.shows(text)
      await world.server.client.cards.delete({ projectId: world.projectId, cardId: doomed })
      await run.terminal.lacks('Doomed')
      run.terminal.press('\r')
      await run.terminal.shows('your text is saved in')
      run.terminal.press('q')
      expect(await run.ended()).toEqual({ code: 0, kept: [text] })
    } finally {
      run.close()
    }
  })
})
